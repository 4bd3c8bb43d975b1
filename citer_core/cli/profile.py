"""`profile`: is routing worth it with this pair on this device? Measures, concludes in words, writes JSON."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from citer_core.cli.command import command, option, switch, typed, whole_from
from citer_core.cli.model_arguments import MODELS, load_engine
from citer_core.cli.report_file import report_file
from citer_core.cli.terminal import say, text_table
from citer_core.measuring.profile_words import headline, provenance, sentences, tables
from citer_core.types import WithResult

if TYPE_CHECKING:
    from citer_core.engine import Engine
    from citer_core.labelling.teacher_forcing import Example
    from citer_core.measuring.profile_numbers import Profile


@command(
    "profile",
    "is routing worth it on this device?",
    "Measures what a pass of each model costs here, how often the two agree and what the router takes; says up to "
    "which LLM share routing saves time and bytes, and checks that against real decoding.",
    switch("--quick", "fewer passes, contexts and problems"),
    option("--dataset-path FILE", "ground truths to compare the models on", type=Path),
    option("--data-type", "format of --dataset-path", "math", choices=("math", "mc")),
    option("--limit N", "rows of --dataset-path", 80, allowed=whole_from(1)),
    option("--seed", "seed of the tokens and the choice of problems", 0),
    option("--output-file OUT", "store the profile here as JSON", type=Path),
    switch("--json", "print the profile as JSON instead of words"),
    MODELS,
)
def profile(args: argparse.Namespace) -> None:
    """Measures, prints and stores.

    Raises:
        CiterError: wrong arguments, or a pair or data set that cannot be read.
    """
    with report_file(args.output_file) as store:
        measured = _measure(args, load_engine(args))
        text = store(measured.as_json())
        sys.stdout.write(text if args.json else _report(measured))  # also where it could not be stored


def _report(profile: Profile) -> str:
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
    file = args.dataset_path and args.dataset_path.name
    asked = typed(
        args,
        *("pair", "dtype", "device", "dataset_path", "data_type", "limit", "quick", "seed", "threads"),
        pair=",".join(Path(part).name for part in args.pair.split(",")),
        dataset_path=file,
    )
    steps = WithResult(profile_pair(engine, plan, examples, command=asked, data=file or "bundled"))
    doing = ""
    for progress in steps:
        part = progress.doing.split(",")[0]  # one line for each part, not for each round
        if part != doing:
            doing = part
            say(f"{progress.done:4.0%}  {doing}")
    return steps.result


def _examples(args: argparse.Namespace, engine: Engine) -> list[Example] | None:
    if args.dataset_path is None:
        return None
    from citer_core.labelling.teacher_forcing import example_of
    from citer_core.tasks.datasets import read_rows

    rows = list(read_rows(args.dataset_path, args.data_type))[: args.limit]
    return [example_of(row.row, args.data_type, engine.pair) for row in rows]
