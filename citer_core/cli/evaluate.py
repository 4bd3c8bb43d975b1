"""`evaluate`: accuracy and cost of routers over a sweep of tau, or at matched shares of LLM tokens; resumable."""

from __future__ import annotations

import argparse
import datetime
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from citer_core.cli.dataset_arguments import (
    DATASET_HELP,
    PATH_HELP,
    add_split_arguments,
    problems_digest,
    problems_with_answers,
    use_named_dataset,
)
from citer_core.cli.model_arguments import (
    ROUTER_HELP,
    add_model_arguments,
    add_server_arguments,
    decoding_limits,
    load_engine,
    model_identity,
    router_name,
)
from citer_core.cli.points_table import points_table
from citer_core.cli.tables import text_table
from citer_core.cli.terminal import say
from citer_core.errors import DatasetError, SettingError
from citer_core.models.presets import PRESETS
from citer_core.row_file import NUMBER, RowFile
from citer_core.tasks.prompts import PROMPT_VERSION

if TYPE_CHECKING:
    from citer_core.cli.command import Subparsers
    from citer_core.engine import Engine
    from citer_core.evaluation.run_book import KeptRun, RunBook
    from citer_core.tasks.problems import Problem

EPILOG = """At a matched share, tau is found for each router on the problems of --tuning-path and tested on others.
"of LLM-only" is the share of what the LLM alone would have cost for the same text, "of its answers" for its own; those
are measured with always-llm where no other point is at tau = 1. --price-as needs no new runs.

examples:
  python -m citer_core evaluate --dataset-path assets/datasets/math.jsonl --data-type math --output-file sweep.jsonl
  python -m citer_core evaluate --dataset-path test.jsonl --output-file sweep.jsonl --price-as qwen2-1.5b-72b
  python -m citer_core evaluate --dataset-path test.jsonl --tuning-path tuning.jsonl --shares 0.1 0.2 0.3 0.4 \\
      --routers citer citer-plus max-probability random --output-file matched.jsonl
  python -m citer_core evaluate --dataset-path test.jsonl --points always-slm=0 always-llm=1 citer=0.8 citer-plus=0.7 \\
      --output-file points.jsonl
"""

LLM_ALONE = "always-llm"
# Points from which they go side by side. The first few come to too little in common: on the bundled pair a text takes
# twice as long that way, and of six points half of the texts are new.
SIDE_BY_SIDE = 8
ANSWERS = ".answers.jsonl"  # beside the output while points are measured: what each answer came to
SHARE_TOLERANCE, N_STEPS = 0.01, 12  # of a search for a tau
Point = tuple[str, str, float]  # router, "tau" or "share", and which

# What the table reads of rows that an earlier run wrote.
ROW_KINDS = {
    "router": str,
    "accuracy": dict,
    **dict.fromkeys(("threshold", "llm_token_share", "n_bytes", "bytes_share", "flops", "measured_s"), NUMBER),
}


def add_parser(subparsers: Subparsers) -> None:
    """Adds `evaluate` and its arguments."""
    parser = subparsers.add_parser(
        "evaluate",
        help="accuracy and cost over a sweep of tau",
        description="Measures routers on problems with known answers, greedily, several problems at once.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    data = parser.add_argument_group("data")
    source = data.add_mutually_exclusive_group(required=True)
    source.add_argument("--dataset-path", type=Path, metavar="FILE", help=PATH_HELP)
    source.add_argument("--dataset", metavar="NAME[:SPLIT]", help=DATASET_HELP)
    add_split_arguments(data, "test")
    data.add_argument(
        "--data-type", choices=("math", "mc"), help="format of --dataset-path (math); --dataset knows its own"
    )
    data.add_argument("--limit", type=int, metavar="N", help="only the first N problems")
    data.add_argument("--tuning-path", type=Path, metavar="FILE", help="other problems, which --shares finds tau on")
    parser.add_argument("--output-file", type=Path, required=True, metavar="OUT", help="one row per point; resumable")
    parser.add_argument("--routers", nargs="+", metavar="NAME", help=f"each is {ROUTER_HELP} (all of the pair's)")
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--thresholds",
        type=float,
        nargs="+",
        metavar="TAU",
        help="(0, 0.1, ..., 1)",
        default=[i / 10 for i in range(11)],
    )
    where.add_argument(
        "--points",
        nargs="+",
        metavar="NAME=TAU",
        help="only these, instead of --routers; a router may be named more than once",
    )
    where.add_argument("--shares", type=float, nargs="+", metavar="S", help="LLM tokens to match, each 0 to 1")
    parser.add_argument(
        "--without-llm-alone", action="store_true", help="do not measure the LLM's own answers, if they are no point"
    )
    parser.add_argument(
        "--price-as",
        choices=sorted(PRESETS),
        metavar="PAIR",
        help="costs of the table for another pair that has a name",
    )
    parser.add_argument("--max-new-tokens", type=int, default=256, metavar="N", help="(%(default)s)")
    parser.add_argument("--batch-size", type=int, default=32, metavar="N", help="problems at once (%(default)s)")
    add_model_arguments(parser)
    add_server_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Measures every point that the output does not hold yet, and prints the table.

    Raises:
        CiterError: wrong input, before anything is loaded.
    """
    _check(args)
    use_named_dataset(args, "test", say)
    problems = problems_with_answers(args.dataset_path, args.data_type, args.limit)
    tuning = problems_with_answers(args.tuning_path, args.data_type, args.limit) if args.shares is not None else []
    shared = {p.prompt for p in problems} & {p.prompt for p in tuning}
    if shared:
        raise DatasetError(f"{len(shared)} problems are in the data set and in --tuning-path: tune on others.")
    with RowFile(args.output_file, _identity(args, problems, tuning), ROW_KINDS) as output:
        pairs = _points(args)
        asked = list(dict.fromkeys(router for router, _ in pairs)) if pairs else args.routers or []
        engine = load_engine(args, *asked)
        names = [router_name(r) or r for r in asked] or list(engine.router_names)
        output.bind(
            {
                "pair_revision": engine.pair_info.revision,
                "routers": {name: engine.router(name).revision for name in names},
            }
        )
        what = "share" if args.shares else "tau"
        sweep = [(name, what, goal) for name in names for goal in args.shares or args.thresholds]
        points = [(router_name(router) or router, "tau", tau) for router, tau in pairs] or sweep
        if not args.without_llm_alone and not any((what, goal) == ("tau", 1) for _, what, goal in points):
            points.append((LLM_ALONE, "tau", 1.0))
        measured = [point for point in points if _point_id(*point) not in output.rows]
        for point, row in _measure(args, engine, measured, problems, tuning):
            output.append({"id": _point_id(*point), "router": point[0], **row})
        print(text_table(*points_table(list(output.rows.values()), engine.pair_info, args.price_as)))
    return 0


def _check(args: argparse.Namespace) -> None:
    decoding_limits(args)
    if args.points is not None and args.routers is not None:
        raise SettingError("--points names its routers: leave out --routers.")
    names = [router_name(router) for router in dict.fromkeys(r for r, _ in _points(args)) or args.routers or ()]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise SettingError(f'--routers has "{twice[0]}" twice, and rows go by that name: rename the files of one.')
    if args.limit is not None and args.limit < 1:
        raise SettingError(f"--limit is {args.limit}: give a whole number from 1, or leave it out for all problems.")
    if args.shares is not None and args.tuning_path is None:
        raise SettingError("--shares needs --tuning-path: problems that tau is found on, none of those measured.")
    taus = [tau for _, tau in _points(args)]
    for name, values in (("--shares", args.shares or ()), ("--thresholds", args.thresholds), ("--points", taus)):
        for value in values:
            if not 0 <= value <= 1:
                raise SettingError(f"{name} has {value}: give numbers from 0 to 1.")


def _points(args: argparse.Namespace) -> list[tuple[str, float]]:
    """(router as it was given, tau) of every --points."""
    points = []
    for text in args.points or ():
        router, _, tau = text.rpartition("=")
        try:
            points.append((router, float(tau)))
        except ValueError:
            router = ""
        if not router:
            raise SettingError(f"--points has {text!r}: give a router and its tau, as in citer=0.8.")
    return points


def _identity(args: argparse.Namespace, problems: Sequence[Problem], tuning: Sequence[Problem]) -> dict[str, Any]:
    return {
        "command": "evaluate",
        "data_type": args.data_type,
        "problems": problems_digest(problems),
        "tuning": problems_digest(tuning) if args.shares else None,
        "prompt_version": PROMPT_VERSION,
        **model_identity(args),
        "max_new_tokens": args.max_new_tokens,
    }


def _point_id(name: str, what: str, goal: float) -> str:
    return f"{name} {what} {goal:g}"


def _measure(
    args: argparse.Namespace,
    engine: Engine,
    points: Sequence[Point],
    problems: Sequence[Problem],
    tuning: Sequence[Problem],
) -> Iterator[tuple[Point, dict[str, Any]]]:
    """Each point with its row, as it is known. A share is made a tau on `tuning` first."""
    if not points:
        return
    from citer_core.evaluation.run_book import RunBook, threshold_for
    from citer_core.tasks.problem_set import ProblemSet

    test, tuned_on = (
        ProblemSet(f"{name} {problems_digest(some)}", args.data_type, tuple(some))
        for name, some in (("test", problems), ("tuning", tuning))
    )
    path = args.output_file.with_name(args.output_file.name + ANSWERS)
    shares_texts = len(points) >= SIDE_BY_SIDE
    with RunBook(
        engine, path, **decoding_limits(args), identity=model_identity(args), shares_texts=shares_texts
    ) as book:
        taus = [
            threshold_for(book, name, tuned_on, goal, SHARE_TOLERANCE, N_STEPS) if what == "share" else goal
            for name, what, goal in points
        ]
        wanted = [(name, tau) for (name, _, _), tau in zip(points, taus, strict=True)]
        with tqdm(total=len(problems) * len(points), unit="answer", disable=not sys.stderr.isatty()) as bar:

            def tell(numbers: range, n_points: int) -> None:
                bar.set_postfix_str("{} {:g}".format(*wanted[n_points - 1]))
                bar.update(len(wanted) * numbers.start + n_points * len(numbers) - bar.n)

            if shares_texts:
                book.fill(test, wanted, tell)
            for n_points, (point, (name, tau)) in enumerate(zip(points, wanted, strict=True), 1):
                runs = book.runs(name, test, tau)
                if not shares_texts:
                    tell(range(len(problems)), n_points)
                yield point, _row(book, point, tau, runs)
        book.discard()


def _row(book: RunBook, point: Point, tau: float, runs: Sequence[KeptRun]) -> dict[str, Any]:
    from citer_core.evaluation.run_book import point_of
    from citer_core.evidence.statistics import pack
    from citer_core.hardware import hardware_in_words

    name, what, goal = point
    found = point_of(book, name, tau, runs)
    return {
        **({"share_wanted": goal} if what == "share" else {}),
        **found.to_dict(),
        "right": pack(found.right),
        "cut_share": round(found.n_cut / found.accuracy.n, 4),
        "gb_per_token": float(f"{found.n_bytes / found.n_tokens / 1e9:.4g}"),
        "router_params": book.engine.router(name).n_params,
        "work": found.workload.to_dict(),
        "date": datetime.date.today().isoformat(),
        "hardware": hardware_in_words(),
    }
