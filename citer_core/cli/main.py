"""Parses the command line and runs one subcommand; `ending` says which exit codes there are.

`app` serves the page, the same as `python app.py`, for where there is no clone; app.py reads its flags itself.
"""

from __future__ import annotations

import argparse
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import citer_core
from citer_core.assets import APP as APP_FILE
from citer_core.cli.arena import arena
from citer_core.cli.bench import bench
from citer_core.cli.command import Parser
from citer_core.cli.device_report import device_report
from citer_core.cli.embedded import embedded
from citer_core.cli.ending import exit_code_of, prepare_streams
from citer_core.cli.evaluate import evaluate
from citer_core.cli.evidence import evidence, setup_cost
from citer_core.cli.finetune import finetune
from citer_core.cli.label import label, merge_labels
from citer_core.cli.load import capacity, load
from citer_core.cli.make_cot import make_cot
from citer_core.cli.pairs import fetch, pairs
from citer_core.cli.profile import profile
from citer_core.cli.record import compare, record, record_labels
from citer_core.cli.route import route
from citer_core.cli.static import gallery, static
from citer_core.cli.train_router import iterate, train_router

if TYPE_CHECKING:
    from citer_core.cli.command import Subparsers

APP = "app"
COMMANDS = {
    one.name: one
    for one in (
        pairs,
        fetch,
        route,
        make_cot,
        finetune,
        label,
        merge_labels,
        train_router,
        iterate,
        evaluate,
        arena,
        evidence,
        setup_cost,
        record,
        record_labels,
        compare,
        embedded,
        bench,
        profile,
        device_report,
        capacity,
        load,
        gallery,
        static,
    )
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
    subparsers.add_parser(APP, help="serve the page (its flags: app --help)", add_help=False)
    for command in COMMANDS.values():
        command.add_to(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line `argv` (default: the process's own) and returns its exit code."""
    prepare_streams()
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] == [APP]:
        sys.argv = [str(APP_FILE), *words[1:]]
        runpy.run_path(str(APP_FILE), run_name="__main__")
        return 0  # where app.py does not end the process with an exit code of its own

    def work() -> int:
        args = build_parser().parse_args(words)
        return COMMANDS[args.command].run(args) or 0

    return exit_code_of(work)
