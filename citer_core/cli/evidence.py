"""`evidence`: measures what the paper claims and its reviewers asked, part by part, resumable; stores rows as JSON.

`setup-cost`: what routing costs before the first answer, for a pair with a data set of its own.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

from citer_core.cli.command import BETWEEN_0_AND_1, Allowed, command, flag_of, given, option, switch, typed, whole_from
from citer_core.cli.dataset_arguments import (
    PATH_HELP,
    TRAINING_DATA,
    batch_size,
    problems_with_answers,
    training_rows_with_truth,
)
from citer_core.cli.decoding_arguments import decoding_limits
from citer_core.cli.model_arguments import MODELS, load_engine, pair_to_tell
from citer_core.cli.terminal import say
from citer_core.errors import SettingError
from citer_core.evidence.part_tables import PARTS
from citer_core.files import need_folder
from citer_core.tasks.problem_set import ProblemSet

SIZES = {
    "n_test": "problems of each format that are answered (1000)",
    "n_tuning": "problems of each format that tau is found on (200)",
    "n_labelled": "problems of each format with labels (3200)",
    "n_rounds": "rounds of published labels (4)",
    "n_branches": "tokens of each case whose both branches are tried (500)",
    "n_branch_problems": "problems of each format that these are drawn from (600)",
    "n_flipped": "problems of each format whose decisions are flipped (300)",
    "n_grid": "problems of each format at every point of look-back's two dials (200)",
    "n_timed": "problems of each format that are answered one at a time in every way (100)",
    "n_setup": "problems of each format whose labelling is counted (100)",
}
# Labelled and tuning problems are none of the first 1,000 that are tested on.
MOST = {"n_test": 1000, "n_rounds": 10}
MOST_PROBLEMS, MOST_SEED = 20_000, 10**6
MOST_NAME, MOST_COMMAND = 60, 450  # characters that the stored part has room for


@command(
    "evidence",
    "measure what the paper claims and its reviewers asked",
    "Measures every router of a pair of the bundled kind on fresh generated problems, and what goes into it. The same "
    "command resumes.",
    option("--parts PART", "one or more of them (all)", nargs="+", choices=PARTS),
    option("--work-dir DIR", "labels, routers and answers", type=Path, required=True),
    option("--output-dir DIR", "one JSON file per part", type=Path, required=True),
    option("--title", "of what is measured, for people", "Bundled pair"),
    *(
        option(f"{flag_of(name)} N", text, allowed=whole_from(1, MOST.get(name, MOST_PROBLEMS)))
        for name, text in SIZES.items()
    ),
    option("--seeds SEED", "of the training of routers (0 1)", type=int, nargs="+"),
    option("--shares S", "of LLM tokens (0.03 0.05 0.1 0.15 0.2 0.3)", type=float, nargs="+"),
    option("--truth-sizes N", "labelled problems of each router of `truths` (50 100 200 400)", type=int, nargs="+"),
    option("--truth-shares S", "of LLM tokens, at which those are (0.02 0.05 0.1)", type=float, nargs="+"),
    switch(
        "--take-shipped",
        "take the pair's own routers as those of the first seed, where they are of the same problems and labels",
    ),
    option(
        "--workers N", "processes, 1 or 2", 1, allowed=Allowed(lambda n: n in (1, 2), "1 or 2; there are two formats")
    ),
    MODELS,
    epilog="parts, in this order:\n" + "\n".join(f"  {name:11}{text}" for name, text in PARTS.items()),
)
def evidence(args: argparse.Namespace) -> None:
    """Measures the parts and says where each one's result is.

    Raises:
        CiterError: wrong arguments, or a folder of another measurement.
    """
    seeds, shares = args.seeds or (), args.shares or ()
    if not all(0 <= seed < MOST_SEED for seed in seeds) or len(set(seeds)) < len(seeds):
        raise SettingError(f"--seeds: give different whole numbers from 0 to {MOST_SEED - 1:,}.")
    for flag, given_shares in (("--shares", shares), ("--truth-shares", args.truth_shares or ())):
        if not all(BETWEEN_0_AND_1.holds(share) for share in given_shares):
            raise SettingError(f"{flag}: give numbers between 0 and 1.")
    if not all(1 <= size <= MOST_PROBLEMS for size in args.truth_sizes or ()):
        raise SettingError(f"--truth-sizes: give whole numbers from 1 to {MOST_PROBLEMS:,}.")
    from citer_core.evidence.measure import Measurement, measure
    from citer_core.evidence.plan import EvidencePlan

    several = ("seeds", "shares", "truth_sizes", "truth_shares")
    names = [*SIZES, *several]
    sizes: dict[str, Any] = {name: getattr(args, name) for name in given(args, *names)}
    asked = Measurement(
        load=partial(load_engine, args),
        plan=EvidencePlan(**sizes | {name: tuple(sizes[name]) for name in several if name in sizes}),
        work=args.work_dir,
        output=args.output_dir,
        title=args.title,
        command=typed(args, *names, "take_shipped", "pair", "dtype", pair=pair_to_tell(args)),
        n_workers=args.workers,
        takes_shipped=args.take_shipped,
    )
    for path in measure(asked, args.parts or PARTS, say):
        say(f"written to {path}")


@command(
    "setup-cost",
    "what labelling, training and tuning cost",
    "Counts what it takes to set routing up on a data set: seconds, bytes and FLOPs.",
    TRAINING_DATA,
    option("--tuning-path FILE", f"{PATH_HELP}, for tau", type=Path, required=True),
    option(
        "--labels NAME=DIR",
        "folders that `label` wrote, by the router that learns from them: citer=labels citer-2=labels-2",
        nargs="+",
        required=True,
    ),
    option("--problems NAME", "what these problems are called", required=True),
    option("--share S", "LLM tokens aimed at", 0.1, allowed=BETWEEN_0_AND_1),
    option("--max-new-tokens N", "of an answer", 256),
    batch_size("texts at once"),
    option("--work-dir DIR", "routers, and what is known", type=Path, required=True),
    option("--output-dir DIR", "for setup.json", type=Path, required=True),
    MODELS,
    epilog="""The first --limit rows are labelled once more with models that count their passes, every router is trained
once more from its folder of labels, and tau is looked for on the tuning problems. The same command resumes.

example:
  python -m citer_core setup-cost --pair SLM_DIR,LLM_DIR --dataset-path train.jsonl --limit 10 \\
      --tuning-path tune.jsonl --labels citer=labels citer-2=labels-2 --problems CommonsenseQA --work-dir work \\
      --output-dir evidence
""",
)
def setup_cost(args: argparse.Namespace) -> None:
    """Measures, and says where the result is.

    Raises:
        CiterError: wrong input, before anything is loaded; or a folder that cannot be written.
    """
    folders = _folders(args)
    limits = decoding_limits(args)
    if not 1 <= len(args.problems) <= MOST_NAME:
        raise SettingError(f"--problems has {len(args.problems):,} characters: give 1 to {MOST_NAME}.")
    asked = typed(
        args,
        *("labels", "problems", "limit", "share", "max_new_tokens", "batch_size", "pair", "dtype"),
        always=("share", "max_new_tokens", "batch_size"),
        labels=[f"{name}={folder.absolute().name}" for name, folder in folders.items()],
        pair=pair_to_tell(args),
    )
    if len(asked) > MOST_COMMAND:
        raise SettingError(
            "The names of the folders of --labels are too long to be told with the result: shorten them."
        )
    rows = training_rows_with_truth(args, say)
    tuning = ProblemSet("tuning", args.data_type, tuple(problems_with_answers(args.tuning_path, args.data_type, None)))
    from citer_core.evidence.own_setup import headers_of, measured_setup

    headers_of(folders)
    for folder in (args.work_dir, args.output_dir):
        need_folder(folder)
    stored = measured_setup(
        load_engine(args),
        folders,
        rows,
        tuning,
        args.work_dir,
        share=args.share,
        title=args.problems,
        command=asked,
        say=say,
        **limits,
    )
    say(f"written to {stored.write(args.output_dir)}")


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
