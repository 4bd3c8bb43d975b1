"""Both models where their passes are replayed: each sequence reads and answers through a seat of its own.

The host gives a pass to the device and fetches its few numbers later; in between it is free, and the device is busy.
Tokens, scores and candidates are those of `computed`, which takes the sequences whose settings a replayed pass is not
sent.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from torch import Tensor

from citer_core.models.language_model import LanguageModel
from citer_core.models.pair import ModelPair
from citer_core.models.seat import Seat
from citer_core.models.transfer import is_away
from citer_core.routing.candidates import candidates_of
from citer_core.routing.computed import ComputedLlm, ComputedSlm, scored
from citer_core.routing.readout import TokenReadout, numbers_at
from citer_core.routing.router import entropy_of_logits
from citer_core.routing.said import LlmSide, Said, Side, SlmSide, not_a_number
from citer_core.routing.sequence import RoutedSequence


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
        if not arrived.is_sound:
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
