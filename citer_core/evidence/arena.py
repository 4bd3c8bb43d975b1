"""The arena: every contender in one currency, the share of the gap between both models that it recovers.

A contender is a router over its taus, or a rule of taking back over its strictnesses: points, by what they cost. At a
cost between two of them stands their mixture, in which a share of the problems is answered at the one and the rest at
the other; below the first point that mixture is with the SLM alone, where that is cheaper; above the last the last one
holds, and costs less. Intervals and differences are of problems drawn again, the same for all. Imports no torch.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from citer_core.evidence.claim import Claim, Finding, Stored
from citer_core.evidence.regime import Regime

# Of the bytes of the LLM's own answers: looked at first, and where the SLM alone moves more than that.
BYTES, MORE_BYTES = 0.20, 0.50
# Oracles, and readings of ties that make no difference.
NO_CONTENDERS = ("disagreement", "decisive", "outcome-fail-slm", "outcome-fail-llm")
SLM, LLM = "always-slm", "always-llm"
HELD_AGAINST = ("citer-2", "max-probability")  # the paper's router and the free one
N_DRAWS = 2000
DIGITS = 5  # two more than are shown, so that hardly a number is rounded otherwise than the command does
_Rights = NDArray[np.float64]  # [n], how right each answer is: averaged over training seeds, or of a mixture


class Level(NamedTuple):
    """A cost at which a page compares the contenders.

    Attributes:
        name: in addresses.
        at: a fraction of the bytes of the LLM's own answers, or of LLM passes a kept token.
        by_passes: which of both.
        words: for people.
    """

    name: str
    at: float
    by_passes: bool
    words: str


LEVELS = (
    *(Level(f"{percent}", percent / 100, False, f"{percent}% of the LLM's bytes") for percent in range(10, 65, 5)),
    *(Level(f"p{percent}", percent / 100, True, f"{percent}% LLM passes") for percent in (1, 2, 3, 5, 10, 20)),
)


class Point(NamedTuple):
    """What a contender moves, of the LLM's own answers, and gets right."""

    at: float
    right: _Rights


@dataclass(frozen=True)
class Standing:
    """A contender at one cost: the share of the gap that it recovers, with its 95% interval, and differences of it.

    Attributes:
        label: of the contender.
        gap, low, high: fractions of the gap; 0 is the SLM alone, 1 the LLM.
        right: share of right answers.
        less: this less that of others, by label: mean and 95% interval.
    """

    label: str
    gap: float
    low: float
    high: float
    right: float
    less: Mapping[str, tuple[float, float, float]]


@dataclass(frozen=True)
class Arena:
    """All contenders on one kind of problem.

    Attributes:
        kind: of the problems.
        n: problems.
        by_bytes, by_passes: the points of each contender by its label, the cheapest first.
        routers: of the contenders that are a router and nothing else, by label.
    """

    kind: str
    slm: _Rights
    llm: _Rights
    by_bytes: Mapping[str, Sequence[Point]]
    by_passes: Mapping[str, Sequence[Point]]
    routers: Mapping[str, str]

    @property
    def n(self) -> int:
        """Problems."""
        return len(self.slm)

    @property
    def held_against(self) -> list[str]:
        """Labels of those of `HELD_AGAINST`."""
        return [label for label, router in self.routers.items() if router in HELD_AGAINST]

    @property
    def level(self) -> float:
        """Bytes at which the contenders meet first: at which nearly all of them can be."""
        cheapest = [points[0].at for points in self.by_bytes.values()]
        return BYTES if np.median(cheapest) < BYTES else MORE_BYTES

    def standings(self, at: float, *, by_passes: bool = False) -> list[Standing]:
        """Who recovers how much at a cost, the most first; without those who cannot be so cheap."""
        known = self.by_passes if by_passes else self.by_bytes
        found = {label: right for label, points in known.items() if (right := _at(points, at)) is not None}
        gaps = dict(zip(found, self._gaps([*found.values()]), strict=True))
        standings = []
        for label, (gap, drawn) in gaps.items():
            less = {
                other: (gap - gaps[other][0], *_ends(drawn - gaps[other][1]))
                for other in self.held_against
                if other in gaps and other != label
            }
            standings.append(Standing(label, gap, *_ends(drawn), float(found[label].mean()), less))
        return sorted(standings, key=lambda one: -one.gap)

    def _gaps(self, rights: Sequence[_Rights]) -> list[tuple[float, NDArray[np.float64]]]:
        """The share of the gap of each, and that of each draw; the draws are read once for all."""
        more = np.stack([self.llm, *rights]) - self.slm
        gap, *drawn = more @ self._drawn.T
        whole, *means = more.mean(axis=1)
        return [(float(mean / whole), one / gap) for mean, one in zip(means, drawn, strict=True)]

    @cached_property
    def _drawn(self) -> NDArray[np.float64]:
        """[N_DRAWS, n], how often each problem is in a draw."""
        chances = np.full(self.n, 1 / self.n)
        return np.random.default_rng(0).multinomial(self.n, chances, size=N_DRAWS).astype(np.float64)


def arena_of(regime: Regime, kind: str) -> Arena | None:
    """The contenders of one kind whose answers are kept problem by problem; None where a model's are not."""
    table = regime.tables[kind]
    llm_gb = float(table.gb[table.router == LLM].iloc[0])
    alone: dict[str, Point] = {}
    by_bytes: dict[str, list[Point]] = {}
    by_passes: dict[str, list[Point]] = {}
    routers: dict[str, str] = {}
    for line in table.itertuples():
        bits = regime.bits.get((kind, int(line.Index)))
        if bits is None or line.router in NO_CONTENDERS:
            continue
        point = Point(float(line.gb) / llm_gb, np.stack(bits).mean(axis=0))
        if line.router in (SLM, LLM):
            alone[str(line.router)] = point
            continue
        if not line.settings:
            routers[str(line.label)] = str(line.router)
        by_bytes.setdefault(str(line.label), []).append(point)
        by_passes.setdefault(str(line.label), []).append(point._replace(at=float(line.passes)))
    if alone.keys() != {SLM, LLM} or not by_bytes:
        return None
    slm, llm = alone[SLM], alone[LLM]
    return Arena(
        kind,
        slm.right,
        llm.right,
        {label: _cheapest_first(slm, points) for label, points in by_bytes.items()},
        {label: _cheapest_first(slm._replace(at=0.0), points) for label, points in by_passes.items()},
        routers,
    )


def _cheapest_first(slm: Point, points: Sequence[Point]) -> list[Point]:
    """With the SLM alone before them, where that is cheaper than all."""
    own = sorted(points, key=lambda point: point.at)
    return [slm, *own] if slm.at < own[0].at else own


def _at(points: Sequence[Point], at: float) -> _Rights | None:
    """The mixture of the points on both sides of a cost; None where all cost more."""
    before = [point for point in points if point.at <= at]
    after = [point for point in points if point.at > at]
    if not before or not after:
        return before[-1].right if before else None
    (low, right), (high, other) = before[-1], after[0]
    share = (at - low) / (high - low)
    mixed: _Rights = (1 - share) * right + share * other
    return mixed


def _ends(drawn: NDArray[np.float64]) -> tuple[float, float]:
    low, high = np.quantile(drawn, (0.025, 0.975))
    return float(low), float(high)


def answered(stored: Stored) -> Claim | None:
    """Which contender recovers most at equal bytes, of every pair."""
    there = [(regime, found) for regime in stored.known if (found := arenas(regime))]
    if not there:
        return None
    (regime, own), *others = there
    return Claim(
        Finding(_words(own), regime.title, f"Of the gap between both models, at {own[0].level:.0%} of the LLM's bytes"),
        _sentence(own),
        "python -m citer_core arena",
        others=tuple(Finding(_words(found), one.title) for one, found in others),
    )


def arenas(regime: Regime) -> list[Arena]:
    """Of every kind of a regime."""
    return [found for kind in regime.tables if (found := arena_of(regime, kind)) is not None]


def right_alone(found: Sequence[Arena]) -> str:
    """Right answers of either model on each kind."""
    models = (("SLM", [one.slm for one in found]), ("LLM", [one.llm for one in found]))
    return ", ".join(f"{name} {' and '.join(f'{of.mean():.1%}' for of in its)}" for name, its in models)


def _words(found: Sequence[Arena]) -> tuple[str, ...]:
    """The first at equal bytes, with CITER and the free baseline."""
    lines = []
    for one in found:
        standings = one.standings(one.level)
        told = [s for k, s in enumerate(standings) if k == 0 or s.label in one.held_against]
        said = ", ".join(f"{s.label} {s.gap:.0%}" for s in told)
        lines.append(f"{one.kind}: {said}")
    return tuple(lines)


def _sentence(found: Sequence[Arena]) -> str:
    firsts = list(dict.fromkeys(one.standings(one.level)[0].label.partition(":")[0] for one in found))
    most = f"{' and '.join(firsts)} {'recovers' if len(firsts) == 1 else 'recover'} most"
    return f"At equal bytes {most}. What costs more there is mixed with the SLM alone."


def arena_levels(known: Sequence[Regime]) -> list[dict[str, Any]]:
    """The arena of every pair whose answers are kept problem by problem, at every one of `LEVELS`, for a page.

    Returns:
        pair, title: of a regime, without its explanation; levels: name, words and whether they are of passes; level,
        the one that is looked at first; kinds of problems: kind, n, contenders: see `_contenders`.
    """
    return [
        {
            "pair": regime.name,
            "title": re.split("[:(]", regime.title)[0].strip(),
            "levels": [{"name": one.name, "words": one.words, "by_passes": one.by_passes} for one in LEVELS],
            "level": f"{round(100 * found[0].level)}",
            "kinds": [{"kind": one.kind, "n": one.n, "contenders": _contenders(one)} for one in found],
        }
        for regime in known
        if (found := arenas(regime))
    ]


def _contenders(arena: Arena) -> list[dict[str, Any]]:
    """Label, and whether all others are held against it; the percents of the LLM's bytes and of passes that it needs,
    rounded up; at each of `LEVELS` the share of the gap that it recovers, with its 95% interval, and right answers:
    None below.
    """
    standings = [{one.label: one for one in arena.standings(at, by_passes=passes)} for _, at, passes, _ in LEVELS]

    def numbers(one: Standing | None) -> tuple[float, ...] | None:
        return tuple(round(number, DIGITS) for number in (one.gap, one.low, one.high, one.right)) if one else None

    return [
        {
            "label": label,
            "is_held": label in arena.held_against,
            "needs": [math.ceil(100 * known[label][0].at) for known in (arena.by_bytes, arena.by_passes)],
            "at": [numbers(of.get(label)) for of in standings],
        }
        for label in arena.by_bytes
    ]
