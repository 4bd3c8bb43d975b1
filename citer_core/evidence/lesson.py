"""When a learned router pays: the learned against the free one, in every regime that has both. Imports no torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from citer_core.evidence.claim import SHARE, Verdict, verdict_of
from citer_core.evidence.figures import Figure, FigureRow, difference_row
from citer_core.evidence.regime import SHARES, Difference, Regime

FREE = "max-probability"
LEARNED = {
    "citer": "CITER after one round",
    "citer-2": "CITER after two rounds",
    "citer-outcome": "a router of outcome labels",
}
_IS: dict[Verdict, str] = {
    "confirmed": "is ahead of",
    "refuted": "is behind",
    "no difference shown": "is neither measurably ahead of nor behind",
}
BOTH = (
    "It pays where text can be worded in many right ways: there the SLM is unsure of words that do not matter, and "
    "labels that look at what becomes of the answer tell these from the decisive ones. Where every solution has one "
    "wording, an unsure SLM is nearly always a wrong one, and its own probability says so for nothing."
)
NEITHER = "Where the SLM's own probability already says when it is wrong, nothing is left for a router to learn."


@dataclass(frozen=True, slots=True)
class Lesson:
    """What follows, in sentences, and what it follows from."""

    sentences: tuple[str, ...]
    figure: Figure


def lesson(known: Sequence[Regime]) -> Lesson | None:
    """Of every regime in which both were measured at the same shares, the newest first; None without one."""
    sentences, verdicts, rows = list[str](), list[Verdict](), list[FigureRow]()
    for regime in known:
        title = regime.title.partition(":")[0]
        for router, name in LEARNED.items():
            found = {kind: _difference(regime, kind, router) for kind in regime.tables}
            there = {kind: difference for kind, difference in found.items() if difference is not None}
            if not there:
                continue
            verdicts.append(verdict_of(list(there.values())))
            numbers = "; ".join(f"{kind} {difference}" for kind, difference in there.items())
            sentences.append(
                f"{title}: {name} {_IS[verdicts[-1]]} max-probability at {SHARE:.0%} LLM tokens: {numbers}."
            )
            rows += [
                difference_row(f"{title}, {name}", f"{kind} at {share:.0%}", difference)
                for kind in regime.tables
                for share in SHARES
                if (difference := _difference(regime, kind, router, share)) is not None
            ]
    if not rows:
        return None
    if "confirmed" in verdicts and set(verdicts) != {"confirmed"}:
        sentences.append(BOTH)
    elif "confirmed" not in verdicts:
        sentences.append(NEITHER)
    title = "Right answers of the learned router less those of max-probability, at a share of LLM tokens, in points"
    return Lesson(tuple(sentences), Figure(title, "points", tuple(rows), (0.0, "no difference")))


def _difference(regime: Regime, kind: str, router: str, share: float = SHARE) -> Difference | None:
    return regime.difference(kind, router, FREE, share)
