"""Tables in plain text, aligned; also valid Markdown."""

from __future__ import annotations

from collections.abc import Sequence


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table whose columns are as wide as they have to be."""
    widths = [max(len(line[i]) for line in (head, *rows)) for i in range(len(head))]
    lines = [head, ["-" * width for width in widths], *rows]
    return "\n".join("| " + " | ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) + " |" for line in lines)


def number(value: float | None) -> str:
    """Four decimals; "n/a" for what could not be computed."""
    return "n/a" if value is None else f"{value:.4f}"
