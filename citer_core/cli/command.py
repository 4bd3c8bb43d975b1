"""`Command`: a subcommand as a table, of its name, what `--help` says of it and its arguments, with its work.

An argument is a function that adds itself to a parser, or to a group of one, so that commands share them, alone and in
groups. Knows no command; called by all of them.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from citer_core.cli.parser import Allowed, bound_numbers

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

Argument = Callable[[argparse._ActionsContainer], object]
Run = Callable[[argparse.Namespace], int | None]
D = TypeVar("D", bound="DataclassInstance")


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


def filled(kind: type[D], args: argparse.Namespace, **more: Any) -> D:
    """A dataclass whose fields are the arguments of the same names, and `more`."""
    same = {field.name: getattr(args, field.name) for field in fields(kind) if hasattr(args, field.name)}
    return kind(**same | more)


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
