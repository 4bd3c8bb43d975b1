"""`bench`: measures the speed of decoding, batches, a class or labelling on this machine and prints it as JSON."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citer_core.cli.command import command, option, typed, whole_from
from citer_core.cli.model_arguments import MODELS, load_engine
from citer_core.cli.report_file import report_file
from citer_core.cli.terminal import say
from citer_core.tasks.datasets import bundled_rows
from citer_core.tasks.prompts import row_completion

if TYPE_CHECKING:
    from citer_core.engine import Engine
    from citer_core.tasks.datasets import NumberedRow
    from citer_core.tasks.prompts import DataType

N_PROBLEMS = 100  # of each format, for batches and labels


@command(
    "bench",
    "measure speed on this machine",
    "decode: routed decoding beside plain generate and the loop without cache reuse. batch: many prompts at once "
    "beside one by one. class: 50 visitors with 5 runs each at once, beside a batch of the same. labels: teacher "
    "forcing beside one-token generations. Prints JSON.",
    option("--what", default="decode", choices=("decode", "batch", "class", "labels")),
    option("--rounds N", "rounds of decode and class", 7, allowed=whole_from(1)),
    option("--max-new-tokens N", "tokens of decode and class", 150, allowed=whole_from(1)),
    option(
        "--shots N", "solved problems in front of decode's question, as few-shot prompts have", 0, allowed=whole_from(0)
    ),
    option("--output-file OUT", "store the result here as well", type=Path),
    MODELS,
)
def bench(args: argparse.Namespace) -> None:
    """Measures, prints and stores.

    Raises:
        CiterError: wrong arguments, or a pair that cannot be read.
    """
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
        result["command"] = typed(args, "what", "threads", "max_new_tokens", "rounds", "shots", "pair", "dtype")
        sys.stdout.write(store(result))


def _measure(
    args: argparse.Namespace, engine: Engine, tell: Callable[[int, dict[str, Any] | None], None]
) -> dict[str, Any]:
    from citer_core.measuring import pipeline_benchmark

    if args.what == "decode":
        question, *others = _rows("math")
        shots = [row.problem.prompt + row_completion(row.row, "math") for row in others[: args.shots]]
        prompt = engine.pair.encode("\n\n".join([*shots, question.problem.prompt]))
        return pipeline_benchmark.decode_benchmark(
            engine.pair, engine.router(), prompt, n_new=args.max_new_tokens, n_rounds=args.rounds, on_round=tell
        )
    if args.what == "class":
        questions = [row.problem for pair in zip(_rows("math"), _rows("mc"), strict=True) for row in pair]
        return pipeline_benchmark.class_benchmark(
            engine, questions, max_new_tokens=args.max_new_tokens, n_rounds=args.rounds, tell=say
        )
    if args.what == "batch":
        return pipeline_benchmark.batch_benchmark(
            engine, [row.problem for row in _rows("math") + _rows("mc")], tell=say
        )
    from citer_core.labelling.teacher_forcing import example_of
    from citer_core.measuring.labelling_benchmark import labelling_benchmark

    examples = [example_of(row.row, "math", engine.pair) for row in _rows("math")]
    examples += [example_of(row.row, "mc", engine.pair) for row in _rows("mc")]
    return labelling_benchmark(engine.pair, examples, tell=say)


def _rows(data_type: DataType) -> list[NumberedRow]:
    return list(bundled_rows(data_type)[:N_PROBLEMS])
