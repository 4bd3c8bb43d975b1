"""`Figure`: a question's answer as rows of numbers with their intervals; a table that can be drawn. Pure arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from citer_core.evaluation.metrics import wilson_interval
from citer_core.evidence.regime import Difference

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


def share_row(group: str, label: str, n_right: int, n: int) -> FigureRow:
    """A share of n with its Wilson interval; of nothing, that nothing was measured."""
    if n == 0:
        return FigureRow(group, label, None, None, None, 0, "none")
    low, high = wilson_interval(n_right, n)
    return FigureRow(group, label, n_right / n, low, high, n, f"{n_right / n:.1%}")


def interval_row(group: str, label: str, accuracy: float, interval: tuple[float, float], n: int) -> FigureRow:
    """A share whose interval is known."""
    return FigureRow(group, label, accuracy, *interval, n, f"{accuracy:.1%}")


def difference_row(group: str, label: str, found: Difference) -> FigureRow:
    """A difference of two shares, in points."""
    mean, low, high = (100 * x for x in (found.mean, found.low, found.high))
    return FigureRow(group, label, mean, low, high, found.n, f"{mean:+.1f}")


def number_row(group: str, label: str, value: float | None, unit: Unit, text: str | None = None) -> FigureRow:
    """A number without an interval; `text` is for one that is none."""
    return FigureRow(group, label, value, None, None, None, text or said(value, unit))


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


def figures(*found: tuple[str, Unit, Sequence[FigureRow]], reference: Any = None) -> tuple[Figure, ...]:
    """Those of (title, unit, rows) that have a row."""
    return tuple(Figure(title, unit, tuple(rows), reference) for title, unit, rows in found if rows)
