"""`Pace`: the policy of a batch: who is in a pass, when the LLM is called, how much is read at once.

Numbers in, choices out; computes nothing and holds no state. Called by `decoder`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from citer_core.routing.sequence import RoutedSequence

# New tokens up to which a sequence is taken along whole in every pass: one for the SLM, some for a lagging LLM.
FEW = 16


@dataclass(frozen=True, slots=True)
class Pace:
    """How a batch goes on.

    No sequence waits without end: the LLM is called at the latest `wait_rounds` rounds after the first began to wait,
    and takes those along that have waited longest; the SLM takes along those that it left out before; and a round reads
    at most `read_tokens` tokens of prompts and of long catch-ups, first come first served.

    Attributes:
        batch_size: sequences in one pass of a model.
        wait_share: the LLM is called when this share of the sequences waits for it. On the bundled pair at tau = 0.5 a
            quarter and three quarters were as fast up to noise: fewer passes of the LLM, more of an emptier SLM.
            Waiting for all was slower.
        wait_rounds: the longest wait for others, in passes of the SLM.
        read_tokens: of new texts in one pass; None reads each as a whole.
    """

    batch_size: int = 16
    wait_share: float = 0.5
    wait_rounds: int = 32
    read_tokens: int | None = None

    def for_slm(self, ready: list[RoutedSequence]) -> list[RoutedSequence]:
        """Who is in the SLM's next pass: those that it left out longest."""
        return self._first(ready, lambda s: s.turn)

    def for_llm(self, waiting: list[RoutedSequence], n_live: int, n_ready: int) -> list[RoutedSequence]:
        """Who is in the LLM's next pass; none where it is too early for one.

        A pass of the LLM costs its weights and what else it costs however few sequences are in it: those that need it
        wait until they are many.

        Args:
            waiting: those that need it, at least one, in the order of their slots.
            n_live: all sequences.
            n_ready: those that the SLM can go on with.
        """
        is_time = (
            len(waiting) >= self.wait_share * n_live
            or n_ready == 0
            or any(s.n_waited >= self.wait_rounds or s.llm.goals or s.is_partly_read for s in waiting)
        )
        return self._first(waiting, lambda s: -s.n_waited) if is_time else []

    def _first(self, sequences: list[RoutedSequence], order: Callable[[RoutedSequence], int]) -> list[RoutedSequence]:
        """Those that a pass has room for, in the order of their slots."""
        if len(sequences) <= self.batch_size:
            return sequences
        return sorted(sorted(sequences, key=order)[: self.batch_size], key=lambda s: s.slot)

    def reads(self, n_behind: Sequence[int]) -> list[int]:
        """Tokens that each sequence of a pass reads, in the order in which they were admitted; 0 leaves it out."""
        assert self.read_tokens is not None, "each is read as a whole"
        left, reads = self.read_tokens, []
        for n in n_behind:
            reads.append(n if n <= FEW else min(n, left))
            left -= 0 if n <= FEW else reads[-1]
        return reads
