"""The two models of one run where their passes are replayed: each reads and answers through a seat.

The host gives a pass to the device and fetches its few numbers later; in between it is free, and the device is busy.
Tokens, scores and candidates are those of the models that compute each pass anew (`slm_readers`, `llm_writers`), which
make these where there are seats.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import torch
from torch import Tensor

from citer_core.models.cached_lm import Forward
from citer_core.models.pair import ModelPair
from citer_core.models.seat import Seat
from citer_core.models.transfer import is_away
from citer_core.routing.candidates import candidates_of
from citer_core.routing.position import Scored, Written
from citer_core.routing.readout import TokenArrived, TokenReadout, numbers_at
from citer_core.routing.router import Router, entropy_of_logits
from citer_core.routing.soundness import not_a_number
from citer_core.types import Candidate, DecodeSettings


class ReplayedSlm:
    """The SLM and the router of one run, in one pass for each token.

    Args:
        pair, router, settings: of the run.
        seat: an empty one.
        key: of the sequence, for the router.
    """

    def __init__(self, pair: ModelPair, router: Router, settings: DecodeSettings, seat: Seat, key: int) -> None:
        self._pair, self._router, self._settings, self._seat, self._key = pair, router, settings, seat, key
        is_sampled = settings.temperature > 0.0
        llm_dtype = pair.local_llm.model.dtype if router.reads_llm else None
        self._readout = seat.readout(
            (router, is_sampled),
            lambda: TokenReadout(seat, is_sampled=is_sampled, router=router, llm_dtype=llm_dtype),
        )
        self._begun: tuple[int, float] | None = None  # tokens fed, seconds

    def read_shared(self, prompt_ids: Sequence[int], shared_ids: Sequence[int]) -> None:
        """See `SlmReader`."""
        self._seat.read(prompt_ids)
        self._readout.prompt_hidden.copy_(self._seat.hidden)
        if len(shared_ids) > 1:
            self._seat.read(shared_ids[:-1])

    def begin(self, ids: Sequence[int], index: int, llm_entropy: Tensor | None) -> None:
        """See `SlmReader`: starts the next pass, if it needs nothing of the LLM's."""
        if self._seat.plan.ahead and not self._router.reads_llm:
            self._start(ids, index, llm_entropy, None)

    def read(self, ids: Sequence[int], index: int, llm_entropy: Tensor | None, llm_logits: Tensor | None) -> Scored:
        """See `SlmReader`."""
        if self._begun is None:
            self._start(ids, index, llm_entropy, llm_logits)
        assert self._begun is not None
        (n_fed, slm_s), self._begun = self._begun, None
        start = time.perf_counter()
        score: Tensor | None = None
        if not self._router.is_static:
            score = self._router.confidence(self._readout.features())
            if is_away(score):
                self._readout.put_score(score)
            self._readout.mailbox.post()
        router_s = time.perf_counter() - start
        arrived = self._readout.arrived()
        waited_s = time.perf_counter() - start - router_s
        top = _sound_top(self._pair, "SLM", arrived)
        confidence = arrived.score if score is None or is_away(score) else float(score)
        return Scored(arrived.token_id, top, confidence, n_fed, slm_s + waited_s, router_s)

    def _start(self, ids: Sequence[int], index: int, llm_entropy: Tensor | None, llm_logits: Tensor | None) -> None:
        start = time.perf_counter()
        seat, readout, router = self._seat, self._readout, self._router
        if router.uses_llm_entropy:
            if llm_entropy is None:
                readout.llm_entropy.fill_(torch.nan)
            else:
                readout.llm_entropy.copy_(llm_entropy)
        if readout.llm_logits is not None and llm_logits is not None:
            readout.llm_logits.copy_(llm_logits)
        new_ids = ids[seat.n_read :]
        numbers = numbers_at(self._settings, index, self._key)
        if seat.n_read:
            seat.step(new_ids, readout, numbers)
        else:
            seat.read(new_ids)
            readout.prompt_hidden.copy_(seat.hidden)
            seat.answer(readout, numbers)
        if router.is_static:
            readout.mailbox.post()
        self._begun = len(new_ids), time.perf_counter() - start


class ReplayedLlm:
    """The LLM of one run.

    Args:
        pair, settings: of the run.
        seat: an empty one.
        router: of the run, for what it needs of the LLM.
    """

    def __init__(self, pair: ModelPair, router: Router, settings: DecodeSettings, seat: Seat) -> None:
        self._pair, self._settings, self._seat = pair, settings, seat
        self._with_entropy = with_entropy = router.uses_llm_entropy
        is_sampled = settings.temperature > 0.0
        self._readout = seat.readout(
            (is_sampled, with_entropy), lambda: TokenReadout(seat, is_sampled=is_sampled, with_entropy=with_entropy)
        )
        # Beside the SLM only where nothing of the LLM goes into the SLM's pass.
        self._is_early = seat.plan.early_llm and not (router.reads_llm or router.uses_llm_entropy)
        if self._is_early:
            seat.move_aside()

    def catch_up(self, ids: Sequence[int]) -> Tensor | None:
        """See `LLMWriter`."""
        with self._seat.its_stream():
            self._seat.read(ids[self._seat.n_read :])
        return entropy_of_logits(self._seat.logits) if self._with_entropy else None

    def begin(self, ids: Sequence[int], index: int) -> Forward | None:
        """See `LLMWriter`."""
        return self.read(ids, index) if self._is_early else None

    def read(self, ids: Sequence[int], index: int) -> Forward:
        """See `LLMWriter`; only starts it."""
        start = time.perf_counter()
        new_ids = ids[self._seat.n_read :]
        with self._seat.its_stream():
            self._seat.step(new_ids, self._readout, numbers_at(self._settings, index))
            self._readout.mailbox.post()
        seat = self._seat
        return Forward(seat.logits, seat.hidden, len(new_ids), time.perf_counter() - start)

    def write(self, ids: Sequence[int], index: int, forward: Forward | None) -> Written:
        """See `LLMWriter`."""
        forward = forward or self.read(ids, index)
        start = time.perf_counter()
        arrived = self._readout.arrived()
        seconds = forward.seconds + time.perf_counter() - start
        top = _sound_top(self._pair, "LLM", arrived)
        # Copied, because a router may be given the LLM's next pass before it looks at this.
        entropy = self._readout.entropy.clone() if self._with_entropy else None
        return Written(arrived.token_id, top, forward.n_fed, seconds, entropy)


def _sound_top(pair: ModelPair, which: str, arrived: TokenArrived) -> tuple[Candidate, ...]:
    """The candidates.

    Raises:
        NotANumberError: the logits are none.
    """
    if not arrived.is_sound:
        raise not_a_number(which)
    return candidates_of(pair, arrived.log_values, arrived.token_ids)
