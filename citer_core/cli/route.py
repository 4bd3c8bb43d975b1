"""`route`: asks one question and streams the routed answer, or runs a data set (`route_dataset`).

Everything that can be wrong with the input is found before a model is loaded.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from citer_core.cli.budget import add_budget_flag, asked_settings, settings_for, warn_if_far
from citer_core.cli.dataset_arguments import DATASET_HELP, PATH_HELP, add_split_arguments
from citer_core.cli.decoding_arguments import add_setting_flags
from citer_core.cli.model_arguments import (
    ROUTER_HELP,
    add_model_arguments,
    add_server_arguments,
    llm_server,
    load_engine,
    router_name,
)
from citer_core.cli.summary import summary_line
from citer_core.cli.terminal import TokenPrinter, say
from citer_core.errors import CiterError, MachineError, PromptError, SettingError
from citer_core.files import rescue, why
from citer_core.tasks.problems import MAX_PROMPT_CHARS, Problem, problem_from_text
from citer_core.tasks.prompts import DATA_TYPES

if TYPE_CHECKING:
    from citer_core.cli.command import Subparsers
    from citer_core.trace import RoutingTrace

EPILOG = r"""tau is the threshold: the LLM writes a token when the router's confidence in the SLM is below it, so 0
leaves all tokens to the SLM and 1 hands all of them to the LLM.

examples:
  python -m citer_core route --question "Tom has 3 boxes of 14 pens. How many pens?" --threshold 0.7
  python -m citer_core route --question "Once" --data-type open --settings '{"temperature": 0.8, "seed": 3}'
  printf 'What is the capital of France?\nA. Paris\nB. Lyon\n' | python -m citer_core route --question - --data-type mc
  python -m citer_core route --dataset-path assets/datasets/math.jsonl --data-type math --output-file out.jsonl
  python -m citer_core route --dataset gsm8k --split test --output-file out.jsonl
"""


def add_parser(subparsers: Subparsers) -> None:
    """Adds `route` and its arguments; the defaults of decoding are those of `DecodeSettings`."""
    parser = subparsers.add_parser(
        "route",
        help="answer a question, or a data set, with both models",
        description="Answers with token-level routing.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--question", metavar="TEXT", help='the question; "-" reads it from standard input')
    source.add_argument("--dataset-path", type=Path, metavar="FILE", help=PATH_HELP)
    source.add_argument("--dataset", metavar="NAME[:SPLIT]", help=DATASET_HELP)
    parser.add_argument("--data-type", choices=DATA_TYPES, help="open: no template (math; --dataset knows its own)")
    _add_decoding(parser.add_argument_group("decoding"))
    add_model_arguments(parser)
    add_server_arguments(parser)

    one = parser.add_argument_group("one question")
    one.add_argument("--answer", metavar="TEXT", help="the true answer, to be told whether the models found it")
    one.add_argument("--json", action="store_true", help="print the whole trace as one JSON document, and only that")
    one.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="(%(default)s)")

    many = parser.add_argument_group("a data set")
    add_split_arguments(many, "test")
    many.add_argument("--output-file", type=Path, metavar="OUT", help="JSON Lines; the same command resumes it")
    many.add_argument("--limit", type=int, metavar="N", help="only the first N rows")
    many.add_argument("--batch-size", type=int, default=16, metavar="N", help="problems at once (%(default)s)")
    many.add_argument("--with-trace", action="store_true", help="put each row's whole trace into the output")
    many.add_argument("--skip-bad-rows", action="store_true", help="report malformed rows and go on without them")


def run(args: argparse.Namespace) -> int:
    """Answers the question or runs the data set.

    Raises:
        CiterError: wrong input; nothing was loaded then.
    """
    asked_settings(args)
    _refuse_misplaced(args)
    llm_server(args)
    if args.question is None:
        from citer_core.cli.route_dataset import run_dataset

        return run_dataset(args)
    text = _read_question() if args.question == "-" else args.question
    return _run_question(args, problem_from_text(text, args.data_type or "math", args.answer))


def _add_decoding(group: argparse._ArgumentGroup) -> None:
    add_setting_flags(group)
    add_budget_flag(group)
    group.add_argument("--router", metavar="NAME", help=f"{ROUTER_HELP} (the pair's default)")


def _read_question() -> str:
    # One character more than is allowed is enough to refuse a pipe that never ends.
    try:
        return sys.stdin.read(MAX_PROMPT_CHARS + 1)
    except UnicodeDecodeError as error:
        raise PromptError(f"Standard input is not text in {error.encoding}: give UTF-8.") from error


def _refuse_misplaced(args: argparse.Namespace) -> None:
    """An argument that would be ignored is a misunderstanding; say so instead."""
    if args.question is not None:
        where = "with --dataset-path or --dataset, not with --question"
        misplaced = {
            "--split": args.split is not None,
            "--output-file": args.output_file is not None,
            "--limit": args.limit is not None,
            "--with-trace": args.with_trace,
            "--skip-bad-rows": args.skip_bad_rows,
        }
    else:
        where = "with --question, not with a data set (--with-trace puts traces into the output file)"
        misplaced = {"--answer": args.answer is not None, "--json": args.json}
    names = [name for name, given in misplaced.items() if given]
    if names:
        raise SettingError(f"{', '.join(names)}: use this {where}.")


def _run_question(args: argparse.Namespace, problem: Problem) -> int:
    engine = load_engine(args, args.router)
    routed = engine.start(problem, router=router_name(args.router), settings=settings_for(args, engine, [problem]))
    lost: CiterError | None = None  # what was written until then is shown all the same
    if args.json:
        try:
            for _ in routed:
                pass
        except CiterError as error:
            lost = error
        if lost is None or routed.trace().events:
            _print_trace(routed.trace())
            warn_if_far(args.budget, routed.trace().llm_token_share)
        if lost:
            raise lost
        return 0
    printer = TokenPrinter(sys.stdout, args.color)
    if legend := printer.legend():
        print(legend)
    try:
        for event in routed:
            printer.write(event)
    except CiterError as error:
        lost = error
    if lost is None or routed.trace().events:
        print(flush=True)
        say(summary_line(routed.trace()))
        warn_if_far(args.budget, routed.trace().llm_token_share)
    if lost:
        raise lost
    if not printer.shows_source:
        say("(plain text: --color always or --json shows which model wrote which token)")
    return 0


def _print_trace(trace: RoutingTrace) -> None:
    """The trace on standard output, or, where that is a file on a full disk, in another place."""
    document = trace.to_json().encode() + b"\n"
    try:
        # Bytes, because JSON is UTF-8 whatever the terminal's encoding is.
        sys.stdout.buffer.write(document)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        kept = rescue("trace.json", document)
        where = f"The trace is kept in {kept}." if kept else "It could not be kept anywhere else either."
        raise MachineError(f"The trace could not be written to standard output ({why(error)}). {where}") from error
