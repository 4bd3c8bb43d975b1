"""Where real routed runs begin to take longer than the LLM alone: measured, not fitted. Pure arithmetic.

Runs are measured at a few shares of LLM tokens, so what is known is between which two of them time crosses that of the
LLM alone; where exactly is a straight line between the two, and said to be so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from citer_core.measuring.profile_numbers import RunCheck


@dataclass(frozen=True, slots=True)
class Crossing:
    """The LLM share from which on routing saves no time any more; shares are in [0, 1].

    Attributes:
        saves_at: the largest measured share up to which every run saved time; None where none did.
        loses_at: the smallest measured share behind it, whose run did not; None where all saved time.
        at: between the two, on a straight line; None where only one of them is there.
        low, high: of that point: over the rounds of measuring where these are known, else `saves_at` and `loses_at`.
    """

    saves_at: float | None
    loses_at: float | None
    at: float | None
    low: float | None
    high: float | None


def measured_crossing(check: Sequence[RunCheck]) -> Crossing | None:
    """Of the runs that check a profile's prediction; None where none of them was routed."""
    rows = sorted((row for row in check if row.llm_share is not None), key=lambda row: row.llm_share or 0.0)
    if not rows:
        return None
    shares = [row.llm_share or 0.0 for row in rows]
    middle = [row.measured_of_llm_alone for row in rows]
    first = next((k for k, ratio in enumerate(middle) if ratio >= 1), len(rows))
    saves_at = shares[first - 1] if first else None
    loses_at = shares[first] if first < len(rows) else None
    if saves_at is None or loses_at is None:
        return Crossing(saves_at, loses_at, None, None, None)
    low, high = saves_at, loses_at
    fast = [row.lowest_of_llm_alone for row in rows]
    slow = [row.highest_of_llm_alone for row in rows]
    known_fast, known_slow = [x for x in fast if x is not None], [x for x in slow if x is not None]
    if len(known_fast) == len(known_slow) == len(rows):
        low, high = _crossed(shares, known_slow), _crossed(shares, known_fast)
    return Crossing(saves_at, loses_at, _crossed(shares, middle), low, high)


def _crossed(shares: Sequence[float], ratios: Sequence[float]) -> float:
    """The first share at which straight lines between the points reach 1; the nearer end where they do not."""
    if ratios[0] >= 1:
        return shares[0]
    for k in range(1, len(shares)):
        before, after = ratios[k - 1], ratios[k]
        if after >= 1:
            return shares[k - 1] + (shares[k] - shares[k - 1]) * (1 - before) / (after - before)
    return shares[-1]
