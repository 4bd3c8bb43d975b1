"""`--dataset NAME[:SPLIT]` beside `--dataset-path FILE`: the arguments of every command that reads a data set.

A named set is found, or fetched, only when `use_named_dataset` is called: after everything else about the arguments
has been checked. `LABELLING`: the rows and rollouts of commands that label. Knows nothing about models.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from citer_core.cli.command import (
    BETWEEN_0_AND_1,
    Argument,
    flag_of,
    given,
    group,
    one_of,
    option,
    switch,
    whole_from,
)
from citer_core.cli.decoding_arguments import decoding_limits
from citer_core.cli.model_arguments import llm_server
from citer_core.errors import DatasetError, SettingError
from citer_core.tasks.dataset_cache import parse_spec, resolve_dataset
from citer_core.tasks.datasets import NumberedRow, read_rows, validate_rows
from citer_core.tasks.hub_datasets import HUB_DATASETS, refuse_test_rows

if TYPE_CHECKING:
    from citer_core.tasks.problems import Problem, Rows
    from citer_core.tasks.prompts import DataType

N_ERRORS_SHOWN = 5
GENERATED_STREAM = "router"
PATH_HELP = "a JSON Lines file in an official format"


DATASET_PATH = option("--dataset-path FILE", PATH_HELP, type=Path)
DATASET = option("--dataset NAME[:SPLIT]", f"a data set by its name, fetched once: {', '.join(HUB_DATASETS)}")
DATA_TYPE = option("--data-type", "format of --dataset-path (math); --dataset knows its own", choices=("math", "mc"))


def split_arguments(default_split: str) -> tuple[Argument, ...]:
    """What goes with `--dataset`; the default is shown, not set, so that a stray `--split` can be refused."""
    return (
        option("--split SPLIT", f"of --dataset ({default_split})"),
        option("--dataset-cache DIR", "copies of --dataset ($CITER_CACHE/datasets)", type=Path),
    )


def limit(rows: str = "rows") -> Argument:
    """`--limit`."""
    allowed = whole_from(1, more=f", or leave it out for all {rows}")
    return option("--limit N", f"only the first N {rows}", allowed=allowed)


def batch_size(about: str, default: int = 32) -> Argument:
    """`--batch-size`."""
    return option("--batch-size N", about, default, allowed=whole_from(1))


# The data set of a training command: one source, its type, and a limit.
TRAINING_DATA = group(
    "data", one_of(DATASET_PATH, DATASET, required=True), *split_arguments("train"), DATA_TYPE, limit()
)


def use_named_dataset(args: argparse.Namespace, default_split: str, say: Callable[[str], None]) -> None:
    """Puts the named set's file and type into `args.dataset_path` and `args.data_type`; without one, only the type.

    Raises:
        SettingError: `--split` or another `--data-type` than the set's own.
        DatasetError: see `resolve_dataset`.
    """
    if args.dataset is None:
        if args.split is not None:
            raise SettingError("--split: use this with --dataset; a file is one split.")
        args.data_type = args.data_type or "math"
        return
    dataset, _ = parse_spec(args.dataset, args.split, default_split)
    if args.data_type not in (None, dataset.data_type):
        raise SettingError(f"{dataset.name} is of the type {dataset.data_type}: leave out --data-type.")
    args.dataset_path, args.data_type = resolve_dataset(
        args.dataset, args.split, default_split=default_split, cache=args.dataset_cache, say=say
    )


def training_rows(args: argparse.Namespace, say: Callable[[str], None]) -> list[NumberedRow]:
    """The rows of a training command, validated as a whole; never those of a named set's test split.

    Raises:
        CiterError: wrong arguments, a bad row or a test row; nothing was loaded then.
    """
    if args.dataset is not None:
        dataset, split = parse_spec(args.dataset, args.split, "train")
        if split == "test":
            raise DatasetError(f"{dataset.name}:test is for tests, nothing may be trained on it: use the split train.")
    use_named_dataset(args, "train", say)
    refuse_bad_rows(validate_rows(args.dataset_path, args.data_type), "Correct them.")
    rows = list(read_rows(args.dataset_path, args.data_type))
    refuse_test_rows(row.id for row in rows)
    return rows[: args.limit]


def problems_with_answers(path: Path, data_type: DataType, limit: int | None) -> list[Problem]:
    """The problems of a file that accuracy can be measured on.

    Raises:
        DatasetError: a bad row, one without a known answer, or none at all.
    """
    rows = list(read_rows(path, data_type))[:limit]
    unknown = [row.number for row in rows if row.problem.true_answer is None]
    if unknown:
        raise DatasetError(f"{path}, row {unknown[0]} has no known answer, so accuracy cannot be measured on it.")
    if not rows:
        raise DatasetError(f"{path} has no rows.")
    return [row.problem for row in rows]


def refuse_bad_rows(errors: Sequence[DatasetError], advice: str) -> None:
    """Raises the first few of a file's errors as one.

    Raises:
        DatasetError: there is an error.
    """
    if errors:
        shown = "\n".join(f"  {error}" for error in errors[:N_ERRORS_SHOWN])
        more = f"\n  ... and {len(errors) - N_ERRORS_SHOWN} more" if len(errors) > N_ERRORS_SHOWN else ""
        raise DatasetError(f"{len(errors)} bad row(s), nothing was run:\n{shown}{more}\n{advice}")


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
            option("--dataset-path FILE", f"{PATH_HELP}, with ground truth unless --truth says otherwise", type=Path),
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
        option(
            "--truth",
            "whose text is labelled. gold: the row's own; llm: the LLM's answer, for rows without one; walk: the same "
            "with every SLM token put in that keeps what it comes to",
            "gold",
            choices=("gold", "llm", "walk"),
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
    return training_rows_with_truth(args, say, args.truth)


def training_rows_with_truth(args: argparse.Namespace, say: Callable[[str], None], truth: str = "gold") -> Rows:
    """The rows of a data set with their format; where it is the gold text that is labelled, each with one.

    Raises:
        CiterError: wrong arguments, or a bad row; nothing was loaded then.
    """
    rows = training_rows(args, say)
    for row in rows if truth == "gold" else ():
        if not row.row.get("cot") and not (args.data_type == "math" and row.row.get("solution")):
            raise DatasetError(
                f"{args.dataset_path}, row {row.number} has no ground truth to label: give it a "
                '"cot", for example with `python -m citer_core make-cot`, or label the LLM\'s own text: --truth llm.'
            )
    return [(dict(row.row) | {"id": row.id}, args.data_type) for row in rows]


def _generated_rows(args: argparse.Namespace) -> Rows:
    from citer_core.embedded.publish import FORMATS, held_out, tested

    for name in given(args, "split", "data_type", "limit"):
        raise SettingError(f"{flag_of(name)}: leave it out with --generated, which makes N rows of both formats.")
    rows = []
    for data_type in FORMATS:
        rows += [(row, data_type) for row in held_out(data_type, GENERATED_STREAM, args.generated, tested())]
    return rows
