"""Parses the command line and runs one subcommand; `ending` says which exit codes there are.

Knows the subcommands by their modules only, each of which is a `Command`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import citer_core
from citer_core.cli import (
    app,
    bench,
    capacity,
    compare,
    device_report,
    embedded,
    evaluate,
    evidence,
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
    record_labels,
    route,
    setup_cost,
    static,
    train_router,
)
from citer_core.cli.command import Command
from citer_core.cli.ending import exit_code_of, prepare_streams
from citer_core.cli.parser import Parser, bound_numbers

if TYPE_CHECKING:
    from citer_core.cli.command import Subparsers

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
    "evidence": evidence,
    "setup-cost": setup_cost,
    "record": record,
    "record-labels": record_labels,
    "compare": compare,
    "embedded": embedded,
    "bench": bench,
    "profile": profile,
    "device-report": device_report,
    "capacity": capacity,
    "load": load,
    "gallery": gallery,
    "static": static,
}


def build_parser() -> argparse.ArgumentParser:
    """The parser of all subcommands; the chosen one's name is in `command`."""
    parser = Parser(
        prog="citer" if Path(sys.argv[0]).stem == "citer" else "python -m citer_core",
        description="Token-level routing: a small and a large language model share the writing of an answer.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"citer_core {citer_core.__version__}")
    # Of our own class too, which the commands need not know.
    subparsers = cast("Subparsers", parser.add_subparsers(dest="command", required=True, metavar="COMMAND"))
    app.add_parser(subparsers)
    for command in COMMANDS.values():
        command.add_parser(subparsers)
    for subparser in subparsers.choices.values():
        bound_numbers(subparser)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line `argv` (default: the process's own) and returns its exit code."""
    prepare_streams()
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] == [app.NAME]:
        return app.run(words[1:])

    def work() -> int:
        args = build_parser().parse_args(words)
        return COMMANDS[args.command].run(args)

    return exit_code_of(work)
