"""The LLM's side of a batch: tokens for the sequences that wait for one, from a loaded model or from a server.

A loaded model answers in the pass that it is asked in. A server is asked, and answers while the SLM goes on with other
sequences; a request whose sequences have all been cancelled is given up. Called by `batch_decoder` and `batch_slm`.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from citer_core.errors import CiterError
from citer_core.models.batched_lm import BatchedLM, BatchForward
from citer_core.models.language_model import LanguageModel
from citer_core.models.pair import ModelPair
from citer_core.models.remote_lm import PendingTokens, RemoteLM
from citer_core.models.transfer import to_device
from citer_core.routing.batch_pace import Pace
from citer_core.routing.batch_reading import next_reads
from citer_core.routing.batch_sequence import BatchSequence
from citer_core.routing.candidates import choose_rows
from citer_core.routing.llm_writers import remote_candidates, sampling_at
from citer_core.routing.router import entropy_of, entropy_of_logits
from citer_core.routing.soundness import not_a_number

log = logging.getLogger(__name__)


class LLMSide(Protocol):
    """Writes the LLM's tokens of the sequences of a batch."""

    @property
    def n_asked(self) -> int:
        """Requests that are on their way."""

    def clear(self, slot: int) -> None:
        """Makes room for another sequence."""

    def read(self, rows: Sequence[BatchSequence], /) -> BatchForward:
        """The LLM's logits after each text, for routers with `reads_llm`."""

    def write_read(self, rows: Sequence[BatchSequence], forward: BatchForward, places: Sequence[int], /) -> None:
        """Ends the wait of these sequences with tokens from what `read` gave, at these places of it."""

    def call(self, rows: Sequence[BatchSequence]) -> None:
        """Asks for a token of each; a loaded model may first read a part of a long text only."""

    def collect(self, timeout_s: float) -> None:
        """Ends the wait of those for whom an answer has come, after waiting for the first one for so long at most."""

    def close(self) -> None:
        """Gives up what is on its way."""


def llm_side(pair: ModelPair, n_slots: int, pace: Pace) -> LLMSide:
    """The side that fits where the LLM is."""
    if isinstance(pair.llm, RemoteLM):
        return _RemoteSide(pair, pair.llm)
    return _LocalSide(pair, pair.llm, n_slots, pace)


class _LocalSide:
    """The loaded LLM with the caches of several sequences."""

    n_asked = 0

    def __init__(self, pair: ModelPair, llm: LanguageModel, n_slots: int, pace: Pace) -> None:
        self._pair, self._pace = pair, pace
        self._lm = BatchedLM(llm, n_slots)
        self.clear = self._lm.clear

    def collect(self, timeout_s: float) -> None:
        """Nothing is ever on its way."""

    def close(self) -> None:
        """Nor to be given up."""

    def read(self, rows: Sequence[BatchSequence]) -> BatchForward:
        return self._lm.catch_up([s.ids for s in rows], [s.slot for s in rows])

    def write_read(self, rows: Sequence[BatchSequence], forward: BatchForward, places: Sequence[int]) -> None:
        self._write(rows, forward, places, forward.seconds / len(forward.n_fed))

    def call(self, rows: Sequence[BatchSequence]) -> None:
        goals = [s.llm_goals[0] if s.llm_goals else len(s.ids) for s in rows]
        rows, uptos = next_reads(self._lm, rows, goals, self._pace)
        texts = [s.ids if upto == len(s.ids) else s.ids[:upto] for s, upto in zip(rows, uptos, strict=True)]
        forward = self._lm.catch_up(texts, [s.slot for s in rows])
        seconds = forward.seconds / len(rows)
        answered, places = [], []
        for row, (s, upto) in enumerate(zip(rows, uptos, strict=True)):
            if upto == len(s.ids) and not s.llm_goals:
                answered.append(s)
                places.append(row)
            else:
                self._read_part(s, upto, forward.logits[row : row + 1], seconds)
        if answered:
            self._write(answered, forward, places, seconds)

    def _read_part(self, s: BatchSequence, upto: int, logits: Tensor, seconds: float) -> None:
        """The LLM has read a part of a text: of a long one, or of what a branch shares, whose seconds are not told."""
        s.is_partly_read = True
        if not s.n_shared or not s.llm_goals:
            s.llm_s += seconds
        if s.llm_goals and upto == s.llm_goals[0]:
            s.llm_goals.pop(0)
            s.is_partly_read = False
            fork = s.request.fork
            is_fresh = fork is not None and upto == fork.n_read_by_llm and fork.events[-1].source == "llm"
            if is_fresh and s.router.uses_llm_entropy:
                s.llm_entropy = float(entropy_of_logits(logits))

    def _write(
        self, rows: Sequence[BatchSequence], forward: BatchForward, places: Sequence[int], seconds: float
    ) -> None:
        logits = forward.logits
        if len(places) < len(forward.n_fed):
            logits = logits.index_select(0, to_device(places, logits.device))
        with_candidates = any(s.request.with_candidates for s in rows)
        with_entropy = any(s.router.uses_llm_entropy for s in rows)
        log_probs: Tensor | None = None
        if with_candidates or with_entropy:
            log_probs = torch.log_softmax(logits.float(), dim=-1)
        entropy = (entropy_of(log_probs),) if with_entropy and log_probs is not None else ()
        settings, indices = [s.settings for s in rows], [s.index for s in rows]
        chosen = choose_rows(self._pair, logits, log_probs if with_candidates else None, settings, indices, *entropy)
        entropies = chosen.numbers[0] if chosen.numbers else [math.nan] * len(rows)
        for row, s in enumerate(rows):
            if not chosen.are_sound[row]:
                s.end("error", not_a_number("LLM"))
                continue
            own = entropies[row] if s.router.uses_llm_entropy else math.nan
            s.write_by_llm(chosen.token_ids[row], chosen.tops[row], seconds, own, self._pair.eos_ids)


class _RemoteSide:
    """A server that remembers nothing of us but what its prefix cache holds: every call sends the whole text."""

    def __init__(self, pair: ModelPair, llm: RemoteLM) -> None:
        self._pair, self._llm = pair, llm
        self._asked: list[tuple[Sequence[BatchSequence], PendingTokens]] = []

    @property
    def n_asked(self) -> int:
        return len(self._asked)

    def clear(self, slot: int) -> None:
        """Nothing is kept of a slot."""

    def read(self, *_: object) -> BatchForward:
        raise AssertionError("check_router refuses routers that read the LLM")

    def write_read(self, *_: object) -> None:
        raise AssertionError("check_router refuses routers that read the LLM")

    def call(self, rows: Sequence[BatchSequence]) -> None:
        for s in rows:
            s.llm_goals.clear()  # as of any text, the server reads it with the next call
        rows = [s for s in rows if s.waiting is not None]
        if not rows:
            return
        for s in rows:
            s.is_asked = True
        samplings = [sampling_at(s.settings, s.index) for s in rows]
        self._asked.append((rows, self._llm.ask([s.ids for s in rows], samplings)))

    def collect(self, timeout_s: float) -> None:
        for rows, pending in self._asked:
            if all(s.has_ended for s in rows):
                pending.abort()
        self._asked = [(rows, pending) for rows, pending in self._asked if not all(s.has_ended for s in rows)]
        if self._asked and timeout_s > 0:
            PendingTokens.wait_for_any([pending for _, pending in self._asked], timeout_s)
        still = []
        for rows, pending in self._asked:
            if pending.is_done():
                self._end_wait(rows, pending)
            else:
                still.append((rows, pending))
        self._asked = still

    def close(self) -> None:
        for _, pending in self._asked:
            pending.abort()
        self._asked = []

    def _end_wait(self, rows: Sequence[BatchSequence], pending: PendingTokens) -> None:
        live = [(row, s) for row, s in enumerate(rows) if not s.has_ended]
        try:
            tokens = pending.tokens()
        except CiterError as error:
            pending.abort()
            for _, s in live:
                s.end("error", error)
            return
        for row, s in live:
            token = tokens[row]
            top = remote_candidates(self._pair, token) if s.request.with_candidates else ()
            s.write_by_llm(token.token_id, top, token.seconds, math.nan, self._pair.eos_ids)
