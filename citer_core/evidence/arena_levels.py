"""The arena at a row of numbers of bytes, as the view Evidence is told: a page chooses one of them, and sorts.

Its numbers are those of `arena`. Must not know how they are drawn. Called by `ui/evidence.py`. Imports no torch.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from citer_core.evidence.arena import Arena, arenas
from citer_core.evidence.regime import Regime

PERCENTS = tuple(range(10, 65, 5))  # of the bytes of the LLM's own answers
DIGITS = 5  # two more than are shown, so that hardly a number is rounded otherwise than the command does
_Numbers = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Contender:
    """A contender at every number of bytes.

    Attributes:
        label: of it.
        is_held: all others are held against it.
        needs: percent of the LLM's bytes below which it cannot be, rounded up.
        at: the share of the gap that it recovers, with its 95% interval, and right answers, for each of the numbers;
            None where it needs more.
    """

    label: str
    is_held: bool
    needs: int
    at: tuple[_Numbers | None, ...]


@dataclass(frozen=True, slots=True)
class KindLevels:
    """All contenders on one kind of `n` problems."""

    kind: str
    n: int
    contenders: tuple[Contender, ...]


@dataclass(frozen=True, slots=True)
class PairLevels:
    """One pair's arena.

    Attributes:
        pair: name of the regime.
        title: of the regime, without its explanation.
        percents: of the LLM's bytes, one of which is chosen.
        percent: the one that is looked at first.
        kinds: of problems.
    """

    pair: str
    title: str
    percents: tuple[int, ...]
    percent: int
    kinds: tuple[KindLevels, ...]


def arena_levels(known: Sequence[Regime]) -> list[PairLevels]:
    """Of every pair whose answers are kept problem by problem."""
    return [
        PairLevels(
            regime.name,
            re.split("[:(]", regime.title)[0].strip(),
            PERCENTS,
            round(100 * found[0].level),
            tuple(KindLevels(one.kind, one.n, _contenders(one)) for one in found),
        )
        for regime in known
        if (found := arenas(regime))
    ]


def _contenders(arena: Arena) -> tuple[Contender, ...]:
    standings = [{one.label: one for one in arena.standings(percent / 100)} for percent in PERCENTS]

    def numbers(label: str, k: int) -> _Numbers | None:
        one = standings[k].get(label)
        return tuple(round(number, DIGITS) for number in (one.gap, one.low, one.high, one.right)) if one else None

    return tuple(
        Contender(
            label,
            label in arena.held_against,
            math.ceil(100 * points[0].at),
            tuple(numbers(label, k) for k in range(len(PERCENTS))),
        )
        for label, points in arena.by_bytes.items()
    )
