"""`label`: preference labels into a folder, part by part, resumable; or how right the shortcut is.

`merge-labels`: the shards of several folders become one; holes and duplicates are refused.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from citer_core.cli.command import command, option, switch, typed, whole_from
from citer_core.cli.dataset_arguments import LABELLING, check_rollouts, label_rows
from citer_core.cli.decoding_arguments import decoding_limits
from citer_core.cli.model_arguments import MODELS, ROUTER_HELP, SERVER, load_engine, router_name
from citer_core.cli.report_file import report_file
from citer_core.cli.terminal import bar, say
from citer_core.errors import SettingError
from citer_core.gate.dataclass_kind import filled
from citer_core.types import DecodeSettings

if TYPE_CHECKING:
    from citer_core.engine import Engine
    from citer_core.labelling.rollouts import Policy
    from citer_core.tasks.problems import Rows


def _shard(text: str) -> tuple[int, int]:
    """`--shard` as (which, of how many).

    Raises:
        SettingError: it is none.
    """
    i, _, n = text.partition("/")
    if not (i.isdecimal() and n.isdecimal() and 1 <= int(i) <= int(n)):
        raise SettingError(f"--shard is {text!r}: give I/N with I from 1 to N, such as 2/4.")
    return int(i), int(n)


@command(
    "label",
    "say for every true token which model should have written it",
    "Labels ground-truth tokens with the model to be preferred.",
    *LABELLING,
    option("--output-dir DIR", "a folder of its own; the same command resumes it", type=Path, required=True),
    option(
        "--rollouts-file FILE",
        "what rollouts find, without texts and states: what is there is not rolled out again, on any machine",
        type=Path,
    ),
    option("--router NAME", f"of the iteration before: {ROUTER_HELP}"),
    option("--router-threshold TAU", "its tau (0.95; that of --rollout-share if there is one)", type=float),
    option("--iteration K", "(1, with --router 2)", allowed=whole_from(1)),
    switch("--ask-slm", "also let the SLM answer alone, for query-level routers"),
    option("--shard I/N", "label only every N-th part", "1/1", type=_shard),
    option(
        "--both-branches N",
        "label nothing; roll out both models' tokens at N tokens of each case: how right is the shortcut?",
        allowed=whole_from(1),
    ),
    MODELS,
    SERVER,
    epilog="""Without --router this is iteration 1: the SLM rolls out alone (labels by outcome: the LLM does). With the
router of the iteration before, both models roll out together under it.

examples:
  python -m citer_core label --generated 1000 --output-dir labels
  python -m citer_core label --dataset gsm8k --rollouts 2 --pair SLM_DIR,LLM_DIR --output-dir labels --shard 1/4
  python -m citer_core label --generated 1000 --labels outcome --output-dir outcomes
  python -m citer_core label --generated 1000 --labels outcome --truth llm --output-dir no-answers
  python -m citer_core label --generated 200 --both-branches 300 --output-dir branches
""",
)
def label(args: argparse.Namespace) -> None:
    """Labels, or compares branches.

    Raises:
        CiterError: wrong input, before anything is loaded; or a folder that holds something else.
    """
    _check(args)
    rows = label_rows(args, say)
    engine = load_engine(args, args.router)
    if args.both_branches is not None:
        _compare_branches(args, engine, rows)
        return
    from citer_core.labelling.label_files import PART_SIZE, label_dataset, shard_starts
    from citer_core.labelling.labels import LabelSettings

    settings = filled(
        LabelSettings, args, policy=_policy(args, engine), iteration=args.iteration or (1 if args.router is None else 2)
    )
    part_size = args.part_size or PART_SIZE
    n_mine = sum(len(rows[start : start + part_size]) for start in shard_starts(len(rows), args.shard, part_size))
    with bar(None, n_mine, "row") as labelled:
        work = label_dataset(
            engine.pair,
            rows,
            args.output_dir,
            settings,
            shard=args.shard,
            part_size=part_size,
            rollouts_file=args.rollouts_file,
        )
        for n_done in work:
            labelled.update(n_done - labelled.n)
            if labelled.disable:
                say(f"labelled {n_done} of {n_mine} rows")
    _say_shares(args.output_dir, complete=args.shard[1] == 1)


@command(
    "merge-labels",
    "put the shards of several label folders into one",
    "Merges folders that `label --shard` wrote on several machines.",
    option("folders DIR", "what to merge", nargs="+", type=Path),
    option("--output-dir DIR", "where to", type=Path, required=True),
)
def merge_labels(args: argparse.Namespace) -> None:
    """Merges.

    Raises:
        DatasetError: the folders do not make one whole.
    """
    from citer_core.labelling.label_files import merge_labels

    say(f"{merge_labels(args.folders, args.output_dir)} parts are in {args.output_dir}")


def _check(args: argparse.Namespace) -> None:
    check_rollouts(args)
    if args.router_threshold is not None:
        DecodeSettings(threshold=args.router_threshold)
        if args.rollout_share is not None:
            raise SettingError("--rollout-share finds the tau that --router-threshold gives: give one of the two.")
    if args.router is None and args.rollout_share is not None:
        raise SettingError("--rollout-share: use this with --router; one model alone has no share.")
    if args.both_branches is not None and args.rollouts_file is not None:
        raise SettingError("--rollouts-file: leave it out with --both-branches, which labels nothing.")


def _say_shares(folder: Path, *, complete: bool) -> None:
    from citer_core.labelling.label_files import load_labels

    if not complete:
        say("This shard is done. When all are, `merge-labels` or `train-router` reads the folder.")
        return
    header, labels, _ = load_labels(folder)
    shares = ", ".join(f"case {case} {share:.2%}" for case, share in labels.case_shares().items())
    if header.labels == "outcome":
        words = {"both_right": "both right", "slm_only": "only the SLM's", "llm_only": "only the LLM's"}
        counts = ", ".join(f"{words.get(end, end)} {n}" for end, n in labels.outcomes().items())
        n_tried = int(labels.is_tried.sum())
        say(f"{len(labels)} tokens: {shares}; both branches of {n_tried} disagreements rolled out: {counts}")
        return
    open_ = labels.case >= (2 if header.roll_out_case_2 else 3)
    n_rolled = int((open_ & (labels.label >= 0)).sum())
    n_right = int((open_ & (labels.label == 1)).sum())
    what = "tokens of cases 2 and 3" if header.roll_out_case_2 else "case-3 tokens"
    say(f"{len(labels)} tokens: {shares}; {n_rolled} of {int(open_.sum())} {what} rolled out, {n_right} right")


def _policy(args: argparse.Namespace, engine: Engine) -> Policy:
    from citer_core.labelling.labels import policy_for
    from citer_core.labelling.rollouts import Policy

    limits = decoding_limits(args)
    router = None if args.router is None else engine.router(router_name(args.router))
    if router is not None and args.router_threshold is not None:
        return Policy(router, args.router_threshold, **limits)
    return policy_for(args.labels, router, args.rollout_share, **limits)


def _compare_branches(args: argparse.Namespace, engine: Engine, rows: Rows) -> None:
    from citer_core.evaluation.shortcut import compare_branches
    from citer_core.labelling.teacher_forcing import example_of
    from citer_core.measuring.pipeline_benchmark import about

    path = args.output_dir / "branches.json"
    with report_file(path) as store:  # before the rollouts: hours of work must find their place
        examples = [example_of(row, data_type, engine.pair) for row, data_type in rows]
        found = compare_branches(engine.pair, examples, _policy(args, engine), args.both_branches, args.seed)
        report = about(engine.pair, typed(args, "generated", "both_branches")) | found
        store(report)
        for case, entry in report["cases"].items():
            low, high = entry["interval_95"]
            say(
                f"case {case}: label right for {entry['n_right']} of {entry['n_decided']} decided tokens "
                f"({entry['share_right']:.1%}, 95% interval {low:.1%} to {high:.1%}); {entry['n_undecided']} of "
                f"{entry['n']} undecided, neither branch is right"
            )
    say(f"written to {path}")
