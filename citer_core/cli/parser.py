"""`Parser`: arguments whose numbers are bounded, and whose errors never print them back at length.

Python's own readers take thousands of digits, digits of other scripts and underscores. What a number may be beyond
that, each command says with `Allowed`. Called by `command` and `main`.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from citer_core.cli.terminal import escape_controls
from citer_core.errors import SettingError

MOST = 10**15  # whole numbers beyond it are no float's any more
_WHOLE = re.compile(r"\s*[+-]?[0-9]{1,16}\s*")
LONGEST = 40  # characters of a number
MOST_SHOWN = 400  # characters of an error, which has what was given in it


@dataclass(frozen=True, slots=True)
class Allowed:
    """Which numbers an argument takes: `holds` of each of them, and in words, to follow "give"."""

    holds: Callable[[Any], bool]
    words: str
    kind: type[int | float] = float


def whole_from(low: int, high: int | None = None, *, more: str = "") -> Allowed:
    """Whole numbers from `low`, to `high` where there is one; `more` is said behind it."""
    to = "" if high is None else f" to {high:,}"
    return Allowed(lambda n: low <= n and (high is None or n <= high), f"a whole number from {low}{to}{more}", int)


BETWEEN_0_AND_1 = Allowed(lambda share: 0 < share < 1, "a number between 0 and 1")


class Parser(argparse.ArgumentParser):
    """argparse's, with two of its gaps closed; what is not `Allowed` is refused in our own words."""

    def error(self, message: str) -> NoReturn:
        """Says what is wrong, in a line or two, and ends the program with 2."""
        shown = message if len(message) <= MOST_SHOWN else f"{message[:MOST_SHOWN]}..."
        super().error(escape_controls(shown))

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        if arg_strings == ["--"] and action.option_strings and action.nargs is None:
            # `--limit=--`: argparse takes the dashes away and hands out an empty list.
            raise argparse.ArgumentError(action, "expected one argument")
        values = super()._get_values(action, arg_strings)
        allowed: Allowed | None = getattr(action, "allowed", None)
        if allowed is not None:
            for value in values if action.nargs else [values]:
                if not allowed.holds(value):
                    verb = "has" if action.nargs else "is"
                    raise SettingError(f"{action.option_strings[-1]} {verb} {value}: give {allowed.words}.")
        return values


def whole_number(text: str) -> int:
    """An argument as a whole number of at most 15 digits.

    Raises:
        argparse.ArgumentTypeError: it is none.
    """
    if not _WHOLE.fullmatch(text) or abs(int(text)) >= MOST:
        raise argparse.ArgumentTypeError("give a whole number of at most 15 digits")
    return int(text)


def real_number(text: str) -> float:
    """An argument as a number; NaN and infinity too, which each command refuses in words of its own.

    Raises:
        argparse.ArgumentTypeError: it is none.
    """
    try:
        if len(text) <= LONGEST and text.isascii() and "_" not in text:
            return float(text)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError("give a number, such as 0.7")


def bound_numbers(parser: argparse.ArgumentParser) -> None:
    """Reads every number among a parser's arguments in this way."""
    for action in parser._actions:
        if action.type is int:
            action.type = whole_number
        elif action.type is float:
            action.type = real_number
