"""`Command`: a subcommand as a table, of its name, what `--help` says of it and its arguments, with its work.

An argument is a function that adds itself to a parser, or to a group of one, so that commands share them, alone and in
groups. Numbers among them are bounded: Python's own readers take thousands of digits, digits of other scripts and
underscores; what a number may be beyond that, each command says with `Allowed`. Errors never print what was given back
at length. Knows no command; called by all of them.
"""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Self

from citer_core.cli.terminal import escape_controls
from citer_core.errors import SettingError

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

Argument = Callable[[argparse._ActionsContainer], object]
Run = Callable[[argparse.Namespace], int | None]
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


class Spelled(NamedTuple):
    """How an argument is typed: its flag, its default, and whether the flag stands before each of its values.

    Plain data, as arguments go to other processes too.
    """

    flag: str
    default: Any
    is_repeated: bool

    @classmethod
    def of(cls, action: argparse.Action) -> Self:
        """Of an argument; one that is given by its place has no flag."""
        return cls("".join(action.option_strings[-1:]), action.default, isinstance(action, argparse._AppendAction))


@dataclass(frozen=True, slots=True)
class Command:
    """A subcommand.

    Attributes:
        name: as it is typed.
        about: in the list of all commands.
        description, epilog: above and below its arguments; an epilog is shown as it is written.
        arguments: in the order in which they are shown.
        run: does the work; returns an exit code other than 0, raises `CiterError` for what the person should know.
    """

    name: str
    about: str
    description: str
    arguments: Sequence[Argument]
    epilog: str | None
    run: Run

    def add_to(self, subparsers: Subparsers) -> None:
        """Adds the subcommand and its arguments."""
        parser = subparsers.add_parser(
            self.name,
            help=self.about,
            description=self.description,
            epilog=self.epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter if self.epilog else argparse.HelpFormatter,
            allow_abbrev=False,
        )
        for add in self.arguments:
            add(parser)
        bound_numbers(parser)
        parser.set_defaults(spelled={action.dest: Spelled.of(action) for action in parser._actions})


def command(
    name: str, about: str, description: str, *arguments: Argument, epilog: str | None = None
) -> Callable[[Run], Command]:
    """Makes a `Command` of the function that does its work."""
    return lambda run: Command(name, about, description, arguments, epilog, run)


def option(
    name: str, about: str = "", default: Any = None, *, allowed: Allowed | None = None, **words: Any
) -> Argument:
    """An argument with a value.

    Args:
        name: as it is typed, with what stands for its value: `--limit N`; without dashes it is given by its place.
        about: in `--help`, where the default is shown behind it.
        default: says the type too, where it is a number or a path.
        allowed: which numbers it takes, and their type; all that can be read, if None.
        words: argparse's other ones.
    """
    flag, _, metavar = name.partition(" ")
    shown = about if default is None else f"{about} (%(default)s)".lstrip()
    kind = next((kind for kind in (int, float, Path) if isinstance(default, kind)), allowed and allowed.kind)
    words = {"type": kind, "metavar": metavar or None} | words

    def add(where: argparse._ActionsContainer) -> None:
        added = where.add_argument(flag, help=shown, default=default, **words)
        setattr(added, "allowed", allowed)  # noqa: B010  argparse's class knows no such attribute

    return add


def switch(name: str, about: str) -> Argument:
    """An argument without a value."""
    return lambda where: where.add_argument(name, action="store_true", help=about)


def group(title: str, *members: Argument) -> Argument:
    """Arguments below a title of their own."""

    def add(where: argparse._ActionsContainer) -> None:
        inside = where.add_argument_group(title)
        for member in members:
            member(inside)

    return add


def one_of(*members: Argument, required: bool = False) -> Argument:
    """Arguments of which one at most may be given, or must be."""

    def add(where: argparse._ActionsContainer) -> None:
        inside = where.add_mutually_exclusive_group(required=required)
        for member in members:
            member(inside)

    return add


def given(args: argparse.Namespace, *names: str) -> list[str]:
    """Those of the arguments that are not at their defaults."""
    return [name for name in names if getattr(args, name) != args.spelled[name].default]


def flag_of(name: str) -> str:
    """How an argument is spelled that has no other flag than its name."""
    return f"--{name.replace('_', '-')}"


def typed(args: argparse.Namespace, *names: str, always: Sequence[str] = (), **shown: object) -> str:
    """The command that does the same again, as it is typed, with what is not at its default.

    Args:
        args: as they were given.
        names: the arguments that count, in this order.
        always: of them, what is told at its default too.
        shown: what is told in place of a value: folders by their names only, as their places are private.
    """
    words = ["python", "-m", "citer_core", args.command]
    told_at_all = {*given(args, *names), *always}
    for name in names:
        if name not in told_at_all:
            continue
        spelled: Spelled = args.spelled[name]
        value = shown.get(name, getattr(args, name))
        values = value if isinstance(value, list | tuple) else [] if value is True else [value]
        told = [f"{one:.15g}" if isinstance(one, float) else str(one) for one in values]
        if spelled.is_repeated:
            words += [word for one in told for word in (spelled.flag, one)]
        else:
            words += [spelled.flag, *told] if spelled.flag else told
    return shlex.join(words)
