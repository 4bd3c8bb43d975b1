"""`record`: runs a list of problems and keeps the runs as traces that the page plays without any model."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tqdm import tqdm

from citer_core.assets import ASSETS
from citer_core.cli.decoding_arguments import add_settings_object, given_settings
from citer_core.cli.model_arguments import ROUTER_HELP, add_model_arguments, load_engine, router_name
from citer_core.cli.terminal import say
from citer_core.types import DecodeSettings

if TYPE_CHECKING:
    from citer_core.cli.command import Subparsers

EPILOG = r"""a line of PROBLEMS names one run:
  {"file": "cake.json", "title": "Cake", "subtitle": "Two steps", "data_type": "math", "question": "...", "answer": "7"}
data_type is math, mc (options follow the question, one "A. text" a line) or open; answer, threshold, max_new_tokens
and any other setting of `route` may be left out. Runs that are there already are left alone, so the same command
resumes.
"""


def add_parser(subparsers: Subparsers) -> None:
    """Adds `record` and its arguments."""
    parser = subparsers.add_parser(
        "record",
        help="record runs that the page plays without a model",
        description="Runs problems, greedily where nothing else is said, and writes one trace for each, and an index.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("problems", type=Path, metavar="PROBLEMS", help="JSON Lines, one run a line")
    parser.add_argument("--output-dir", type=Path, default=ASSETS / "traces", metavar="DIR", help="(%(default)s)")
    parser.add_argument("--router", metavar="NAME", help=f"{ROUTER_HELP} (the pair's default)")
    parser.add_argument("--threshold", type=float, metavar="TAU", help="(the router's recommended tau)")
    add_settings_object(parser)
    parser.add_argument("--first", action="store_true", help="list these runs before those of other pairs")
    add_model_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Records what is missing.

    Raises:
        CiterError: wrong input, before anything is loaded.
    """
    from citer_core.recording import read_plans, record

    settings = given_settings(args)
    DecodeSettings(**settings)
    plans = read_plans(args.problems)
    engine = load_engine(args, args.router)
    runs = record(engine, plans, args.output_dir, router=router_name(args.router), settings=settings, first=args.first)
    for plan, trace in tqdm(runs, total=len(plans), unit="run", disable=not sys.stderr.isatty()):
        verdict = "" if trace.answer is None else ", right" if trace.answer.is_correct else ", wrong"
        say(f"{plan.file}: {trace.n_tokens} tokens, {trace.llm_token_share:.0%} by the LLM{verdict}")
    return 0
