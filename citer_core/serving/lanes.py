"""`Lanes`: the runs of one pair that get their tokens together, one or none each from every step.

Belongs to one thread. An error of one run ends that run; what cannot be put down to one is raised, and the caller
lets all of them go with `drop`. Called by `shared_decoder`.
"""

from __future__ import annotations

import logging

from citer_core.errors import CiterError
from citer_core.models.kv_cache import capacity_for
from citer_core.models.pair import ModelPair
from citer_core.models.remote_lm import RemoteLM
from citer_core.routing.decoder import Decoder
from citer_core.routing.pace import Pace
from citer_core.routing.sequence import RoutedSequence
from citer_core.run import Run
from citer_core.types import FinishReason

logger = logging.getLogger(__name__)
UNEXPECTED = "Something went wrong on the server and this run ended early; the server's log says what. Try again."
# New tokens that a pass reads of prompts: about what the passes of a full batch take for a few tokens each.
READ_TOKENS = 256
# Of both models' caches together. A batch has room for its longest text in every slot, so that with long ones it has
# fewer slots.
MOST_CACHE_BYTES = 2 << 30


def end_with(run: Run, error: Exception) -> None:
    """Ends a run because of an error: in its words, if it was made for people, else it is only logged."""
    if isinstance(error, CiterError):
        run.finish("error", str(error))
        return
    logger.error("run %s failed", run.id[:6], exc_info=error)
    run.finish("error", UNEXPECTED)


class Lanes:
    """Some runs that go on together.

    Args:
        pair: whose runs they are.
        n_slots: the most runs at once.
        n_positions: tokens that the longest of the first runs may come to; see `MOST_CACHE_BYTES`.
        pace: None takes one that suits people who wait: all of them in every pass. On the bundled pair 32 in a pass
            took four fifths of the processor's time of 16, and nine tenths of 32 of which 16 are in a pass.

    Attributes:
        n_lanes: how many there may be.
    """

    def __init__(self, pair: ModelPair, n_slots: int, n_positions: int, pace: Pace | None = None) -> None:
        self.n_lanes = max(1, min(n_slots, MOST_CACHE_BYTES // _slot_bytes(pair, n_positions)))
        self._pair = pair
        self._decoder = Decoder(pair, self.n_lanes, pace or Pace(batch_size=self.n_lanes, read_tokens=READ_TOKENS))
        self._runs: dict[RoutedSequence, Run] = {}

    @property
    def n_live(self) -> int:
        """Runs that have not ended."""
        return len(self._runs)

    def fits(self, run: Run) -> bool:
        """Whether a slot is free and the caches may grow to what this run may come to."""
        most = MOST_CACHE_BYTES // _slot_bytes(self._pair, n_positions_of(run, self._pair))
        return self._decoder.n_free > 0 and (self.n_lanes <= most or self.n_lanes == 1)

    def start(self, run: Run) -> None:
        """Takes a run in that has begun; ends it, with the reason, where its prompt or fork cannot be decoded."""
        assert run.pair is self._pair and run.router is not None, "a run of another pair, or one that has ended"
        try:
            sequence = self._decoder.admit(
                run.prompt_ids,
                run.router,
                run.settings,
                fork=run.fork,
                is_cancelled=run.is_cancelled,
                with_candidates=True,
            )
        except CiterError as error:
            run.finish("error", str(error))
            return
        self._runs[sequence] = run

    def step(self) -> None:
        """A token for every run, or for most."""
        for sequence in self._decoder.step():
            run = self._runs[sequence]
            try:
                run.record(sequence.new_events(self._pair))
            except Exception as error:  # of the text of one run: no other has to do with it
                self._decoder.cancel(sequence)
                end_with(run, error)
            if sequence.error is not None:
                end_with(run, sequence.error)
            elif sequence.finish_reason is not None:
                run.finish(sequence.finish_reason)
            if sequence.finish_reason is not None:
                del self._runs[sequence]

    def drop(self, reason: FinishReason, error: str | None) -> None:
        """Ends all of them."""
        for run in self._runs.values():
            run.finish(reason, error)
        self._runs.clear()
        self._decoder.close()


def n_positions_of(run: Run, pair: ModelPair) -> int:
    """Tokens that a run may come to, its prompt included."""
    return min(len(run.prompt_ids) + run.settings.max_new_tokens, pair.max_context)


def _slot_bytes(pair: ModelPair, n_positions: int) -> int:
    """Bytes of one slot in both models' caches, with room for so many positions: caches grow by doubling."""
    specs = [pair.info.slm] if isinstance(pair.llm, RemoteLM) else [pair.info.slm, pair.info.llm]
    return capacity_for(n_positions) * sum(spec.kv_bytes_per_token for spec in specs)
