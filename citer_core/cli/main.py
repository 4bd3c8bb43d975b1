"""Parses the command line, runs one subcommand and turns its outcome into an exit code.

    0    done
    2    wrong usage or input; one line says what and what to do
    3    the LLM's server was lost; what was finished is kept
    130  interrupted with Ctrl-C
    141  the reader of our output went away (`| head`)

Knows the subcommands by their modules only: each has `add_parser(subparsers)` and `run(args) -> int`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TextIO

import citer_core
from citer_core.cli import (
    bench,
    capacity,
    embedded,
    evaluate,
    fetch,
    finetune,
    gallery,
    iterate,
    label,
    load,
    make_cot,
    merge_labels,
    pairs,
    profile,
    record,
    route,
    train_router,
)
from citer_core.cli.terminal import escape_controls
from citer_core.errors import CiterError, ServerError

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

EXIT_USAGE, EXIT_SERVER_LOST, EXIT_INTERRUPTED, EXIT_BROKEN_PIPE = 2, 3, 130, 141


class Command(Protocol):
    """What a subcommand's module offers."""

    def add_parser(self, subparsers: Subparsers) -> None:
        """Adds the subcommand and its arguments."""

    def run(self, args: argparse.Namespace) -> int:
        """Does the work and returns the exit code; raises `CiterError` for what the person should know."""


COMMANDS: dict[str, Command] = {
    "pairs": pairs,
    "fetch": fetch,
    "route": route,
    "make-cot": make_cot,
    "finetune": finetune,
    "label": label,
    "merge-labels": merge_labels,
    "train-router": train_router,
    "iterate": iterate,
    "evaluate": evaluate,
    "record": record,
    "embedded": embedded,
    "bench": bench,
    "profile": profile,
    "capacity": capacity,
    "load": load,
    "gallery": gallery,
}


def build_parser() -> argparse.ArgumentParser:
    """The parser of all subcommands; the chosen one's name is in `command`."""
    parser = argparse.ArgumentParser(
        prog="python -m citer_core",
        description="Token-level routing: a small and a large language model share the writing of an answer.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"citer_core {citer_core.__version__}")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS.values():
        command.add_parser(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line `argv` (default: the process's own) and returns its exit code."""
    for stream in (sys.stdout, sys.stderr):
        _never_fail_on_encoding(stream)
    args = build_parser().parse_args(argv)
    try:
        code = COMMANDS[args.command].run(args)
        sys.stdout.flush()
    except CiterError as error:
        print(f"error: {escape_controls(str(error))}", file=sys.stderr)
        return EXIT_SERVER_LOST if isinstance(error, ServerError) else EXIT_USAGE
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # Python flushes stdout once more at exit; let it flush into nothing instead of a closed pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_BROKEN_PIPE
    return code


def _never_fail_on_encoding(stream: TextIO) -> None:
    r"""Lets a terminal that is not UTF-8 show `\u...` where it has no character, instead of stopping the run."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
