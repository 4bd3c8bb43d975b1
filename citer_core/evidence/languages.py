"""What the reviewers asked of other languages: the same problems in two of them, answered by the real pair.

Routers and taus come from English text, so what is measured is what becomes of them elsewhere. Imports no torch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from citer_core.errors import DatasetError
from citer_core.evaluation.metrics import paired_difference
from citer_core.evidence.claim import Claim, Figure, FigureRow, Finding, Stored, figures, router_name
from citer_core.evidence.regime import ALONE
from citer_core.evidence.regimes import REAL_TITLE, evaluated_points

LANGUAGES = {"en": "English", "de": "German"}  # what routers and taus come from first
KINDS = ("math", "mc")


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
    words = []
    for router, here in of[first].items():
        there = of[second][router]
        mean, (low, high) = paired_difference([there["right"]], [here["right"]])
        shares = ", ".join(
            f"{share:.0%} and {there['shares'][kind]:.0%} LLM tokens in {kind}"
            for kind, share in here["shares"].items()
        )
        words.append(
            f"{router_name(router)}: {here['right'].sum()} of {len(here['right'])} right in {LANGUAGES[first]}, "
            f"{there['right'].sum()} in {LANGUAGES[second]} ({100 * mean:+.0f} points, {100 * low:+.0f} to "
            f"{100 * high:+.0f}{f'; {shares}' if router not in ALONE else ''})"
        )
    right = [
        FigureRow.share(LANGUAGES[code], router_name(router), int(its["right"].sum()), len(its["right"]))
        for code in LANGUAGES
        for router, its in of[code].items()
    ]
    return Claim(
        Finding(tuple(words), REAL_TITLE, " and ".join(kinds)),
        _sentence(of[first], of[second]),
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


def _sentence(first: dict[str, dict[str, Any]], second: dict[str, dict[str, Any]]) -> str:
    """What becomes of the models, of routed answers, and of the shares at a tau."""
    routers = [name for name in first if name not in ALONE]
    lose = [name for name in first if paired_difference([second[name]["right"]], [first[name]["right"]])[1][1] < 0]
    n_models = sum(name in ALONE for name in lose)
    models = {
        2: "Both models lose right answers",
        1: "One of the models loses right answers",
        0: "For neither model alone is a loss beyond doubt",
    }[n_models]
    losers = [router_name(name) for name in routers if name in lose]
    with_whom = "every router" if len(losers) == len(routers) else " and ".join(losers)
    routed = f"routed answers lose right ones with {with_whom}" if losers else "routed answers lose none beyond doubt"
    moved = [second[name]["shares"][kind] - share for name in routers for kind, share in first[name]["shares"].items()]
    taus = (
        "at the same tau each asks the LLM more often"
        if min(moved) > 0
        else "at the same tau each asks the LLM less often"
        if max(moved) < 0
        else "at the same tau the LLM is asked more often in places, not in others"
    )
    return f"{models}; {routed}, and {taus}."
