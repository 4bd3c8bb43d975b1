"""`evidence`: measures what the paper claims and its reviewers asked, part by part, resumable; stores rows as JSON."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citer_core.cli.model_arguments import add_model_arguments, load_engine
from citer_core.cli.terminal import say
from citer_core.errors import SettingError
from citer_core.models.presets import PRESETS

if TYPE_CHECKING:
    from citer_core.cli.command import Subparsers
    from citer_core.evidence.plan import EvidencePlan

PARTS = {
    "routers": "labels of every round and kind, and the routers that learn from them",
    "accuracy": "every router at the same shares of LLM tokens, and the oracles",
    "shortcut": "how right the labels are: both branches rolled out",
    "misjudged": "what each wrong decision costs: flipped one at a time",
    "transfer": "routers of one format on the other",
    "overhead": "what a router and a change of the model cost",
    "length": "right answers by the length of question and answer",
    "speculative": "speculative decoding; and every way one answer at a time",
    "setup": "what labelling, training and tuning cost",
}
EPILOG = "parts, in this order:\n" + "\n".join(f"  {name:11}{text}" for name, text in PARTS.items())
SIZES = {
    "--n-test": "problems of each format that are answered (1000)",
    "--n-tuning": "problems of each format that tau is found on (200)",
    "--n-labelled": "problems of each format with labels (2000)",
    "--n-rounds": "rounds of published labels (4)",
    "--n-branches": "tokens of each case whose both branches are tried (500)",
    "--n-branch-problems": "problems of each format that these are drawn from (600)",
    "--n-flipped": "problems of each format whose decisions are flipped (300)",
    "--n-timed": "problems of each format that are answered one at a time in every way (100)",
    "--n-setup": "problems of each format whose labelling is counted (100)",
}
# Labelled and tuning problems are none of the first 1,000 that are tested on.
MOST = {"--n-test": 1000, "--n-rounds": 10}
MOST_PROBLEMS, MOST_SEED = 20_000, 10**6


def add_parser(subparsers: Subparsers) -> None:
    """Adds `evidence` and its arguments."""
    parser = subparsers.add_parser(
        "evidence",
        help="measure what the paper claims and its reviewers asked",
        description="Measures every router of a pair of the bundled kind on fresh generated problems, and what goes "
        "into it. The same command resumes.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--parts", nargs="+", choices=PARTS, metavar="PART", help="one or more of them (all)")
    parser.add_argument("--work-dir", type=Path, required=True, metavar="DIR", help="labels, routers and answers")
    parser.add_argument("--output-dir", type=Path, required=True, metavar="DIR", help="one JSON file per part")
    parser.add_argument("--title", default="Bundled pair", help="of what is measured, for people (%(default)s)")
    for flag, text in SIZES.items():
        parser.add_argument(flag, type=int, metavar="N", help=text)
    parser.add_argument("--seeds", type=int, nargs="+", metavar="SEED", help="of the training of routers (0 1)")
    parser.add_argument(
        "--shares", type=float, nargs="+", metavar="S", help="of LLM tokens (0.03 0.05 0.1 0.15 0.2 0.3)"
    )
    parser.add_argument(
        "--take-shipped",
        action="store_true",
        help="take the pair's own routers as those of the first seed, where they are of the same problems and labels",
    )
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="processes, 1 or 2 (%(default)s)")
    add_model_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Measures the parts and says where each one's result is.

    Raises:
        CiterError: wrong arguments, or a folder of another measurement.
    """
    plan = _plan(args)
    from citer_core.evidence.measure import Measurement, measure

    asked = Measurement(
        load=partial(load_engine, args),
        plan=plan,
        work=args.work_dir,
        output=args.output_dir,
        title=args.title,
        command=f"python -m citer_core evidence{_given(args)}",
        n_workers=args.workers,
        takes_shipped=args.take_shipped,
    )
    for path in measure(asked, args.parts or list(PARTS), say):
        say(f"written to {path}")
    return 0


def _plan(args: argparse.Namespace) -> EvidencePlan:
    from citer_core.evidence.plan import EvidencePlan

    if args.workers not in (1, 2):
        raise SettingError(f"--workers is {args.workers}: give 1 or 2; there are two formats.")
    given: dict[str, Any] = {}
    for flag in SIZES:
        name = flag[2:].replace("-", "_")
        value = getattr(args, name)
        if value is None:
            continue
        most = MOST.get(flag, MOST_PROBLEMS)
        if not 1 <= value <= most:
            raise SettingError(f"{flag} is {value}: give a whole number from 1 to {most:,}.")
        given[name] = value
    if args.seeds is not None:
        if not all(0 <= seed < MOST_SEED for seed in args.seeds) or len(set(args.seeds)) < len(args.seeds):
            raise SettingError(f"--seeds: give different whole numbers from 0 to {MOST_SEED - 1:,}.")
        given["seeds"] = tuple(args.seeds)
    if args.shares is not None:
        if not all(0 < share < 1 for share in args.shares):
            raise SettingError("--shares: give numbers between 0 and 1.")
        given["shares"] = tuple(args.shares)
    return EvidencePlan(**given)


def _given(args: argparse.Namespace) -> str:
    """The sizes that were given, as they are typed."""
    names = {flag: getattr(args, flag[2:].replace("-", "_")) for flag in SIZES}
    sizes = "".join(f" {flag} {value}" for flag, value in names.items() if value is not None)
    lists = {"--seeds": args.seeds, "--shares": args.shares}
    more = "".join(f" {flag} {' '.join(map(str, values))}" for flag, values in lists.items() if values is not None)
    taken = " --take-shipped" if args.take_shipped else ""
    pair = "" if args.pair == "embedded" else f" --pair {args.pair if args.pair in PRESETS else 'SLM,LLM'}"
    dtype = "" if args.dtype == "float32" else f" --dtype {args.dtype}"
    return sizes + more + taken + pair + dtype
