"""How a value from outside is said in a message: short, quoted, cleaned. Called where one is refused.

A message goes to a page, a terminal and a log. So nothing in it may break a line, turn the writing direction or be of
any length; and a list or an object, which may hold what its sender never wrote, is only named.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping

MAX_CHARS = 40
_HARMLESS_SPACE = "Zs"
_UNSAFE_GROUPS = ("C", "Z")  # control, format (direction marks), surrogates, unassigned; line and paragraph ends


def excerpt(value: object) -> str:
    """At most 40 characters that say which value it was.

    Returns:
        A text quoted and cut short, what cannot be shown in it as U+FFFD; a number of up to 20 digits as it is, a
        longer one by its length; `true`, `false`, `nothing`; "a list of 3", "an object" or "not a JSON value".
    """
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if -(10**20) < value < 10**20 else "a number of more than 20 digits"
    if isinstance(value, float):
        return repr(float(value))
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    return "an object" if isinstance(value, Mapping) else "not a JSON value"


def clean(text: str) -> str:
    """The text with U+FFFD for each control, format or private character, lone surrogate and line end."""
    return "".join(_shown(char) for char in text)


def first_line(error: BaseException) -> str:
    """What a library says of a failure, up to 200 characters: it may print what it found in a file. Else its kind."""
    return clean(str(error).strip().split("\n", 1)[0][:200]) or type(error).__name__


def _quoted(text: str) -> str:
    most = MAX_CHARS - 2
    cut = text if len(text) <= most else f"{text[: most - 1]}…"
    return '"' + clean(cut).replace('"', "'") + '"'


def _shown(char: str) -> str:
    group = unicodedata.category(char)
    return "\N{REPLACEMENT CHARACTER}" if group[0] in _UNSAFE_GROUPS and group != _HARMLESS_SPACE else char
