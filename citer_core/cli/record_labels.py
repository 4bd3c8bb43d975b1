"""`record-labels`: reads solved problems with both models and keeps their labels for the page's view Labels."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tqdm import tqdm

from citer_core.assets import ASSETS
from citer_core.cli.model_arguments import add_model_arguments, load_engine
from citer_core.cli.terminal import say

if TYPE_CHECKING:
    from citer_core.cli.command import Subparsers

EPILOG = """ROWS is math or mc, the bundled set of that format, or a JSON Lines file of at most 200 problems with their
solutions, in the official formats; both branches of its tokens can be rolled out on the page if it is in
assets/datasets. What is there already, of the same pair and routers, is left alone, and the same command resumes.
"""


def add_parser(subparsers: Subparsers) -> None:
    """Adds `record-labels` and its arguments."""
    parser = subparsers.add_parser(
        "record-labels",
        help="record the labels that the page's view Labels shows without a model",
        description="Reads solved problems with both models, labels every token, and keeps that with the confidences "
        "of routers.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("rows", nargs="+", metavar="ROWS", help="math, mc or a JSON Lines file; one or more")
    parser.add_argument("--output-dir", type=Path, default=ASSETS / "labelled", metavar="DIR", help="(%(default)s)")
    parser.add_argument(
        "--router",
        action="append",
        metavar="NAME",
        help="asked at every token; may be given again (the first trained ones and max-probability)",
    )
    add_model_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Records what is missing and says what each recording has.

    Raises:
        CiterError: wrong input, before anything is loaded.
    """
    from citer_core.ui.labels.recorded_labels import record_labels, rows_called, rows_in_file
    from citer_core.ui.labels.rows import SET_NAMES  # gradio's room, of which only this needs something

    sources = {rows: rows_called(rows) if rows in SET_NAMES else rows_in_file(Path(rows)) for rows in args.rows}
    engine = load_engine(args)
    for rows, source in sources.items():
        work = record_labels(
            engine, rows, source, args.output_dir, routers=args.router or (), command=_command(args, rows)
        )
        for _, entry in tqdm(work, total=len(source.rows), unit="problem", disable=not sys.stderr.isatty()):
            if entry is not None:
                say(f"{entry.file}: {entry.title}, {entry.n_tokens:,} tokens, read by {entry.pair}")
    return 0


def _command(args: argparse.Namespace, rows: str) -> str:
    """The command for one of the recordings, as it would be typed."""
    place = Path(rows)
    name = f"assets/datasets/{place.name}" if place.parent.resolve() == (ASSETS / "datasets").resolve() else place.name
    words = ["python", "-m", "citer_core", "record-labels", name]
    words += [word for router in args.router or () for word in ("--router", router)]
    if args.pair != "embedded":
        words += ["--pair", args.pair]
    if args.dtype != "float32":
        words += ["--dtype", args.dtype]
    return shlex.join(words)
