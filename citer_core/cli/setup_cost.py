"""`setup-cost`: what routing costs before the first answer, for a pair with a data set of its own."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

from citer_core.cli.dataset_arguments import (
    PATH_HELP,
    add_training_dataset_arguments,
    problems_digest,
    problems_with_answers,
)
from citer_core.cli.label_arguments import training_rows_with_truth
from citer_core.cli.model_arguments import add_model_arguments, decoding_limits, load_engine
from citer_core.cli.terminal import say
from citer_core.errors import SettingError
from citer_core.models.presets import PRESETS

if TYPE_CHECKING:
    from citer_core.cli.command import Subparsers

MOST_NAME, MOST_COMMAND = 60, 450  # characters that the stored part has room for
EPILOG = """The first --limit rows are labelled once more with models that count their passes, every router is trained
once more from its folder of labels, and tau is looked for on the tuning problems. The same command resumes.

example:
  python -m citer_core setup-cost --pair SLM_DIR,LLM_DIR --dataset-path train.jsonl --limit 10 \\
      --tuning-path tune.jsonl --labels citer=labels citer-2=labels-2 --problems CommonsenseQA --work-dir work \\
      --output-dir evidence
"""


def add_parser(subparsers: Subparsers) -> None:
    """Adds `setup-cost` and its arguments."""
    parser = subparsers.add_parser(
        "setup-cost",
        help="what labelling, training and tuning cost",
        description="Counts what it takes to set routing up on a data set: seconds, bytes and FLOPs.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_training_dataset_arguments(parser)
    parser.add_argument("--tuning-path", type=Path, required=True, metavar="FILE", help=f"{PATH_HELP}, for tau")
    parser.add_argument(
        "--labels", nargs="+", required=True, metavar="NAME=DIR",
        help="folders that `label` wrote, by the router that learns from them: citer=labels citer-2=labels-2",
    )  # fmt: skip
    parser.add_argument("--problems", required=True, metavar="NAME", help="what these problems are called")
    parser.add_argument("--share", type=float, default=0.1, metavar="S", help="LLM tokens aimed at (%(default)s)")
    parser.add_argument("--max-new-tokens", type=int, default=256, metavar="N", help="of an answer (%(default)s)")
    parser.add_argument("--batch-size", type=int, default=32, metavar="N", help="texts at once (%(default)s)")
    parser.add_argument("--work-dir", type=Path, required=True, metavar="DIR", help="routers, and what is known")
    parser.add_argument("--output-dir", type=Path, required=True, metavar="DIR", help="for setup.json")
    add_model_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Measures, and says where the result is.

    Raises:
        CiterError: wrong input, before anything is loaded; or a folder that cannot be written.
    """
    folders = _folders(args)
    limits = decoding_limits(args)
    if not 0 < args.share < 1:
        raise SettingError(f"--share is {args.share}: give a number between 0 and 1.")
    if not 1 <= len(args.problems) <= MOST_NAME:
        raise SettingError(f"--problems has {len(args.problems):,} characters: give 1 to {MOST_NAME}.")
    if len(_command(args)) > MOST_COMMAND:
        raise SettingError(
            "The names of the folders of --labels are too long to be told with the result: shorten them."
        )
    rows = training_rows_with_truth(args, say)
    tuning = problems_with_answers(args.tuning_path, args.data_type, None)
    from citer_core.evidence.own_setup import headers_of, set_up_from
    from citer_core.evidence.setup_cost import setup_cost
    from citer_core.evidence.stored import StoredPart
    from citer_core.files import need_folder
    from citer_core.row_file import RowFile
    from citer_core.tasks.problem_set import ProblemSet

    headers_of(folders)
    for folder in (args.work_dir, args.output_dir):
        need_folder(folder)
    engine = load_engine(args)
    start = time.perf_counter()
    what = set_up_from(
        engine.pair,
        folders,
        rows,
        ProblemSet("tuning", args.data_type, tuple(tuning)),
        args.work_dir,
        say=say,
        **limits,
    )
    identity = {
        "pair_revision": engine.pair_info.revision,
        "routers": {name: router.revision for name, (router, _) in what.trained.items()},
        "counted": problems_digest([example.problem for example in what.examples]),
        "tuning": problems_digest(tuning),
        "share": args.share,
        **limits,
    }
    with RowFile(args.work_dir / "setup.jsonl", identity) as known:
        content = setup_cost(engine, what, args.share, say, known) | {"kinds": [args.problems]}
    stored = StoredPart.measured(
        "setup",
        engine.pair_info,
        title=f"{engine.pair_info.name}, {args.problems}",
        command=_command(args),
        plan={"n_counted": [len(rows)], "n_tuning": [len(tuning)], **{name: [value] for name, value in limits.items()}},
        seconds=time.perf_counter() - start,
        content=content,
    )
    say(f"written to {stored.write(args.output_dir)}")
    return 0


def _folders(args: argparse.Namespace) -> dict[str, Path]:
    """The folder of labels of every router."""
    folders: dict[str, Path] = {}
    for text in args.labels:
        name, _, folder = text.partition("=")
        if not name or not folder or Path(name).name != name:
            raise SettingError(f"--labels has {text!r}: give a router and its folder, as in citer=labels.")
        if name in folders:
            raise SettingError(f'--labels has "{name}" twice: give each router once.')
        folders[name] = Path(folder)
    return folders


def _command(args: argparse.Namespace) -> str:
    """What measures this again, without the places of files."""
    names = " ".join(f"{name}={folder.absolute().name}" for name, folder in _folders(args).items())
    pair = "" if args.pair == "embedded" else f" --pair {args.pair if args.pair in PRESETS else 'SLM,LLM'}"
    dtype = "" if args.dtype == "float32" else f" --dtype {args.dtype}"
    limit = "" if args.limit is None else f" --limit {args.limit}"
    return (
        f"python -m citer_core setup-cost --labels {names} --problems {args.problems}{limit} --share {args.share:g} "
        f"--max-new-tokens {args.max_new_tokens} --batch-size {args.batch_size}{pair}{dtype}"
    )
