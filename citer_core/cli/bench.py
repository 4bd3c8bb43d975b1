"""`bench`: measures the speed of decoding, batches, a class or labelling on this machine and prints it as JSON."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citer_core.cli.model_arguments import add_model_arguments, load_engine
from citer_core.cli.report_file import report_file
from citer_core.cli.terminal import say
from citer_core.errors import SettingError
from citer_core.tasks.datasets import bundled_rows
from citer_core.tasks.prompts import row_completion

if TYPE_CHECKING:
    from citer_core.cli.command import Subparsers
    from citer_core.engine import Engine
    from citer_core.tasks.datasets import NumberedRow

N_PROBLEMS = 100  # of each format, for batches and labels


def add_parser(subparsers: Subparsers) -> None:
    """Adds `bench` and its arguments."""
    parser = subparsers.add_parser(
        "bench",
        help="measure speed on this machine",
        description="decode: routed decoding beside plain generate and the loop without cache reuse. batch: many "
        "prompts at once beside one by one. class: 50 visitors with 5 runs each at once, beside a batch of the same. "
        "labels: teacher forcing beside one-token generations. Prints JSON.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--what", choices=("decode", "batch", "class", "labels"), default="decode", help="(%(default)s)"
    )
    parser.add_argument("--rounds", type=int, default=7, metavar="N", help="rounds of decode and class (%(default)s)")
    parser.add_argument(
        "--max-new-tokens", type=int, default=150, metavar="N", help="tokens of decode and class (%(default)s)"
    )
    parser.add_argument(
        "--shots",
        type=int,
        default=0,
        metavar="N",
        help="solved problems in front of decode's question, as few-shot prompts have (%(default)s)",
    )
    parser.add_argument("--output-file", type=Path, metavar="OUT", help="store the result here as well")
    add_model_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Measures, prints and stores.

    Raises:
        CiterError: wrong arguments, or a pair that cannot be read.
    """
    for name, value, least in (
        ("rounds", args.rounds, 1),
        ("max-new-tokens", args.max_new_tokens, 1),
        ("shots", args.shots, 0),
    ):
        if value is not None and value < least:
            raise SettingError(f"--{name} is {value}: give a whole number from {least}.")
    so_far: dict[str, Any] = {}

    def tell(number: int, result: dict[str, Any] | None) -> None:
        so_far.update(result or {})
        say(f"round {number} of {args.rounds}" if number else "warmed up")

    with report_file(args.output_file) as store:
        engine = load_engine(args)
        try:
            result = _measure(args, engine, tell)
        except BaseException:  # Ctrl-C too: what was measured until then is told
            if so_far:
                print(json.dumps(so_far, indent=1))
            raise
        result["command"] += "".join(
            f" --{name} {value}"
            for name, value, default in (
                ("threads", args.threads, None),
                ("max-new-tokens", args.max_new_tokens, 150),
                ("rounds", args.rounds, 7),
                ("shots", args.shots, 0),
                ("pair", args.pair, "embedded"),
                ("dtype", args.dtype, "float32"),
            )
            if value != default
        )
        sys.stdout.write(store(result))
    return 0


def _measure(
    args: argparse.Namespace, engine: Engine, tell: Callable[[int, dict[str, Any] | None], None]
) -> dict[str, Any]:
    if args.what == "decode":
        from citer_core.measuring.decode_benchmark import decode_benchmark

        question, *others = _rows("math")
        shots = [row.problem.prompt + row_completion(row.row, "math") for row in others[: args.shots]]
        prompt = engine.pair.encode("\n\n".join([*shots, question.problem.prompt]))
        return decode_benchmark(
            engine.pair, engine.router(), prompt, n_new=args.max_new_tokens, n_rounds=args.rounds, on_round=tell
        )
    from citer_core.measuring import pipeline_benchmark

    if args.what == "class":
        from citer_core.measuring.pipeline_benchmark import class_benchmark

        questions = [row.problem for pair in zip(_rows("math"), _rows("mc"), strict=True) for row in pair]
        return class_benchmark(engine, questions, max_new_tokens=args.max_new_tokens, n_rounds=args.rounds, tell=say)
    if args.what == "batch":
        return pipeline_benchmark.batch_benchmark(
            engine, [row.problem for row in _rows("math") + _rows("mc")], tell=say
        )
    from citer_core.labelling.teacher_forcing import example_of

    examples = [example_of(row.row, "math", engine.pair) for row in _rows("math")]
    examples += [example_of(row.row, "mc", engine.pair) for row in _rows("mc")]
    return pipeline_benchmark.labelling_benchmark(engine.pair, examples, tell=say)


def _rows(data_type: str) -> list[NumberedRow]:
    return list(bundled_rows("mc" if data_type == "mc" else "math")[:N_PROBLEMS])
