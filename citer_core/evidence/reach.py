"""What the paper's reviewers asked of cost from end to end, transfer and length; see `reviewers`. Imports no torch."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from citer_core.evidence.claim import NOT_MEASURED, SHARE, Claim, Finding, Parts, answer, missing, router_name
from citer_core.evidence.figures import Figure, FigureRow, Unit, figures, interval_row, number_row, said
from citer_core.evidence.payback import MEASURES, Payback, paybacks
from citer_core.evidence.regime import Regime, of_seeds
from citer_core.evidence.statistics import unpack
from citer_core.evidence.stored import StoredPart
from citer_core.evidence.transfer import transfer_claim

QUARTERS = ("shortest quarter", "second", "third", "longest quarter")
LOOKED_AT = ("always-slm", "max-probability", "citer-2", "citer-outcome", "always-llm")
IN_WORDS = {"seconds": "in seconds (one answer at a time)", "gb": "in bytes", "tflop": "in FLOPs"}
UNITS: dict[str, Unit] = {"seconds": "seconds", "gb": "GB", "tflop": "TFLOP"}


def of_reach(parts: Parts, known: Sequence[Regime], folder: Path) -> Iterator[Claim]:
    """All of them, from the newest regime that has each part; set-up costs and transfer of the others too.

    Raises:
        DatasetError: a stored result is damaged.
    """
    yield _end_to_end(known)
    yield transfer_claim(parts, known, folder)
    yield _length(parts)


def unanswered() -> Iterator[Claim]:
    """What nothing can be stored of yet."""
    for name, text, sentence in (
        ("families", "Other model families, such as Llama 3?", "Pairs of other families load; none is stored."),
        ("pages", "Texts of pages?", "All answers here are a few sentences; of long texts that says little."),
    ):
        yield Claim(name, "reviewers", text, "", NOT_MEASURED, sentence)


def _end_to_end(known: Sequence[Regime]) -> Claim:
    text = "What does it cost from data to router, and when has it paid?"
    priced = [(regime, found) for regime in known if (found := paybacks(regime))]
    if not priced:
        return missing("end-to-end", text, "accuracy setup")
    (regime, found), *others = priced
    return answer(
        "end-to-end", text, _paid(regime, found),
        "Max-probability needs nothing but its tau; a trained router has to win back its labels first, and no router "
        "here is more often right than the LLM alone."
        if all(one.accuracy <= one.llm_accuracy for _, found in priced for one in found)
        else "Max-probability needs nothing but its tau; a trained router has to win back its labels first.",
        regime.parts["setup"].command, tuple(figure for one in priced for figure in _setup_figures(*one)),
        tuple(_paid(*other) for other in others),
    )  # fmt: skip


def _setup_figures(regime: Regime, found: Sequence[Payback]) -> list[Figure]:
    rows = [
        number_row(IN_WORDS[measure], router_name(one.router), n if math.isfinite(n) else None, "answers", _times(n))
        for measure in MEASURES
        if not all(math.isnan(one.answers(measure)) for one in found)
        for one in found
        for n in [one.answers(measure)]
    ]
    steps = [
        number_row(router_name(one.router), what, cost["seconds"], "seconds")
        for one in found
        for what, cost in (("labelling", one.labels), ("training", one.training), ("tuning", one.tuning))
    ]
    of = _title(regime)
    drawn = figures(
        (f"Answers after which the set-up is paid; {of}", "answers", rows),
        (f"Seconds of the set-up; {of}", "seconds", steps),
    )
    return [replace(figure, is_log=True) for figure in drawn]


def _paid(regime: Regime, found: Sequence[Payback]) -> Finding:
    lines = []
    for one in found:
        total = ", ".join(said(one.total(measure), UNITS[measure]) for measure in MEASURES)
        measured = [measure for measure in MEASURES if not math.isnan(one.answers(measure))]
        paid = ", ".join(
            f"after {_times(n)} answers {IN_WORDS[measure]}" if math.isfinite(n) else f"never {IN_WORDS[measure]}"
            for measure in measured
            for n in [one.answers(measure)]
        )
        lines.append(
            f"{router_name(one.router)}: {total} to set up, paid {paid}, then {one.accuracy:.1%} right where the LLM "
            f"has {one.llm_accuracy:.1%}"
        )
    return Finding(tuple(lines), _title(regime))


def _title(regime: Regime) -> str:
    """Of the pair, and of the problems that the set-up was for, if these are not all."""
    kinds = regime.parts["setup"].content.get("kinds")
    return f"{regime.title}{', ' + ' and '.join(kinds) if kinds else ''}"


def _times(n: float) -> str:
    return NOT_MEASURED if math.isnan(n) else "never" if math.isinf(n) else f"{n:,.0f}"


def _length(parts: Parts) -> Claim:
    """By the length of the answer from the part `accuracy`, by that of the question from `length`."""
    text = "Does it hold for long questions and answers?"
    if "accuracy" not in parts:
        return missing("long", text, "accuracy length")
    regime, accuracy = parts["accuracy"]
    found = [_drawn("the LLM's answer", accuracy, "length_of", "length_bounds")]
    command = accuracy.command
    if "length" in regime.parts:
        found.append(_drawn("the question", regime.parts["length"], "question_of", "question_bounds"))
        command = regime.parts["length"].command
    words = []
    for kind, entry in accuracy.content.items():
        for router in ("max-probability", "citer-2"):
            short, long = (_quarter(entry, "length_of", router, k) for k in (0, len(QUARTERS) - 1))
            if short is not None and long is not None:
                ends = f"{_said(short)} of the shortest quarter, {_said(long)} of the longest"
                words.append(f"{kind}, {router_name(router)}: {ends}")
    return answer(
        "long", text, Finding(tuple(words), regime.title),
        "All problems here are short, 2 to 5 steps; what happens in texts of pages was not measured.",
        command, figures(*found),
    )  # fmt: skip


def _drawn(of: str, part: StoredPart, digits: str, bounds: str) -> tuple[str, Unit, list[FigureRow]]:
    """Right answers of each quarter, router by router."""
    rows = []
    for kind, entry in part.content.items():
        ends = entry[bounds]
        ranges = [f"under {ends[0]}", *(f"{low} to {high - 1}" for low, high in pairwise(ends)), f"{ends[-1]} or more"]
        for router in LOOKED_AT:
            for k, quarter in enumerate(QUARTERS):
                row = _quarter(entry, digits, router, k)
                if row is not None:
                    group = f"{kind}, {router_name(router)}"
                    rows.append(replace(row, group=group, label=f"{quarter}: {ranges[k]} tokens"))
    return f"Right answers by the tokens of {of}", "share", rows


def _quarter(entry: Mapping[str, Any], digits: str, router: str, k: int) -> FigureRow | None:
    """A router's right answers in one quarter, at `SHARE` where it has a tau; None where there is nothing."""
    points = [
        point
        for point in entry["points"]
        if point["router"] == router and (point["share_wanted"] is None or math.isclose(point["share_wanted"], SHARE))
    ]
    mine = [i for i, digit in enumerate(entry[digits]) if digit == str(k)]
    if not points or not mine:
        return None
    right = of_seeds([unpack(point["right"], entry["n"])[mine] for point in points])
    return interval_row("", "", right["accuracy"], (right["low"], right["high"]), len(mine))


def _said(row: FigureRow) -> str:
    return f"{row.text} ({row.low:.1%} to {row.high:.1%}, n = {row.n})"
