"""Both models where their passes are replayed: each sequence reads and answers through a seat of its own.

The host gives a pass to the device and fetches its few numbers later; in between it is free, and the device is busy.
Tokens, scores and candidates are those of `computed`, which takes the sequences whose settings a replayed pass is not
sent.
"""

from __future__ import annotations

import math
import struct
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from citer_core.models.greedy import greedy_tokens, top_tokens
from citer_core.models.language_model import LanguageModel
from citer_core.models.mailbox import Mailbox
from citer_core.models.pair import ModelPair
from citer_core.models.seat import Seat
from citer_core.models.transfer import is_away
from citer_core.routing.candidates import TOP_K, candidates_of
from citer_core.routing.computed import ComputedLlm, ComputedSlm, scored
from citer_core.routing.router import Router, RouterFeatures, entropy_of, entropy_of_logits
from citer_core.routing.said import LlmSide, Said, Side, SlmSide, not_a_number
from citer_core.routing.sampling import token_at, uniform_at
from citer_core.routing.sequence import RoutedSequence
from citer_core.types import DecodeSettings


class TokenArrived(NamedTuple):
    """The numbers of one position, on the host.

    Attributes:
        log_values, token_ids: of the most probable tokens, best first; where the first is no number, no logit is one.
        token_id: the one that was chosen.
        score: the router's, if there was one.
    """

    log_values: list[float]
    token_ids: list[int]
    token_id: int
    score: float


class TokenReadout:
    """What the host is to know of one position, computed where the model is and left in one mailbox.

    Token, candidates and the router's score become part of the model's captured pass, so that a decision takes one
    graph and one wait. What is asked differs from pass to pass by numbers alone, which are sent with the tokens
    (`numbers_at`).

    Args:
        seat: whose they are; not kept.
        is_sampled: whether tokens are sampled, else greedy.
        router: scores the positions, as part of the pass if it `is_static`, else when `features` are asked for.
        with_entropy: compute the distribution's entropy.
        llm_dtype: of the LLM's logits, for routers with `reads_llm`.

    Attributes:
        mailbox: what `arrived` reads.
        entropy: [1] float32, in nats, of the last position; zero without `with_entropy`.
        prompt_hidden, llm_entropy, llm_logits: what the router is to look at, to be filled in; see `RouterFeatures`.
    """

    def __init__(
        self,
        seat: Seat,
        *,
        is_sampled: bool,
        router: Router | None = None,
        with_entropy: bool = False,
        llm_dtype: torch.dtype | None = None,
    ) -> None:
        self._logits, self._hidden = seat.logits, seat.hidden
        index, key, self._uniform, self._temperature, self._top_p = seat.numbers.split(1)
        self._index, self._key = index, key
        self._is_sampled, self._router, self._with_entropy = is_sampled, router, with_entropy
        self._n_top = min(TOP_K, self._logits.shape[-1])
        with torch.inference_mode():
            self.entropy = self._logits.new_zeros(1, dtype=torch.float32)
            self.llm_entropy = torch.full_like(self.entropy, math.nan)
            self.prompt_hidden = torch.zeros_like(self._hidden)
            self.llm_logits = None if llm_dtype is None else torch.zeros_like(self._logits, dtype=llm_dtype)
            self.mailbox = Mailbox(self._logits.device, self._n_top + 1, self._n_top + 1)

    def __call__(self) -> None:
        """Fills the mailbox."""
        features = self.features()
        log_values, token_ids = top_tokens(features.log_probs.view(-1), TOP_K)
        if self._is_sampled:
            chance = (number.view(torch.float64) for number in (self._temperature, self._top_p, self._uniform))
            chosen = token_at(self._logits[0], *chance)
        else:
            chosen = greedy_tokens(self._logits)
        if self._with_entropy:
            self.entropy.copy_(entropy_of(features.log_probs))
        is_scored = self._router is not None and self._router.is_static
        score = self._router.confidence(features) if self._router is not None and is_scored else self.entropy
        self.mailbox.put((log_values, score), (token_ids, chosen))

    def features(self) -> RouterFeatures:
        """What a router may look at, at the last position."""
        with_entropy = self._router is not None and self._router.uses_llm_entropy
        return RouterFeatures(
            hidden=self._hidden,
            logits=self._logits,
            prompt_hidden=self.prompt_hidden,
            sequence_key=self._key,
            position=self._index,
            llm_entropy=self.llm_entropy if with_entropy else None,
            llm_logits=self.llm_logits,
        )

    def put_score(self, score: Tensor) -> None:
        """Replaces the score in the mailbox by that of a router that is not part of the pass."""
        self.mailbox.put_float(self._n_top, score)

    def arrived(self) -> TokenArrived:
        """What was posted last; waits for it."""
        found = self.mailbox.read()
        log_values, (score,) = found.floats[: self._n_top], found.floats[self._n_top :]
        token_ids, (token_id,) = found.ints[: self._n_top], found.ints[self._n_top :]
        return TokenArrived(log_values, token_ids, token_id, score)


def numbers_at(settings: DecodeSettings, index: int, key: int = 0) -> list[int]:
    """What a `TokenReadout` is sent with a pass: position, key of the sequence, and how a token is sampled there."""
    if settings.temperature == 0.0:
        return [index, key, 0, 0, 0]
    return [index, key, *map(_as_int, (uniform_at(settings.seed, index), settings.temperature, settings.top_p))]


def _as_int(value: float) -> int:
    """The 64 bits of a number, so that it travels among integers."""
    bits: int = struct.unpack("<q", struct.pack("<d", value))[0]
    return bits


@dataclass(slots=True)
class _Place:
    """A sequence's seat and what is read from it.

    Attributes:
        held: gives the seat back.
        begun: seconds of a pass that was started; None where none was.
    """

    seat: Seat
    held: ExitStack
    readout: TokenReadout
    begun: float | None = None

    def truncate(self, n_tokens: int) -> None:
        """Forgets all but the first tokens, and a pass behind them that was started."""
        if self.begun is not None:
            self.readout.arrived()
            self.begun = None
        self.seat.rewind(n_tokens)

    def said(self, pair: ModelPair, which: str, seconds: float, start: float) -> Said:
        """What has arrived of a pass whose waiting began at `start`; waits for it."""
        arrived = self.readout.arrived()
        seconds += time.perf_counter() - start
        if not math.isfinite(arrived.log_values[0]):
            return Said(seconds=seconds, error=not_a_number(which))
        top = candidates_of(pair, arrived.log_values, arrived.token_ids)
        return Said(arrived.token_id, top, arrived.score, seconds)


class _Replayed(Side):
    """One model whose sequences have seats, by slot; those whose settings a replayed pass is not sent are computed.

    Args:
        pair: whose model it is.
        lm: the model.
        computed: who computes.
    """

    def __init__(self, pair: ModelPair, lm: LanguageModel, computed: ComputedSlm | ComputedLlm) -> None:
        self._pair, self._lm, self._computed = pair, lm, computed
        self._places: dict[int, _Place] = {}

    def enter(self, s: RoutedSequence) -> None:
        """See `Side`."""
        if s.settings.newer():
            self._computed.enter(s)
            return
        held = ExitStack()
        seat = held.enter_context(self._lm.seat(s.n_prompt + s.n_shared + s.n_steps))
        assert seat is not None, "this model's passes are not replayed"
        self._places[s.slot] = _Place(seat, held, self._readout(s, seat))

    def _readout(self, s: RoutedSequence, seat: Seat) -> TokenReadout:
        """What is read from a sequence's seat."""
        raise NotImplementedError

    def _say(self, s: RoutedSequence, place: _Place, upto: int, llm_logits: Tensor | None) -> Said:
        """What the model says behind this beginning of a sequence's text."""
        raise NotImplementedError

    def read(
        self, rows: Sequence[RoutedSequence], uptos: Sequence[int], *llm_logits: Mapping[RoutedSequence, Tensor]
    ) -> list[Said]:
        """See `SlmSide` and `LlmSide`."""
        found: dict[RoutedSequence, Said] = {}
        others = {s: upto for s, upto in zip(rows, uptos, strict=True) if s.slot not in self._places}
        if others:
            found = dict(zip(others, self._computed.read([*others], [*others.values()], *llm_logits), strict=True))
        for s, upto in zip(rows, uptos, strict=True):
            if s not in found:
                found[s] = self._say(s, self._places[s.slot], upto, llm_logits[0].get(s) if llm_logits else None)
        return [found[s] for s in rows]

    def truncate(self, s: RoutedSequence, n_tokens: int) -> None:
        """See `Side`."""
        if s.slot in self._places:
            self._places[s.slot].truncate(n_tokens)
        else:
            self._computed.truncate(s, n_tokens)

    def leave(self, s: RoutedSequence) -> None:
        """See `Side`; a seat that something failed on is not lent again."""
        place = self._places.pop(s.slot, None)
        if place is not None:
            place.held.__exit__(type(s.error) if s.error else None, s.error, None)


class ReplayedSlm(_Replayed, SlmSide):
    """The SLM and the router of each sequence, in one pass for each token; see `SlmSide`."""

    def __init__(self, pair: ModelPair, n_slots: int) -> None:
        super().__init__(pair, pair.slm, ComputedSlm(pair, n_slots))

    def _readout(self, s: RoutedSequence, seat: Seat) -> TokenReadout:
        router, is_sampled = s.router, s.settings.temperature > 0.0
        llm_dtype = self._pair.local_llm.model.dtype if router.reads_llm else None
        return seat.readout(
            (router, is_sampled),
            lambda: TokenReadout(seat, is_sampled=is_sampled, router=router, llm_dtype=llm_dtype),
        )

    def ahead(self, rows: Sequence[RoutedSequence]) -> None:
        """See `SlmSide`: starts the next pass of each, if it needs nothing of the LLM's."""
        for s in rows:
            place = self._places.get(s.slot)
            is_next = s.finish_reason is None and s.waiting is None and not s.router.reads_llm
            if place is not None and is_next:
                self._start(s, place, None)

    def _say(self, s: RoutedSequence, place: _Place, upto: int, llm_logits: Tensor | None) -> Said:
        seat, readout, router = place.seat, place.readout, s.router
        if upto < len(s.ids):  # of what a branch shares
            seat.read(s.ids[seat.n_read : upto])
            if upto == s.n_prompt:
                readout.prompt_hidden.copy_(seat.hidden)
            return Said()
        if place.begun is None:
            self._start(s, place, llm_logits)
        assert place.begun is not None
        seconds, place.begun = place.begun, None
        start = time.perf_counter()
        score: Tensor | None = None
        error: Exception | None = None
        if not router.is_static:
            score, error = scored(router, readout.features(), 1)
            if is_away(score):
                readout.put_score(score)
            readout.mailbox.post()
        router_s = time.perf_counter() - start
        said = place.said(self._pair, "SLM", seconds, start + router_s)
        said.router_s = router_s
        if score is not None and not is_away(score):
            said.number = float(score)
        said.score(said.number, router, error)
        return said

    def _start(self, s: RoutedSequence, place: _Place, llm_logits: Tensor | None) -> None:
        start = time.perf_counter()
        seat, readout = place.seat, place.readout
        if s.router.uses_llm_entropy:
            readout.llm_entropy.fill_(s.llm_entropy)
        if readout.llm_logits is not None and llm_logits is not None:
            readout.llm_logits.copy_(llm_logits)
        new_ids, numbers = s.ids[seat.n_read :], numbers_at(s.settings, s.n_written, s.key)
        if seat.n_read:
            seat.step(new_ids, readout, numbers)
        else:
            seat.read(new_ids)
            readout.prompt_hidden.copy_(seat.hidden)
            seat.answer(readout, numbers)
        if s.router.is_static:
            readout.mailbox.post()
        place.begun = time.perf_counter() - start


class ReplayedLlm(_Replayed, LlmSide):
    """The LLM of each sequence; see `LlmSide`."""

    def __init__(self, pair: ModelPair, n_slots: int) -> None:
        super().__init__(pair, pair.local_llm, ComputedLlm(pair, n_slots))

    def _readout(self, s: RoutedSequence, seat: Seat) -> TokenReadout:
        is_sampled, with_entropy = s.settings.temperature > 0.0, s.router.uses_llm_entropy
        return seat.readout(
            (is_sampled, with_entropy), lambda: TokenReadout(seat, is_sampled=is_sampled, with_entropy=with_entropy)
        )

    def _say(self, s: RoutedSequence, place: _Place, upto: int, _: Tensor | None) -> Said:
        seat, readout, start = place.seat, place.readout, time.perf_counter()
        new_ids = s.ids[seat.n_read : upto]
        if upto < len(s.ids):  # of what a branch shares
            seat.read(new_ids)
            is_wanted = s.router.uses_llm_entropy
            return Said(number=float(entropy_of_logits(seat.logits)) if is_wanted else math.nan)
        seat.step(new_ids, readout, numbers_at(s.settings, s.n_written))
        readout.mailbox.post()
        said = place.said(self._pair, "LLM", 0.0, start)
        said.logits = seat.logits if s.router.reads_llm else None
        if not s.router.uses_llm_entropy:
            said.number = math.nan
        return said
