"""`make-cot`: writes rows with chains of thought that the pair's LLM found, resumable, one row at a time.

    OUT.jsonl           the rows that have a chain now, ready for `finetune` and for labels
    OUT.failed.jsonl    the others by id, with the reason, so that the next run does not try them again

Rows are validated and both files are opened before a model is loaded.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citer_core.cli.command import command, group, option
from citer_core.cli.dataset_arguments import TRAINING_DATA, training_rows
from citer_core.cli.model_arguments import MODELS, model_identity, show_what_takes_long
from citer_core.cli.terminal import say
from citer_core.config import pair_options
from citer_core.errors import DatasetError
from citer_core.gate.dataclass_kind import filled
from citer_core.row_file import RowFile
from citer_core.tasks.datasets import NumberedRow
from citer_core.tasks.prompts import PROMPT_VERSION

if TYPE_CHECKING:
    from citer_core.training.make_cot import CotOutcome, CotSettings


@command(
    "make-cot",
    "write chains of thought for rows that have none",
    "Samples chains of thought from the pair's LLM and keeps those whose answer is right.",
    TRAINING_DATA,
    option("--output-file OUT", "JSON Lines; the same command resumes it", type=Path, required=True),
    MODELS,
    group(
        "sampling",
        option("--n-samples N", "samples per row at most", 4),
        option("--temperature", "above 0", 0.8),
        option("--top-p", default=0.95),
        option("--seed", default=0),
        option("--max-new-tokens N", "most tokens per sample", 512),
        option("--batch-size N", "rows at once", 32),
    ),
    epilog="""example:
  python -m citer_core make-cot --pair SLM_FOLDER,LLM_FOLDER --device cuda --dtype bfloat16 \\
      --dataset cqa --split train --output-file cqa-cot.jsonl

A row that has a chain already (the field "cot") is taken over as it is.
""",
)
def make_cot(args: argparse.Namespace) -> None:
    """Makes the chains that are missing.

    Raises:
        CiterError: wrong input, before anything is loaded; or a file that can no longer be written.
    """
    from citer_core.training.make_cot import CotSettings

    settings = filled(CotSettings, args)
    rows = training_rows(args, say)
    identity = _identity(args, settings)
    failed_path = args.output_file.with_name(f"{args.output_file.stem}.failed.jsonl")
    with (
        RowFile(args.output_file, identity) as output,
        RowFile(failed_path, {**identity, "part": "failed"}, {"reason": str}) as failed,
    ):
        _refuse_changed_rows(rows, output)
        if output.rows or failed.rows:
            say(f"resuming {output.path}: {len(output.rows)} rows are done, {len(failed.rows)} have failed before")
        _settle_without_model(rows, output, failed)
        to_sample = [row for row in rows if not row.row.get("cot") and row.problem.true_answer is not None]
        if any(row.id not in output.rows and row.id not in failed.rows for row in to_sample):
            _sample(args, settings, to_sample, output, failed)
        say(_totals(rows, output.rows, failed.rows))


def _identity(args: argparse.Namespace, settings: CotSettings) -> dict[str, Any]:
    return {
        "command": "make-cot",
        "data_type": args.data_type,
        "prompt_version": PROMPT_VERSION,
        **model_identity(args),
        **asdict(settings),
    }


def _refuse_changed_rows(rows: Sequence[NumberedRow], output: RowFile) -> None:
    for row in rows:
        done = output.rows.get(row.id)
        if done is not None and any(done.get(name) != value for name, value in row.row.items() if name != "id"):
            raise DatasetError(
                f'{output.path} has another row "{row.id}" than row {row.number} of the data set: the data set has '
                "changed, choose another output file."
            )


def _settle_without_model(rows: Sequence[NumberedRow], output: RowFile, failed: RowFile) -> None:
    """Takes over rows that have a chain, and fails those without a known answer: no sample could be checked."""
    for row in rows:
        if row.id in output.rows or row.id in failed.rows:
            continue
        if row.row.get("cot"):
            output.append({**row.row, "id": row.id})
        elif row.problem.true_answer is None:
            failed.append({"id": row.id, "n_tried": 0, "reason": "no known answer"})


def _sample(
    args: argparse.Namespace, settings: CotSettings, rows: Sequence[NumberedRow], output: RowFile, failed: RowFile
) -> None:
    from citer_core.models.pair import load_pair
    from citer_core.training.make_cot import make_cots

    show_what_takes_long()
    pair = load_pair(args.pair, device=args.device, dtype=args.dtype, options=pair_options(args))
    for file in (output, failed):
        file.bind({"pair_revision": pair.info.revision})
    done = set(output.rows) | set(failed.rows)
    n_pending = sum(row.id not in done for row in rows)
    for n, outcome in enumerate(make_cots(pair, rows, settings, done), start=1):
        if outcome.cot is None:
            failed.append({"id": outcome.row.id, "n_tried": outcome.n_tried, "reason": outcome.reason})
        else:
            source = {"llm": pair.info.llm.name, "pair_revision": pair.info.revision, "prompt_version": PROMPT_VERSION}
            output.append(_row_with_chain(outcome, source, settings))
        verdict = outcome.reason or f"right in sample {outcome.n_tried}"
        say(f"[{n}/{n_pending}] {outcome.row.id}: {verdict}")


def _row_with_chain(outcome: CotOutcome, source: Mapping[str, Any], settings: CotSettings) -> dict[str, Any]:
    sampled = {name: getattr(settings, name) for name in ("temperature", "top_p", "seed")}
    made_by = {**source, **sampled, "n_tried": outcome.n_tried}
    return {**outcome.row.row, "id": outcome.row.id, "cot": outcome.cot, "cot_made_by": made_by}


def _totals(
    rows: Sequence[NumberedRow], output: Mapping[str, Mapping[str, Any]], failed: Mapping[str, Mapping[str, Any]]
) -> str:
    done = [output[row.id] for row in rows if row.id in output]
    tried = [row["cot_made_by"]["n_tried"] for row in done if "cot_made_by" in row]
    reasons = Counter(
        "prompt too long" if failed[row.id]["reason"].startswith("its prompt") else failed[row.id]["reason"]
        for row in rows
        if row.id in failed
    )
    parts = [f"{len(done)} of {len(rows)} rows have a chain"]
    if tried:
        parts.append(f"{len(tried)} of them sampled, {sum(tried) / len(tried):.1f} samples each")
    parts += [f"{n} failed: {reason}" for reason, n in reasons.most_common()]
    return " | ".join(parts)
