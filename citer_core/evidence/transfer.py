"""What the reviewers asked of transfer: routers of one kind of problem, and of all, tried on each kind.

The bundled pair's are a part of its set. The real pair's are points of `evaluate` in files of their own, whose routers
are called ROUTER-KIND for what they learned from; "its own" are those of the data set's table. Imports no torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from citer_core.errors import DatasetError
from citer_core.evaluation.metrics import unpack
from citer_core.evidence.claim import SHARE, Claim, Figure, FigureRow, Finding, Stored, figures, router_name
from citer_core.evidence.regime import NEAR, Difference, Regime
from citer_core.evidence.regimes import REAL_PAIR, evaluated_points
from citer_core.evidence.stored import StoredPart

BOTH = "both"
TRAINED_ON = {"gsm8k": "GSM8K", "cqa": "CommonsenseQA", BOTH: BOTH}  # by the end of a router's name


@dataclass(frozen=True, slots=True)
class Tried:
    """A router on one kind of problem, at `SHARE`.

    Attributes:
        trained_on: the kind that it learned from, or `BOTH`.
        right: [n] bool, problem by problem.
    """

    router: str
    trained_on: str
    tested_on: str
    right: Any

    @property
    def group(self) -> str:
        """Of those that are held against one another."""
        return f"{router_name(self.router)} on {self.tested_on}"


_Difference = tuple[Tried, Difference]


def transferred(stored: Stored) -> Claim:
    """How far routers carry: of the newest set that tried it, and of the real pair.

    Raises:
        DatasetError: a stored result is damaged.
    """
    regime, part = stored.parts["transfer"]
    places = [(regime, _of_part(part))]
    places += [(one, _of_points(one, stored.folder)) for one in stored.known if one.name == "qwen"]
    there = [(one, tried, _differences(tried)) for one, tried in places if tried]
    found, *others = (Finding(_words(differences), one.title) for one, _, differences in there)
    drawn = tuple(_drawn(tried, one) for one, tried, _ in there)
    return Claim(found, _sentence(there[0][2]), part.command, drawn, tuple(others))


def compared_with_own(regime: Regime, folder: Path) -> list[_Difference]:
    """Of the stored points of a regime's data sets: each router of other problems less the set's own.

    Raises:
        DatasetError: a stored result is damaged.
    """
    return _differences(_of_points(regime, folder))


def _of_part(part: StoredPart) -> list[Tried]:
    return [
        Tried(row["router"], row["trained_on"], row["tested_on"], unpack(row["right"], row["n"]))
        for row in part.content
    ]


def _of_points(regime: Regime, folder: Path) -> list[Tried]:
    """The points of other data sets' routers, behind those of its own."""
    tried = list[Tried]()
    for file, kind in REAL_PAIR.items():
        path = folder / f"{file.removesuffix('-200')}-transfer.jsonl"
        if not path.exists():
            continue
        nearest: dict[str, dict[str, Any]] = {}
        for point in evaluated_points(path):
            known = nearest.setdefault(point["router"], point)
            if _miss(point) < _miss(known):
                nearest[point["router"]] = point
        others = list[Tried]()
        for name, point in nearest.items():
            router, _, end = name.rpartition("-")
            own = regime.at(kind, router, SHARE)
            bits = None if own is None else regime.bits.get((kind, int(own.name)))
            is_elsewhere = TRAINED_ON.get(end, kind) != kind
            if not is_elsewhere or bits is None or point["right"] is None or len(bits[0]) != len(point["right"]):
                raise DatasetError(f"{path.name}: {name} has nothing to be held against. Restore the file.")
            if _miss(point) <= NEAR:
                if all(one.router != router for one in others):
                    tried.append(Tried(router, kind, kind, bits[0]))
                others.append(Tried(router, TRAINED_ON[end], kind, point["right"]))
        tried += others
    return tried


def _miss(point: Mapping[str, Any]) -> float:
    """How far from the share of LLM tokens at which routers are compared."""
    return abs(float(point["llm_token_share"]) - SHARE)


def _differences(tried: Sequence[Tried]) -> list[_Difference]:
    """Each less the one that learned from what it is tested on: mean and 95% interval, as fractions."""
    own = {one.group: one for one in tried if one.trained_on == one.tested_on}
    others = [one for one in tried if one.trained_on != one.tested_on]
    others.sort(key=lambda one: (one.trained_on != BOTH, one.trained_on))
    return [
        (one, Difference.paired([one.right], [own[group].right]))
        for group in dict.fromkeys(one.group for one in tried)
        for one in others
        if one.group == group
    ]


def _words(found: Sequence[_Difference]) -> tuple[str, ...]:
    return tuple(
        f"{router_name(one.router)} of {one.trained_on} less its own on {one.tested_on}: {difference}"
        for one, difference in found
    )


def _sentence(found: Sequence[_Difference]) -> str:
    """What follows, of losses and gains beyond doubt only."""
    of_both = [difference for one, difference in found if one.trained_on == BOTH]
    of_another = [difference for one, difference in found if one.trained_on != BOTH]
    lost = _where_worse(of_both)
    if lost is None:
        sentence = "One router for both will do."
    elif any(one.low > 0 for one in of_both):
        sentence = (
            "Neither is better everywhere: one router for both is behind one for each in places, ahead in others."
        )
    else:
        sentence = f"One router for both is behind one for each{lost}."
    lost = _where_worse(of_another)
    if lost is None:
        return f"{sentence} Even one that has seen the other format only is not measurably worse."
    return f"{sentence} One that has seen the other format only is worse{lost}."


def _where_worse(differences: Sequence[Difference]) -> str | None:
    """An empty text where every loss is beyond doubt, " in places" where some are, None where none is."""
    worse = [one.high < 0 for one in differences]
    if not any(worse):
        return None
    return "" if all(worse) else " in places"


def _drawn(tried: Sequence[Tried], regime: Regime) -> Figure:
    rows = [
        FigureRow.share(one.group, f"trained on {one.trained_on}", int(one.right.sum()), len(one.right))
        for one in tried
    ]
    (figure,) = figures((f"Right answers at {SHARE:.0%} LLM tokens; {regime.title}", "share", rows))
    return figure
