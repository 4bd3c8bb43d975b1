"""What the reviewers asked of transfer: routers of one kind of problem, and of all, tried on each kind; and what
becomes of routers and taus, which come from English text, where the same problems are asked in another language.

The bundled pair's are a part of its set. The real pair's are points of `evaluate` in files of their own, whose routers
are called ROUTER-KIND for what they learned from; "its own" are those of the data set's table. Imports no torch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from citer_core.errors import DatasetError
from citer_core.evaluation.metrics import unpack
from citer_core.evidence.claim import SHARE, Claim, Figure, FigureRow, Finding, Stored, figures, router_name
from citer_core.evidence.regime import ALONE, NEAR, Difference, Regime
from citer_core.evidence.regimes import REAL_PAIR, REAL_TITLE, evaluated_points
from citer_core.evidence.stored import StoredPart

BOTH = "both"
LANGUAGES = {"en": "English", "de": "German"}  # what routers and taus come from first
KINDS = ("math", "mc")
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
    return Figure(f"Right answers at {SHARE:.0%} LLM tokens; {regime.title}", "share", tuple(rows))


def in_languages(stored: Stored) -> Claim | None:
    """Right answers and shares of LLM tokens in each language, all formats together, at the same taus.

    Raises:
        DatasetError: a stored result is damaged.
    """
    files = {kind: {code: stored.folder / f"languages-{code}-{kind}.jsonl" for code in LANGUAGES} for kind in KINDS}
    kinds = [kind for kind, its in files.items() if all(path.exists() for path in its.values())]
    if not kinds:
        return None
    points = {code: {kind: list(evaluated_points(files[kind][code])) for kind in kinds} for code in LANGUAGES}
    if any(point["right"] is None for of_kind in points.values() for its in of_kind.values() for point in its):
        raise DatasetError("languages-*.jsonl: a row does not say which problems were right. Restore the files.")
    asked = [
        [(p["router"], p["threshold"], p["accuracy"]["n"]) for its in of_kind.values() for p in its]
        for of_kind in points.values()
    ]
    if asked[0] != asked[1] or not {*ALONE} <= {router for router, _, _ in asked[0]}:
        raise DatasetError("languages-*.jsonl: the languages were not asked in the same ways. Restore the files.")
    for its in points[next(iter(LANGUAGES))].values():
        if len({point["router"] for point in its}) < len(its):
            raise DatasetError("languages-*.jsonl: a router is there at two taus. Leave one row of each.")
    of = {code: _by_router(of_kind) for code, of_kind in points.items()}
    first, second = LANGUAGES
    words, less = list[str](), dict[str, Difference]()
    for router, here in of[first].items():
        there = of[second][router]
        less[router] = one = Difference.paired([there["right"]], [here["right"]])
        shares = ", ".join(
            f"{share:.0%} and {there['shares'][kind]:.0%} LLM tokens in {kind}"
            for kind, share in here["shares"].items()
        )
        words.append(
            f"{router_name(router)}: {here['right'].sum()} of {len(here['right'])} right in {LANGUAGES[first]}, "
            f"{there['right'].sum()} in {LANGUAGES[second]} ({100 * one.mean:+.0f} points, {100 * one.low:+.0f} to "
            f"{100 * one.high:+.0f}{f'; {shares}' if router not in ALONE else ''})"
        )
    moved = [
        of[second][router]["shares"][kind] - share
        for router, its in of[first].items()
        if router not in ALONE
        for kind, share in its["shares"].items()
    ]
    right = [
        FigureRow.share(LANGUAGES[code], router_name(router), int(its["right"].sum()), len(its["right"]))
        for code in LANGUAGES
        for router, its in of[code].items()
    ]
    return Claim(
        Finding(tuple(words), REAL_TITLE, " and ".join(kinds)),
        _in_words(less, moved),
        _command(kinds[0], evaluated_points(files[kinds[0]][second])),
        (*figures(("Right answers to the same problems in two languages", "share", right)), _shares(of)),
    )


def _command(kind: str, points: Iterable[dict[str, Any]]) -> str:
    """What gives the rows of one file; the others are of the other languages and formats."""
    taus = " ".join(f"{point['router']}={point['threshold']:g}" for point in points)
    return (
        f"python -m citer_core evaluate --dataset-path assets/datasets/languages-de-{kind}.jsonl --data-type {kind} "
        f"--points {taus} --max-new-tokens 512 --batch-size 24 --pair qwen2.5-coder-0.5b-1.5b --dtype bfloat16 "
        f"--output-file languages-de-{kind}.jsonl"
    )


def _by_router(of_kind: Mapping[str, Sequence[dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """Of each router the right answers of all formats behind each other, and its share of LLM tokens in each."""
    groups: dict[str, dict[str, dict[str, Any]]] = {}
    for kind, points in of_kind.items():
        for point in points:
            groups.setdefault(point["router"], {})[kind] = point
    return {
        router: {
            "right": np.concatenate([point["right"] for point in group.values()]),
            "shares": {kind: point["llm_token_share"] for kind, point in group.items()},
        }
        for router, group in groups.items()
    }


def _shares(of: dict[str, dict[str, dict[str, Any]]]) -> Figure:
    rows = [
        FigureRow.number(f"{LANGUAGES[code]}, {kind}", router_name(router), share, "share")
        for code in LANGUAGES
        for router, its in of[code].items()
        if router not in ALONE
        for kind, share in its["shares"].items()
    ]
    return Figure("LLM tokens at the taus of English text", "share", tuple(rows))


def _in_words(less: Mapping[str, Difference], moved: Sequence[float]) -> str:
    """What becomes of the models, of routed answers, and of the shares at a tau."""
    routers = [name for name in less if name not in ALONE]
    lose = [name for name in less if less[name].high < 0]
    n_models = sum(name in ALONE for name in lose)
    models = {
        2: "Both models lose right answers",
        1: "One of the models loses right answers",
        0: "For neither model alone is a loss beyond doubt",
    }[n_models]
    losers = [router_name(name) for name in routers if name in lose]
    with_whom = "every router" if len(losers) == len(routers) else " and ".join(losers)
    routed = f"routed answers lose right ones with {with_whom}" if losers else "routed answers lose none beyond doubt"
    taus = (
        "at the same tau each asks the LLM more often"
        if min(moved) > 0
        else "at the same tau each asks the LLM less often"
        if max(moved) < 0
        else "at the same tau the LLM is asked more often in places, not in others"
    )
    return f"{models}; {routed}, and {taus}."
