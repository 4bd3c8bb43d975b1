"""`Rounds`: contenders that take turns, round by round: a shared machine wanders, so only what stood side by side is
compared. Knows nothing about what is measured.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


def timed(work: Callable[[], T], clock: Callable[[], float] = time.perf_counter) -> tuple[float, T]:
    """Seconds of some work, and what it gave."""
    start = clock()
    result = work()
    return clock() - start, result


def quantile(values: Sequence[float], share: float) -> float:
    """The value, of one at least and in any order, that this share of them lies below."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


class Rounds(Generic[T]):
    """What each contender took and gave, by its name, round by round.

    Args:
        works: by name, in the order of their turns.
        clock: that measures them.
    """

    def __init__(self, works: Mapping[str, Callable[[], T]], clock: Callable[[], float] = time.perf_counter) -> None:
        self._works, self._clock = works, clock
        self.seconds: dict[str, list[float]] = {name: [] for name in works}
        self.results: dict[str, list[T]] = {name: [] for name in works}

    def run(self, n_rounds: int, *, n_warm_up: int = 1) -> Iterator[int]:
        """Measures, after rounds that are not counted.

        Yields:
            After each round how many have counted so far.
        """
        for number in range(1 - n_warm_up, n_rounds + 1):
            for name, work in self._works.items():
                seconds, result = timed(work, self._clock)
                if number > 0:
                    self.seconds[name].append(seconds)
                    self.results[name].append(result)
            yield max(number, 0)

    def median(self, name: str) -> float:
        """Seconds of a contender."""
        return statistics.median(self.seconds[name])

    def ratios(self, ours: str, theirs: str) -> list[float]:
        """Seconds of one contender by those of another in the same round."""
        return [a / b for a, b in zip(self.seconds[ours], self.seconds[theirs], strict=True)]

    def ratio(self, ours: str, theirs: str) -> float:
        """Their median, to two digits."""
        return round(statistics.median(self.ratios(ours, theirs)), 2)
