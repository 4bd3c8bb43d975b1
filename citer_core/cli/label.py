"""`label`: preference labels into a folder, part by part, resumable; or how right the shortcut is."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from citer_core.cli.label_arguments import add_label_arguments, check_rollouts, label_rows, n_rollouts
from citer_core.cli.model_arguments import (
    ROUTER_HELP,
    add_model_arguments,
    add_server_arguments,
    decoding_limits,
    llm_server,
    load_engine,
    router_name,
)
from citer_core.cli.report_file import report_file
from citer_core.cli.terminal import say
from citer_core.errors import SettingError
from citer_core.types import DecodeSettings

if TYPE_CHECKING:
    from citer_core.cli.command import Subparsers
    from citer_core.engine import Engine
    from citer_core.labelling.label_header import Rows
    from citer_core.labelling.rollouts import Policy

EPILOG = """Without --router this is iteration 1: the SLM rolls out alone (labels by outcome: the LLM does). With the
router of the iteration before, both models roll out together under it.

examples:
  python -m citer_core label --generated 1000 --output-dir labels
  python -m citer_core label --dataset gsm8k --rollouts 2 --pair SLM_DIR,LLM_DIR --output-dir labels --shard 1/4
  python -m citer_core label --generated 1000 --labels outcome --output-dir outcomes
  python -m citer_core label --generated 200 --both-branches 300 --output-dir branches
"""


def add_parser(subparsers: Subparsers) -> None:
    """Adds `label` and its arguments."""
    parser = subparsers.add_parser(
        "label",
        help="say for every true token which model should have written it",
        description="Labels ground-truth tokens with the model to be preferred.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_label_arguments(parser)
    parser.add_argument(
        "--output-dir", type=Path, required=True, metavar="DIR", help="a folder of its own; the same command resumes it"
    )
    parser.add_argument(
        "--rollouts-file",
        type=Path,
        metavar="FILE",
        help="what rollouts find, without texts and states: what is there is not rolled out again, on any machine",
    )
    parser.add_argument("--router", metavar="NAME", help=f"of the iteration before: {ROUTER_HELP}")
    parser.add_argument(
        "--router-threshold", type=float, metavar="TAU", help="its tau (0.95; that of --rollout-share if there is one)"
    )
    parser.add_argument("--iteration", type=int, metavar="K", help="(1, with --router 2)")
    parser.add_argument("--ask-slm", action="store_true", help="also let the SLM answer alone, for query-level routers")
    parser.add_argument("--shard", default="1/1", metavar="I/N", help="label only every N-th part (%(default)s)")
    parser.add_argument(
        "--both-branches",
        type=int,
        metavar="N",
        help="label nothing; roll out both models' tokens at N tokens of each case: how right is the shortcut?",
    )
    add_model_arguments(parser)
    add_server_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Labels, or compares branches.

    Raises:
        CiterError: wrong input, before anything is loaded; or a folder that holds something else.
    """
    shard = _shard(args.shard)
    rolled = n_rollouts(args)
    _check(args)
    rows = label_rows(args, say)
    engine = load_engine(args, args.router)
    if args.both_branches is not None:
        return _compare_branches(args, engine, rows)
    from citer_core.labelling.label_files import PART_SIZE, label_dataset, shard_starts
    from citer_core.labelling.labels import LabelSettings

    settings = LabelSettings(
        _policy(args, engine),
        args.iteration or (1 if args.router is None else 2),
        rolled,
        ask_slm=args.ask_slm,
        seed=args.seed,
        labels=args.labels,
        roll_out_case_2=args.roll_out_case_2,
    )
    part_size = args.part_size or PART_SIZE
    n_mine = sum(len(rows[start : start + part_size]) for start in shard_starts(len(rows), shard, part_size))
    with tqdm(total=n_mine, unit="row", disable=not sys.stderr.isatty()) as bar:
        work = label_dataset(
            engine.pair,
            rows,
            args.output_dir,
            settings,
            shard=shard,
            part_size=part_size,
            rollouts_file=args.rollouts_file,
        )
        for n_done in work:
            bar.update(n_done - bar.n)
            if bar.disable:
                say(f"labelled {n_done} of {n_mine} rows")
    _say_shares(args.output_dir, complete=shard[1] == 1)
    return 0


def _check(args: argparse.Namespace) -> None:
    decoding_limits(args)
    llm_server(args)
    check_rollouts(args)
    if args.router_threshold is not None:
        DecodeSettings(threshold=args.router_threshold)
        if args.rollout_share is not None:
            raise SettingError("--rollout-share finds the tau that --router-threshold gives: give one of the two.")
    if args.router is None and args.rollout_share is not None:
        raise SettingError("--rollout-share: use this with --router; one model alone has no share.")
    if args.both_branches is not None and args.rollouts_file is not None:
        raise SettingError("--rollouts-file: leave it out with --both-branches, which labels nothing.")
    for name, value in (("--iteration", args.iteration), ("--both-branches", args.both_branches)):
        if value is not None and value < 1:
            raise SettingError(f"{name} is {value}: give a whole number from 1.")


def _say_shares(folder: Path, *, complete: bool) -> None:
    from citer_core.labelling.label_files import load_labels

    if not complete:
        say("This shard is done. When all are, `merge-labels` or `train-router` reads the folder.")
        return
    header, labels, _ = load_labels(folder)
    shares = ", ".join(f"case {case} {share:.2%}" for case, share in labels.case_shares().items())
    if header.labels == "outcome":
        tried = labels.is_tried
        slm, llm = labels.slm_branch[tried] == 1, labels.llm_branch[tried] == 1
        outcomes = {
            "both right": slm & llm, "only the SLM's": slm & ~llm, "only the LLM's": llm & ~slm, "neither": ~(slm | llm)
        }  # fmt: skip
        counts = ", ".join(f"{name} {int(mask.sum())}" for name, mask in outcomes.items())
        say(f"{len(labels)} tokens: {shares}; both branches of {int(tried.sum())} disagreements rolled out: {counts}")
        return
    open_ = labels.case >= (2 if header.roll_out_case_2 else 3)
    n_rolled = int((open_ & (labels.label >= 0)).sum())
    n_right = int((open_ & (labels.label == 1)).sum())
    what = "tokens of cases 2 and 3" if header.roll_out_case_2 else "case-3 tokens"
    say(f"{len(labels)} tokens: {shares}; {n_rolled} of {int(open_.sum())} {what} rolled out, {n_right} right")


def _policy(args: argparse.Namespace, engine: Engine) -> Policy:
    from citer_core.labelling.labels import ROLLOUT_SHARES
    from citer_core.labelling.rollouts import Policy

    limits: dict[str, Any] = decoding_limits(args)
    if args.router is None:
        return Policy.llm_alone(**limits) if args.labels == "outcome" else Policy.slm_alone(**limits)
    router = engine.router(router_name(args.router))
    if args.router_threshold is not None:
        return Policy(router, args.router_threshold, **limits)
    share = ROLLOUT_SHARES[args.labels] if args.rollout_share is None else args.rollout_share
    return Policy.routed(router, share, **limits)


def _compare_branches(args: argparse.Namespace, engine: Engine, rows: Rows) -> int:
    from citer_core.evaluation.shortcut import compare_branches
    from citer_core.labelling.teacher_forcing import example_of
    from citer_core.measuring.pipeline_benchmark import about

    path = args.output_dir / "branches.json"
    with report_file(path) as store:  # before the rollouts: hours of work must find their place
        examples = [example_of(row, data_type, engine.pair) for row, data_type in rows]
        of = f" --generated {args.generated}" if args.generated is not None else ""
        report = about(
            engine.pair, f"python -m citer_core label{of} --both-branches {args.both_branches}"
        ) | compare_branches(engine.pair, examples, _policy(args, engine), args.both_branches, args.seed)
        store(report)
        for case, entry in report["cases"].items():
            low, high = entry["interval_95"]
            say(
                f"case {case}: label right for {entry['n_right']} of {entry['n_decided']} decided tokens "
                f"({entry['share_right']:.1%}, 95% interval {low:.1%} to {high:.1%}); {entry['n_undecided']} of "
                f"{entry['n']} undecided, neither branch is right"
            )
    say(f"written to {path}")
    return 0


def _shard(text: str) -> tuple[int, int]:
    i, _, n = text.partition("/")
    if not (i.isdecimal() and n.isdecimal() and 1 <= int(i) <= int(n)):
        raise SettingError(f"--shard is {text!r}: give I/N with I from 1 to N, such as 2/4.")
    return int(i), int(n)
