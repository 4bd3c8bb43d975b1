"""How far each sequence of a pass is read in it. Called by both models' sides of a batch."""

from __future__ import annotations

from collections.abc import Sequence

from citer_core.models.batched_lm import BatchedLM
from citer_core.routing.batch_pace import Pace
from citer_core.routing.batch_sequence import BatchSequence


def next_reads(
    lm: BatchedLM, rows: Sequence[BatchSequence], goals: Sequence[int], pace: Pace
) -> tuple[list[BatchSequence], list[int]]:
    """Those of the rows that are in the next pass, and up to which length each is read in it.

    Args:
        lm: who reads.
        rows: at least one, each behind its goal.
        goals: how far each has to be read, in this pass or a later one.
        pace: how much is read in one pass; the sequence that was admitted first comes first.

    Returns:
        At least one row and its length, in the order of `rows`.
    """
    if pace.read_tokens is None:
        return list(rows), list(goals)
    n_behind = []
    for s, goal in zip(rows, goals, strict=True):
        if not lm.n_cached[s.slot]:
            lm.begin(s.ids[:goal], s.slot)
        n_behind.append(goal - lm.n_cached[s.slot])
    order = sorted(range(len(rows)), key=lambda row: rows[row].number)
    n_read = dict(zip(order, pace.reads([n_behind[row] for row in order]), strict=True))
    kept = [row for row in range(len(rows)) if n_read[row]]
    return [rows[row] for row in kept], [lm.n_cached[rows[row].slot] + n_read[row] for row in kept]
