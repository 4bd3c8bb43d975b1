"""The rows and rollouts of commands that label: `label` and `iterate`. Knows nothing about models."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from citer_core.cli.command import flag_of, given, group, one_of, option, switch
from citer_core.cli.dataset_arguments import (
    DATA_TYPE,
    DATASET,
    PATH_HELP,
    batch_size,
    limit,
    split_arguments,
    training_rows,
)
from citer_core.cli.decoding_arguments import decoding_limits
from citer_core.cli.model_arguments import llm_server
from citer_core.cli.parser import BETWEEN_0_AND_1, whole_from
from citer_core.errors import DatasetError, SettingError

if TYPE_CHECKING:
    from citer_core.labelling.label_header import Rows

GENERATED_STREAM = "router"


def _n_rollouts(text: str) -> int | None:
    """`--rollouts` as a number; None for all.

    Raises:
        SettingError: it is neither.
    """
    if text == "all":
        return None
    if not text.isdecimal():
        raise SettingError(f'--rollouts is {text!r}: give "all" or a whole number.')
    return int(text)


# Where the rows come from, and how labels are found where one pass does not say them.
LABELLING = (
    group(
        "data",
        one_of(
            option("--dataset-path FILE", f"{PATH_HELP}, with ground truth", type=Path),
            DATASET,
            option(
                "--generated N",
                "N fresh problems of each format from the bundled pair's generator",
                allowed=whole_from(1),
            ),
            required=True,
        ),
        *split_arguments("train"),
        DATA_TYPE,
        limit(),
    ),
    group(
        "labels and rollouts",
        option(
            "--labels",
            "published: roll out where neither token is the true one; outcome: both branches where the models' tokens "
            "differ",
            "published",
            choices=("published", "outcome"),
        ),
        switch("--roll-out-case-2", "of published labels: also where only the LLM's token is true"),
        option(
            "--rollout-share S",
            "LLM tokens that a router's tau in rollouts aims at (outcome: 0.2; published: tau 0.95 instead)",
            allowed=BETWEEN_0_AND_1,
        ),
        option("--rollouts all|N", "all, or N drawn at random per example", "all", type=_n_rollouts, dest="n_rollouts"),
        option("--max-new-tokens N", "most tokens per rollout and answer", 256),
        batch_size("rollouts at once"),
        option(
            "--part-size N", "rows per part, which a stop costs at most; 1: row by row (100)", allowed=whole_from(1)
        ),
        option("--seed", "seed of all random choices", 0),
    ),
)
# How labels by outcome are read where both branches end alike.
TIES = group(
    "labels by outcome, where both branches end alike",
    option("--both-fail", "drop: leave the token out; or whom to prefer", "drop", choices=("drop", "slm", "llm")),
    option("--both-right", "the same", "slm", choices=("slm", "drop")),
)


def check_rollouts(args: argparse.Namespace) -> None:
    """Refuses what cannot be of the labels and rollouts.

    Raises:
        SettingError: it says what to leave out.
    """
    decoding_limits(args)
    llm_server(args)
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
    rows = training_rows(args, say)
    for row in rows:
        if not row.row.get("cot") and not (args.data_type == "math" and row.row.get("solution")):
            raise DatasetError(
                f"{args.dataset_path}, row {row.number} has no ground truth to label: give it a "
                '"cot", for example with `python -m citer_core make-cot`.'
            )
    return [(dict(row.row) | {"id": row.id}, args.data_type) for row in rows]


def _generated_rows(args: argparse.Namespace) -> Rows:
    from citer_core.embedded.corpus import held_out_rows
    from citer_core.embedded.publish import FORMATS, N_CARD, held_out

    for name in given(args, "split", "data_type", "limit"):
        raise SettingError(f"{flag_of(name)}: leave it out with --generated, which makes N rows of both formats.")
    rows = []
    for data_type in FORMATS:
        tested = {row["id"] for row in held_out(data_type, "test", N_CARD)}
        stream = (row for row in held_out_rows(data_type, GENERATED_STREAM) if row["id"] not in tested)
        rows += [(row, data_type) for row in islice(stream, args.generated)]
    return rows
