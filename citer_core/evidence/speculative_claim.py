"""The claim that routing is cheaper than speculative decoding, from the part `speculative`. Imports no torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from citer_core.evidence.claim import NOT_MEASURED, SHARE, Claim, Finding, Verdict
from citer_core.evidence.figures import FigureRow, Unit, figures, interval_row, number_row, said
from citer_core.evidence.regime import Regime

TEXT, PAPER = "Cheaper than speculative decoding, at some accuracy", "80.8% in 4.0 s against 87.0% in 10.9 s"
WAYS = (
    ("always-slm", None),
    ("max-probability", SHARE),
    ("citer-2", SHARE),
    ("citer-outcome", SHARE),
    ("speculative", None),
    ("always-llm", None),
)
_SENTENCES = {
    "confirmed": "Routing costs less and gives up some right answers; speculative decoding keeps the LLM's text.",
    "refuted": "Take speculative decoding here: it keeps the LLM's own text and costs no more.",
    "open": "They are different trades: speculative decoding keeps the LLM's text, routing may cost less or more.",
}


def speculative_claim(known: Sequence[Regime]) -> Claim:
    """Of the newest regime that has it; a matter of cost, whose verdict has to hold in bytes and in seconds."""
    regime = next((regime for regime in known if "speculative" in regime.parts), None)
    if regime is None:
        return Claim(
            "speculative", "paper", TEXT, PAPER, NOT_MEASURED,
            "Speculative decoding keeps the LLM's answer and routing does not: they are different trades.",
        )  # fmt: skip
    part = regime.parts["speculative"]
    words, cheaper = [], []
    for kind, entry in part.content.items():
        drafted, ours = regime.at(kind, "speculative", None), regime.at(kind, "citer-2", SHARE)
        if drafted is None:
            continue
        accepted = entry["n_accepted"] / max(1, entry["n_drafted"])
        words.append(f"{kind} {_of(drafted)}, {accepted:.0%} of the drafted tokens kept")
        if ours is not None:
            words[-1] += f", against {_of(ours)} for citer-2 at {SHARE:.0%}"
            pairs = [(ours[name], drafted[name]) for name in ("gb", "seconds_alone")]
            cheaper += [None if a != a or b != b else a < b for a, b in pairs]  # NaN: not measured
    verdict: Verdict = "open"
    if cheaper and None not in cheaper and len(set(cheaper)) == 1:
        verdict = "confirmed" if cheaper[0] else "refuted"
    return Claim(
        "speculative", "paper", TEXT, PAPER, verdict, _SENTENCES[verdict],
        Finding(tuple(words), regime.title), f"`{part.command}`",
        figures=figures(
            ("Right answers", "share", list(_rows(regime, "accuracy", "share"))),
            ("Estimated GB an answer", "GB", list(_rows(regime, "gb", "GB"))),
            ("Measured seconds an answer, one at a time", "seconds", list(_rows(regime, "seconds_alone", "seconds"))),
        ),
    )  # fmt: skip


def _of(line: Any) -> str:
    seconds = None if line.seconds_alone != line.seconds_alone else float(line.seconds_alone)
    return f"{line.accuracy:.1%} right, {said(line.gb, 'GB')} and {said(seconds, 'seconds')} an answer"


def _rows(regime: Regime, column: str, unit: Unit) -> list[FigureRow]:
    rows = []
    for kind in regime.tables:
        for router, share in WAYS:
            line = regime.at(kind, router, share)
            if line is None or line[column] != line[column]:
                continue
            name = f"{line.label}{f', {share:.0%} LLM tokens' if share else ''}"
            if column == "accuracy":
                rows.append(
                    interval_row(kind, name, float(line.accuracy), (float(line.low), float(line.high)), int(line.n))
                )
            else:
                rows.append(number_row(kind, name, float(line[column]), unit))
    return rows
