"""`Question`: a row of the table of what is claimed and asked. `Claim`: its answer, with our number, a verdict and what
can be drawn of it (`Figure`). Pure arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

from citer_core.evaluation.metrics import wilson_interval
from citer_core.evidence.regime import NAMES, Difference, Regime
from citer_core.evidence.stored import StoredPart

Verdict = Literal["confirmed", "refuted", "no difference shown", "open", "answered", "not measured"]
SHARE = 0.10  # of LLM tokens, at which routers are compared
NOT_MEASURED: Literal["not measured"] = "not measured"
Unit = Literal["points", "share", "seconds", "ms", "GB", "TFLOP", "answers"]


@dataclass(frozen=True, slots=True)
class FigureRow:
    """One number.

    Attributes:
        group: heading of the rows that belong together; "" has none.
        label: what it is of.
        value: None where there is none.
        low, high: its 95% interval; None without.
        n: how many it was measured on; None where that is no count.
        text: the number as people read it.
    """

    group: str
    label: str
    value: float | None
    low: float | None
    high: float | None
    n: int | None
    text: str

    @classmethod
    def share(cls, group: str, label: str, n_right: int, n: int) -> Self:
        """A share of n with its Wilson interval; of nothing, that nothing was measured."""
        if n == 0:
            return cls(group, label, None, None, None, 0, "none")
        return cls.interval(group, label, n_right / n, wilson_interval(n_right, n), n)

    @classmethod
    def interval(cls, group: str, label: str, accuracy: float, interval: tuple[float, float], n: int) -> Self:
        """A share whose interval is known."""
        return cls(group, label, accuracy, *interval, n, f"{accuracy:.1%}")

    @classmethod
    def of(cls, group: str, label: str, found: Mapping[str, Any], n: int) -> Self:
        """Right answers as a line of a regime's table has them, or `of_seeds`."""
        accuracy, low, high = (float(found[name]) for name in ("accuracy", "low", "high"))
        return cls.interval(group, label, accuracy, (low, high), n)

    @classmethod
    def difference(cls, group: str, label: str, found: Difference) -> Self:
        """A difference of two shares, in points."""
        mean, low, high = (100 * x for x in (found.mean, found.low, found.high))
        return cls(group, label, mean, low, high, found.n, f"{mean:+.1f}")

    @classmethod
    def number(cls, group: str, label: str, value: float | None, unit: Unit, text: str | None = None) -> Self:
        """A number without an interval; `text` is for one that is none."""
        return cls(group, label, value, None, None, None, text or said(value, unit))


@dataclass(frozen=True, slots=True)
class Figure:
    """Rows of one unit.

    Attributes:
        title: what is drawn, with its unit.
        unit: of all values; shares are fractions of 1, differences are in points.
        rows: in the order in which they are drawn.
        reference: where a line is drawn, with what it means; None without.
        is_log: over powers of ten.
    """

    title: str
    unit: Unit
    rows: tuple[FigureRow, ...]
    reference: tuple[float, str] | None = None
    is_log: bool = False


def said(value: float | None, unit: Unit) -> str:
    """A number as people read it, three digits where it is a measurement."""
    if value is None:
        return "not measured"
    if unit == "share":
        return f"{value:.1%}"
    if unit == "answers":
        return f"{value:,.0f}"
    rounded = f"{value:.3g}"
    if "e" in rounded:
        rounded = f"{value:,.0f}" if value >= 1 else f"{value:.2e}"
    return f"{rounded} {'s' if unit == 'seconds' else unit}"


def figures(*found: tuple[str, Unit, Sequence[FigureRow]]) -> tuple[Figure, ...]:
    """Those of (title, unit, rows) that have a row."""
    return tuple(Figure(title, unit, tuple(rows)) for title, unit, rows in found if rows)


_COSTS: tuple[tuple[str, Unit, str], ...] = (  # title, unit, column of a regime's table
    ("Right answers", "share", "accuracy"),
    ("Estimated GB an answer", "GB", "gb"),
    ("Measured seconds an answer, one at a time", "seconds", "seconds_alone"),
)


def cost_figures(lines: Sequence[tuple[str, str, Any]]) -> tuple[Figure, ...]:
    """What ways to answer get right and cost; of (group, label, line of a regime's table)."""

    def row(group: str, label: str, line: Any, column: str, unit: Unit) -> FigureRow:
        if column != "accuracy":
            return FigureRow.number(group, label, float(line[column]), unit)
        return FigureRow.of(group, label, line, int(line.n))

    there = {column: [one for one in lines if one[2][column] == one[2][column]] for _, _, column in _COSTS}  # no NaN
    return figures(
        *((title, unit, [row(*one, column, unit) for one in there[column]]) for title, unit, column in _COSTS)
    )


def difference_figure(title: str, rows: Sequence[FigureRow]) -> Figure:
    """Differences in points, beside the line of none."""
    return Figure(f"{title}, in points", "points", tuple(rows), (0.0, "no difference"))


@dataclass(frozen=True, slots=True)
class Finding:
    """What was measured on one pair.

    Attributes:
        lines: each says one thing with its number.
        where: the pair.
        lead: what all lines are of; "" where each says that itself.
        verdict: what this alone would say; "" where nothing is claimed.
    """

    lines: tuple[str, ...]
    where: str = ""
    lead: str = ""
    verdict: Verdict | Literal[""] = ""

    @property
    def text(self) -> str:
        """All in one line."""
        said = "; ".join(filter(None, (*self.lines, self.where)))
        return f"{self.lead}: {said}" if self.lead else said


@dataclass(frozen=True, slots=True)
class Claim:
    """What numbers say to a claim or a question, and, once it was asked, to which one.

    Attributes:
        found: numbers with interval and n, of the newest regime that has them; None where nothing was measured.
        sentence: what follows, in plain words.
        command: that gives them, between backticks; "" where nothing was measured.
        figures: what can be drawn of it.
        others: the numbers of the other regimes.
        verdict: on what was measured here.
        name, source, text, paper: see `Question`.
    """

    found: Finding | None
    sentence: str
    command: str = ""
    figures: tuple[Figure, ...] = ()
    others: tuple[Finding, ...] = ()
    verdict: Verdict = "answered"
    name: str = ""
    source: str = ""
    text: str = ""
    paper: str = ""

    @property
    def number(self) -> str:
        """What was found, in one line."""
        return self.found.text if self.found else NOT_MEASURED

    @property
    def other(self) -> str:
        """What was found elsewhere, in one line; "" where there is none."""
        said = (f"{one.text}: {one.verdict}" if one.verdict else one.text for one in self.others)
        return " ".join(f"Elsewhere: {words}." for words in said)


@dataclass(frozen=True)
class Stored:
    """What answers are computed from: every regime, the newest first, and the folder of stored results."""

    known: Sequence[Regime]
    folder: Path

    @cached_property
    def parts(self) -> Mapping[str, tuple[Regime, StoredPart]]:
        """Each part of the newest regime that has it, and whose it is."""
        return {name: (regime, part) for regime in reversed(self.known) for name, part in regime.parts.items()}


@dataclass(frozen=True, slots=True)
class Question:
    """What is claimed or asked: a row of the table.

    Attributes:
        name: in addresses.
        text: the claim or question.
        answer: of what is stored; None where that says nothing.
        parts: of the evidence, without which there is no answer.
        missing: what to say where there is none; "" names the command that measures the parts.
        source: who claims or asks it: "paper", "reviewers" or "this project".
        paper: the paper's own figure and its setting; "" where there is none.
    """

    name: str
    text: str
    answer: Callable[[Stored], Claim | None]
    parts: tuple[str, ...] = ()
    missing: str = ""
    source: str = "reviewers"
    paper: str = ""

    def ask(self, stored: Stored) -> Claim:
        """The question with its answer.

        Raises:
            DatasetError: a stored result is damaged.
        """
        said = self.answer(stored) if stored.parts.keys() >= {*self.parts} else None
        missing = self.missing or f"`evidence --parts {' '.join(self.parts)}` measures it."
        said = said or Claim(None, missing, verdict=NOT_MEASURED)
        command = said.command and f"`{said.command}`"
        return replace(said, name=self.name, source=self.source, text=self.text, paper=self.paper, command=command)


def router_name(router: str) -> str:
    """As people know it; `NAME@SEED` is that of one training."""
    base = router.partition("@")[0]
    return NAMES.get(base, base)


def verdict_of(differences: Sequence[Difference]) -> Verdict:
    """Confirmed where every interval is above 0, refuted where one is below it; nothing is where there is none."""
    if any(d.high < 0 for d in differences):
        return "refuted"
    return "confirmed" if differences and all(d.low > 0 for d in differences) else "no difference shown"
