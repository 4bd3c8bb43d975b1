"""The rows and rollouts of commands that label: `label` and `iterate`. Knows nothing about models."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from citer_core.cli.dataset_arguments import DATASET_HELP, PATH_HELP, add_split_arguments, training_rows
from citer_core.errors import DatasetError, SettingError

if TYPE_CHECKING:
    from citer_core.labelling.label_header import Rows
    from citer_core.labelling.ties import Ties
    from citer_core.tasks.datasets import NumberedRow

GENERATED_STREAM = "router"


def add_label_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds where the rows come from and how labels are found where one pass does not say them."""
    data = parser.add_argument_group("data")
    source = data.add_mutually_exclusive_group(required=True)
    source.add_argument("--dataset-path", type=Path, metavar="FILE", help=f"{PATH_HELP}, with ground truth")
    source.add_argument("--dataset", metavar="NAME[:SPLIT]", help=DATASET_HELP)
    source.add_argument(
        "--generated", type=int, metavar="N", help="N fresh problems of each format from the bundled pair's generator"
    )
    add_split_arguments(data, "train")
    data.add_argument(
        "--data-type", choices=("math", "mc"), help="format of --dataset-path (math); --dataset knows its own"
    )
    data.add_argument("--limit", type=int, metavar="N", help="only the first N rows")
    rollouts = parser.add_argument_group("labels and rollouts")
    rollouts.add_argument(
        "--labels",
        choices=("published", "outcome"),
        default="published",
        help="published: roll out where neither token is the true one; outcome: both branches where the models' tokens "
        "differ (%(default)s)",
    )
    rollouts.add_argument(
        "--roll-out-case-2", action="store_true", help="of published labels: also where only the LLM's token is true"
    )
    rollouts.add_argument(
        "--rollout-share",
        type=float,
        metavar="S",
        help="LLM tokens that a router's tau in rollouts aims at (outcome: 0.2; published: tau 0.95 instead)",
    )
    rollouts.add_argument(
        "--rollouts", default="all", metavar="all|N", help="all, or N drawn at random per example (%(default)s)"
    )
    rollouts.add_argument(
        "--max-new-tokens", type=int, default=256, metavar="N", help="most tokens per rollout and answer (%(default)s)"
    )
    rollouts.add_argument("--batch-size", type=int, default=32, metavar="N", help="rollouts at once (%(default)s)")
    rollouts.add_argument(
        "--part-size", type=int, metavar="N", help="rows per part, which a stop costs at most; 1: row by row (100)"
    )
    rollouts.add_argument("--seed", type=int, default=0, help="seed of all random choices (%(default)s)")


def add_tie_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds how labels by outcome are read where both branches end alike."""
    group = parser.add_argument_group("labels by outcome, where both branches end alike")
    group.add_argument(
        "--both-fail",
        choices=("drop", "slm", "llm"),
        default="drop",
        help="drop: leave the token out; or whom to prefer (%(default)s)",
    )
    group.add_argument("--both-right", choices=("slm", "drop"), default="slm", help="the same (%(default)s)")


def ties_of(args: argparse.Namespace) -> Ties:
    """The ties of `add_tie_arguments`."""
    from citer_core.labelling.ties import Ties

    return Ties(args.both_fail, args.both_right)


def check_rollouts(args: argparse.Namespace) -> None:
    """Refuses what cannot be of the labels and rollouts.

    Raises:
        SettingError: it says what to leave out.
    """
    if args.rollout_share is not None and not 0 < args.rollout_share < 1:
        raise SettingError(f"--rollout-share is {args.rollout_share}: give a number between 0 and 1.")
    if args.part_size is not None and args.part_size < 1:
        raise SettingError(f"--part-size is {args.part_size}: give a whole number from 1.")
    if args.roll_out_case_2 and args.labels == "outcome":
        raise SettingError("--roll-out-case-2: labels by outcome roll case 2 out in any case; leave it out.")


def label_rows(args: argparse.Namespace, say: Callable[[str], None]) -> Rows:
    """The rows to label with their formats, validated as a whole.

    Raises:
        CiterError: wrong arguments, or a bad row; nothing was loaded then.
    """
    if args.generated is not None:
        return _generated_rows(args)
    return training_rows_with_truth(args, say)


def training_rows_with_truth(args: argparse.Namespace, say: Callable[[str], None]) -> Rows:
    """The rows of a data set with their format, each with its ground truth.

    Raises:
        CiterError: wrong arguments, or a bad row; nothing was loaded then.
    """
    return [(dict(row.row) | {"id": row.id}, args.data_type) for row in _with_truth(training_rows(args, say), args)]


def _with_truth(rows: list[NumberedRow], args: argparse.Namespace) -> list[NumberedRow]:
    for row in rows:
        if not row.row.get("cot") and not (args.data_type == "math" and row.row.get("solution")):
            raise DatasetError(
                f"{args.dataset_path}, row {row.number} has no ground truth to label: give it a "
                '"cot", for example with `python -m citer_core make-cot`.'
            )
    return rows


def _generated_rows(args: argparse.Namespace) -> Rows:
    from citer_core.embedded.corpus import held_out_rows
    from citer_core.embedded.publish import FORMATS, N_CARD, held_out

    for name, given in (("--split", args.split), ("--data-type", args.data_type), ("--limit", args.limit)):
        if given is not None:
            raise SettingError(f"{name}: leave it out with --generated, which makes N rows of both formats.")
    if args.generated < 1:
        raise SettingError(f"--generated is {args.generated}: give a whole number from 1.")
    rows = []
    for data_type in FORMATS:
        tested = {row["id"] for row in held_out(data_type, "test", N_CARD)}
        stream = (row for row in held_out_rows(data_type, GENERATED_STREAM) if row["id"] not in tested)
        rows += [(row, data_type) for row in islice(stream, args.generated)]
    return rows


def n_rollouts(args: argparse.Namespace) -> int | None:
    """`--rollouts` as a number; None for all.

    Raises:
        SettingError: it is neither.
    """
    if args.rollouts == "all":
        return None
    if not args.rollouts.isdecimal():
        raise SettingError(f'--rollouts is {args.rollouts!r}: give "all" or a whole number.')
    return int(args.rollouts)
