"""`route`: asks one question and streams the routed answer, or runs a data set (`route_dataset`).

Everything that can be wrong with the input is found before a model is loaded.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from citer_core.cli.dataset_arguments import DATASET_HELP, PATH_HELP, add_split_arguments
from citer_core.cli.summary import summary_line
from citer_core.cli.terminal import TokenPrinter
from citer_core.errors import PromptError, SettingError
from citer_core.tasks.problems import MAX_PROMPT_CHARS, Problem, problem_from_text
from citer_core.tasks.prompts import DATA_TYPES
from citer_core.types import DecodeSettings

if TYPE_CHECKING:
    from citer_core.cli.main import Subparsers
    from citer_core.engine import Engine

EPILOG = r"""tau is the threshold: the LLM writes a token when the router's confidence in the SLM is below it, so 0
leaves all tokens to the SLM and 1 hands all of them to the LLM.

examples:
  python -m citer_core route --question "Tom has 3 boxes of 14 pens. How many pens?" --threshold 0.7
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

    models = parser.add_argument_group("models")
    models.add_argument("--pair", default="embedded", metavar="NAME", help="(%(default)s)")
    models.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32", help="(%(default)s)")
    models.add_argument("--device", default="cpu", help="as torch names it, e.g. cuda (%(default)s)")

    one = parser.add_argument_group("one question")
    one.add_argument("--answer", metavar="TEXT", help="the true answer, to be told whether the models found it")
    one.add_argument("--json", action="store_true", help="print the whole trace as one JSON document, and only that")
    one.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="(%(default)s)")

    many = parser.add_argument_group("a data set")
    add_split_arguments(many, "test")
    many.add_argument("--output-file", type=Path, metavar="OUT", help="JSON Lines; the same command resumes it")
    many.add_argument("--limit", type=int, metavar="N", help="only the first N rows")
    many.add_argument("--with-trace", action="store_true", help="put each row's whole trace into the output")
    many.add_argument("--skip-bad-rows", action="store_true", help="report malformed rows and go on without them")


def run(args: argparse.Namespace) -> int:
    """Answers the question or runs the data set.

    Raises:
        CiterError: wrong input; nothing was loaded then.
    """
    settings = DecodeSettings(
        threshold=args.threshold,
        max_new_tokens=args.max_new_tokens,
        temperature=args.temperature,
        top_p=args.top_p,
        seed=args.seed,
    )
    _refuse_misplaced(args)
    if args.question is None:
        from citer_core.cli.route_dataset import run_dataset

        return run_dataset(args, settings, load_engine)
    text = _read_question() if args.question == "-" else args.question
    return _run_question(args, problem_from_text(text, args.data_type or "math", args.answer), settings)


def load_engine(args: argparse.Namespace) -> Engine:
    """Loads the pair that the arguments name; the slow part of the command."""
    from citer_core.engine import Engine

    return Engine.load(args.pair, device=args.device, dtype=args.dtype)


def _add_decoding(group: argparse._ArgumentGroup) -> None:
    defaults = DecodeSettings()
    group.add_argument(
        "--threshold", type=float, default=defaults.threshold, metavar="TAU", help="tau, 0 to 1 (%(default)s)"
    )
    group.add_argument("--router", metavar="NAME", help="(the pair's default)")
    group.add_argument("--max-new-tokens", type=int, default=defaults.max_new_tokens, metavar="N", help="(%(default)s)")
    group.add_argument("--temperature", type=float, default=defaults.temperature, help="0 is greedy (%(default)s)")
    group.add_argument("--top-p", type=float, default=defaults.top_p, help="used when sampling (%(default)s)")
    group.add_argument("--seed", type=int, default=defaults.seed, help="used when sampling (%(default)s)")


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


def _run_question(args: argparse.Namespace, problem: Problem, settings: DecodeSettings) -> int:
    routed = load_engine(args).start(problem, router=args.router, settings=settings)
    if args.json:
        for _ in routed:
            pass
        # Bytes, because JSON is UTF-8 whatever the terminal's encoding is.
        sys.stdout.buffer.write(routed.trace().to_json().encode() + b"\n")
        sys.stdout.buffer.flush()
        return 0
    printer = TokenPrinter(sys.stdout, args.color)
    if legend := printer.legend():
        print(legend)
    for event in routed:
        printer.write(event)
    print(flush=True)
    print(summary_line(routed.trace()), file=sys.stderr)
    if not printer.shows_source:
        print("(plain text: --color always or --json shows which model wrote which token)", file=sys.stderr)
    return 0
