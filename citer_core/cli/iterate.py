"""`iterate`: label, train, relabel, train, K rounds in one command, with a table."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citer_core.cli.dataset_arguments import problems_with_answers
from citer_core.cli.label_arguments import (
    add_label_arguments,
    add_tie_arguments,
    check_rollouts,
    label_rows,
    n_rollouts,
    ties_of,
)
from citer_core.cli.model_arguments import (
    add_model_arguments,
    add_server_arguments,
    decoding_limits,
    llm_server,
    load_engine,
)
from citer_core.cli.tables import number, text_table
from citer_core.cli.terminal import say
from citer_core.cli.train_router import KINDS, LABELS_OF
from citer_core.errors import DatasetError, SettingError
from citer_core.tasks.datasets import bundled_rows
from citer_core.tasks.prompts import row_prompt

if TYPE_CHECKING:
    from citer_core.cli.command import Subparsers
    from citer_core.tasks.problems import Problem
    from citer_core.tasks.prompts import DataType

EPILOG = """example:
  python -m citer_core iterate --generated 2000 --rounds 3 --output-dir rounds
  python -m citer_core iterate --generated 2000 --labels outcome --kind citer-outcome --output-dir outcome-rounds
"""


def add_parser(subparsers: Subparsers) -> None:
    """Adds `iterate` and its arguments."""
    parser = subparsers.add_parser(
        "iterate",
        help="label, train, relabel, train: K rounds in one command",
        description="Runs rounds of CITER. Round 1 labels with rollouts by the SLM (by outcome: the LLM), each later "
        "one under the router before.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_label_arguments(parser)
    add_tie_arguments(parser)
    parser.add_argument("--output-dir", type=Path, required=True, metavar="DIR", help="the same command resumes it")
    parser.add_argument("--rounds", type=int, default=2, metavar="K", help="(%(default)s)")
    parser.add_argument("--kind", choices=KINDS, default="citer", help="kind of the router (%(default)s)")
    parser.add_argument(
        "--learning-rates", type=float, nargs="+", default=[1e-3], metavar="LR", help="all are tried (%(default)s)"
    )
    parser.add_argument("--epochs", type=int, default=40, metavar="N", help="most epochs (%(default)s)")
    parser.add_argument(
        "--share", type=float, default=0.2, help="LLM tokens that each round's tau aims at (%(default)s)"
    )
    parser.add_argument(
        "--test-path", type=Path, metavar="FILE", help="problems to measure each round on (the bundled ones)"
    )
    parser.add_argument(
        "--test-limit", type=int, default=200, metavar="N", help="test problems of each format (%(default)s)"
    )
    add_model_arguments(parser)
    add_server_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Runs the rounds and prints the table.

    Raises:
        CiterError: wrong input, before anything is loaded; or a folder that holds something else.
    """
    from citer_core.training.iterate import IterateSettings, iterate
    from citer_core.training.router_training import RouterRecipe

    if args.rounds < 1:
        raise SettingError(f"--rounds is {args.rounds}: give a whole number from 1.")
    if not 0 < args.share < 1:
        raise SettingError(f"--share is {args.share}: give a number between 0 and 1.")
    check_rollouts(args)
    llm_server(args)
    if LABELS_OF.get(args.kind, args.labels) != args.labels:
        raise SettingError(f"--kind {args.kind} learns other labels: give --labels {LABELS_OF[args.kind]}.")
    settings = IterateSettings(
        n_rounds=args.rounds,
        kind=args.kind,
        recipe=RouterRecipe(tuple(args.learning_rates), 1024, args.epochs, seed=args.seed),
        share=args.share,
        n_rollouts=n_rollouts(args),
        **decoding_limits(args),
        seed=args.seed,
        labels=args.labels,
        roll_out_case_2=args.roll_out_case_2,
        rollout_share=args.rollout_share,
        ties=ties_of(args),
        part_size=args.part_size,
    )
    rows = label_rows(args, say)
    problems = _problems(args)
    trained_on = {row_prompt(row, data_type) for row, data_type in rows}
    n_shared = sum(problem.prompt in trained_on for some in problems.values() for problem in some)
    if n_shared:
        raise DatasetError(
            f"{n_shared} problems that rounds are measured on are trained on: give others as --test-path."
        )
    pair = load_engine(args).pair
    reports = []
    for report in iterate(pair, rows, args.output_dir, settings, problems, say):
        reports.append(report)
        say(f"round {report['round']}: AUC {number(report['auc'])}, loss {report['validation_loss']:.5f}")
    print(text_table(*_table(reports)))
    return 0


def _problems(args: argparse.Namespace) -> Mapping[str, Sequence[Problem]]:
    if args.test_limit < 1:
        raise SettingError(f"--test-limit is {args.test_limit}: give a whole number from 1.")
    if args.test_path is not None:
        return {args.test_path.stem: problems_with_answers(args.test_path, _test_type(args), args.test_limit)}
    formats: tuple[DataType, ...] = ("math", "mc")
    return {t: [row.problem for row in bundled_rows(t)][: args.test_limit] for t in formats}


def _test_type(args: argparse.Namespace) -> DataType:
    return "mc" if args.data_type == "mc" else "math"


def _table(reports: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    names = list(reports[0]["points"])
    head = ["round", "case 3", "prefer SLM", "flips", "loss", "AUC", "ECE", "tau"]
    head += [f"{name} {what}" for name in names for what in ("right", "LLM", "bytes")]
    rows = []
    for report in reports:
        flips = report["n_label_flips"]
        row = [
            str(report["round"]),
            f"{report['n_case_3']}",
            f"{report.get('n_prefer_slm', report['n_case_3_prefer_slm'])}/{report['n_rolled_out']}",
            "" if flips is None else str(flips),
            f"{report['validation_loss']:.5f}",
            number(report["auc"]),
            f"{report['ece']:.4f}",
            f"{report['threshold']:.3f}",
        ]
        for name in names:
            point = report["points"][name]
            row += [
                f"{point['accuracy']['share']:.1%}",
                f"{point['llm_token_share']:.1%}",
                f"{point['bytes_share']:.1%}",
            ]
        rows.append(row)
    return head, rows
