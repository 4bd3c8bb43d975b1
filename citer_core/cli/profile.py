"""`profile`: is routing worth it with this pair on this device? Measures, concludes in words, writes JSON."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from citer_core.cli.model_arguments import add_model_arguments, load_engine
from citer_core.cli.report_file import report_file
from citer_core.cli.tables import text_table
from citer_core.cli.terminal import say
from citer_core.errors import SettingError
from citer_core.measuring.profile_words import headline, provenance, sentences, tables

if TYPE_CHECKING:
    from citer_core.cli.command import Subparsers
    from citer_core.engine import Engine
    from citer_core.labelling.teacher_forcing import Example
    from citer_core.measuring.profile_numbers import Profile


def add_parser(subparsers: Subparsers) -> None:
    """Adds `profile` and its arguments."""
    parser = subparsers.add_parser(
        "profile",
        help="is routing worth it on this device?",
        description="Measures what a pass of each model costs here, how often the two agree and what the router takes; "
        "says up to which LLM share routing saves time and bytes, and checks that against real decoding.",
        allow_abbrev=False,
    )
    parser.add_argument("--quick", action="store_true", help="fewer passes, contexts and problems")
    parser.add_argument("--dataset-path", type=Path, metavar="FILE", help="ground truths to compare the models on")
    parser.add_argument(
        "--data-type", choices=("math", "mc"), default="math", help="format of --dataset-path (%(default)s)"
    )
    parser.add_argument("--limit", type=int, default=80, metavar="N", help="rows of --dataset-path (%(default)s)")
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of the tokens and the choice of problems (%(default)s)"
    )
    parser.add_argument("--output-file", type=Path, metavar="OUT", help="store the profile here as JSON")
    parser.add_argument("--json", action="store_true", help="print the profile as JSON instead of words")
    add_model_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Measures, prints and stores.

    Raises:
        CiterError: wrong arguments, or a pair or data set that cannot be read.
    """
    if args.limit < 1:
        raise SettingError(f"--limit is {args.limit}: give a whole number from 1.")
    with report_file(args.output_file) as store:
        profile = _measure(args, load_engine(args))
        text = store(profile.as_json())
        sys.stdout.write(text if args.json else report(profile))  # also where it could not be stored
    return 0


def report(profile: Profile) -> str:
    """The profile for a person: the answer, the numbers, the reasons."""
    blocks = [f"{profile.pair}: {headline(profile)}"]
    blocks += [f"{table.title}\n{text_table(table.head, table.rows)}" for table in tables(profile)]
    blocks += ["\n".join(f"- {sentence}" for sentence in sentences(profile)), provenance(profile)]
    return "\n\n".join(blocks) + "\n"


def _measure(args: argparse.Namespace, engine: Engine) -> Profile:
    from citer_core.measuring.profile import profile_pair
    from citer_core.measuring.profile_numbers import ProfilePlan

    plan = ProfilePlan.quick(args.seed) if args.quick else ProfilePlan(seed=args.seed)
    examples = _examples(args, engine)
    data = "bundled" if examples is None else args.dataset_path.name
    steps = profile_pair(engine, plan, examples, command=_command(args), data=data)
    doing = ""
    while True:
        try:
            progress = next(steps)
        except StopIteration as stop:
            measured: Profile = stop.value
            return measured
        part = progress.doing.split(",")[0]  # one line for each part, not for each round
        if part != doing:
            doing = part
            say(f"{progress.done:4.0%}  {doing}")


def _examples(args: argparse.Namespace, engine: Engine) -> list[Example] | None:
    if args.dataset_path is None:
        return None
    from citer_core.labelling.teacher_forcing import example_of
    from citer_core.tasks.datasets import read_rows

    rows = list(read_rows(args.dataset_path, args.data_type))[: args.limit]
    return [example_of(row.row, args.data_type, engine.pair) for row in rows]


def _command(args: argparse.Namespace) -> str:
    """The command that measures the same again; folders by their names only, as they are nobody else's."""
    words = ["python -m citer_core profile"]
    if args.pair != "embedded":
        words.append(f"--pair {','.join(Path(part).name for part in args.pair.split(','))}")
    words += [
        f"--{name} {value}"
        for name, value in (("dtype", args.dtype), ("device", args.device))
        if value not in ("float32", "cpu")
    ]
    if args.dataset_path is not None:
        words.append(f"--dataset-path {args.dataset_path.name} --data-type {args.data_type} --limit {args.limit}")
    words += ["--quick"] * args.quick + [f"--seed {args.seed}"] * (args.seed != 0)
    words += [f"--threads {args.threads}"] * (args.threads is not None)
    return " ".join(words)
