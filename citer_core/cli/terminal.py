r"""What stands in a terminal: routed text, lines, tables and bars, and nothing that a text could abuse.

Who wrote a token is shown by colour and by underline.

Model text is not trusted: a control sequence in it could rewrite the screen, so a control character is shown as an
escape (`\x1b`) instead. Knows nothing about engines or files.
"""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Literal, TextIO, TypeVar

from tqdm import tqdm

from citer_core.types import Source, TokenEvent

T = TypeVar("T")
ColorChoice = Literal["auto", "always", "never"]

_RESET = "\x1b[0m"
# Blue and orange stay apart for most colour-blind readers; the underline carries the meaning without them.
_COLORED: dict[Source, str] = {"slm": "\x1b[34m", "llm": "\x1b[4;33m"}
_UNCOLORED: dict[Source, str] = {"slm": "", "llm": "\x1b[4m"}
_PLAIN: dict[Source, str] = {"slm": "", "llm": ""}

_CONTROL_CATEGORIES = frozenset({"Cc", "Cs", "Zl", "Zp"})
# Embeddings, overrides and isolates reorder what follows them. A joiner inside an emoji is of the same category, and
# harmless.
_REORDERING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def escape_controls(text: str) -> str:
    r"""`text` with control and reordering characters and surrogates as escapes (`\x1b`); line feed and tab stay."""
    return "".join(char.encode("unicode_escape").decode("ascii") if _is_control(char) else char for char in text)


def _is_control(char: str) -> bool:
    if char.isprintable() or char in "\n\t":
        return False
    return char in _REORDERING or unicodedata.category(char) in _CONTROL_CATEGORIES


class TokenPrinter:
    """Writes tokens as they arrive.

    In a terminal LLM tokens are underlined and both writers coloured; with `NO_COLOR` set, underlined only. Anything
    else gets the bare text, because marks inside it would be taken for part of the answer.
    """

    def __init__(self, stream: TextIO, color: ColorChoice = "auto") -> None:
        self._stream = stream
        self._styles = _styles_for(stream, color)

    @property
    def shows_source(self) -> bool:
        """Whether a reader can tell who wrote which token."""
        return self._styles is not _PLAIN

    def legend(self) -> str:
        """One line that explains the styles; empty without them."""
        return f"{self._styled('SLM', 'slm')} {self._styled('LLM', 'llm')}" if self.shows_source else ""

    def write(self, event: TokenEvent) -> None:
        """Appends one token's text and shows it at once."""
        self._stream.write(self._styled(escape_controls(event.text), event.source))
        self._stream.flush()

    def _styled(self, text: str, source: Source) -> str:
        style = self._styles[source]
        # Each token closes its own style, so that stopping at any point leaves the terminal as it was.
        return f"{style}{text}{_RESET}" if style and text else text


def _styles_for(stream: TextIO, color: ColorChoice) -> dict[Source, str]:
    if color == "always":
        return _COLORED
    if color == "never" or not stream.isatty() or os.environ.get("TERM") == "dumb":
        return _PLAIN
    return _UNCOLORED if os.environ.get("NO_COLOR") else _COLORED


def say(line: str) -> None:
    """One line for the person, on standard error; a log on a full disk does not stop the work that it is about."""
    try:
        print(escape_controls(line), file=sys.stderr, flush=True)
    except BrokenPipeError:
        raise
    except OSError:
        return


def bar(work: Iterable[T] | None, total: int, unit: str) -> tqdm[T]:
    """How far a piece of work is, on standard error; nothing where that is no terminal."""
    return tqdm(work, total=total, unit=unit, disable=not sys.stderr.isatty())


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table, also valid Markdown, whose columns are as wide as they have to be."""
    widths = [max(len(line[i]) for line in (head, *rows)) for i in range(len(head))]
    lines = [head, ["-" * width for width in widths], *rows]
    return "\n".join("| " + " | ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) + " |" for line in lines)


def number(value: float | None) -> str:
    """Four decimals; "n/a" for what could not be computed."""
    return "n/a" if value is None else f"{value:.4f}"


def format_bytes(n_bytes: float) -> str:
    """Decimal units, three significant digits or more: `48.2 MB`, `1.75 GB`."""
    value, unit = n_bytes / 1e6, "MB"
    for larger in ("GB", "TB", "PB"):
        if value < 999.5:
            break
        value, unit = value / 1e3, larger
    n_decimals = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{n_decimals}f} {unit}"
