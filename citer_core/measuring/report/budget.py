"""`Budget`: the minutes that there are, shared out by weight; what a step leaves, the later ones get.

Knows nothing about what is measured. Called by `steps`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Turn:
    """The time of one step; the step looks at it between rounds, and does one round in any case."""

    ends: float
    clock: Callable[[], float] = time.monotonic

    def is_over(self) -> bool:
        """Whether its time is used up."""
        return self.clock() >= self.ends

    def each(self, items: Iterable[T], least: int = 1) -> Iterator[T]:
        """One item after another: so many in any case, the others as long as there is time."""
        for number, item in enumerate(items, start=1):
            yield item
            if number >= least and self.is_over():
                return

    def part(self, number: int, of: int) -> Turn:
        """The turn of one of several pieces that are left: `number` from 0."""
        now = self.clock()
        return Turn(now + max(0.0, self.ends - now) / (of - number), self.clock)


ENDLESS = Turn(float("inf"))


class Budget:
    """All the time of a report.

    Args:
        seconds: in all, from now.
        weights: of the steps, in their order; above 0.
    """

    def __init__(self, seconds: float, weights: Iterable[float], clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._ends = clock() + seconds
        self._left = list(weights)

    def next_turn(self) -> Turn | None:
        """The turn of the next step; None where no time is left for it."""
        share = self._left[0] / sum(self._left)
        del self._left[0]
        now = self._clock()
        return None if now >= self._ends else Turn(now + (self._ends - now) * share, self._clock)
