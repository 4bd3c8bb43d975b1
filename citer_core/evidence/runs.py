"""What the stored parts say of runs, and the book that they are taken from. Knows nothing about training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from citer_core.engine import Engine
from citer_core.evaluation.run_book import KeptRun, RunBook
from citer_core.evidence.plan import EvidencePlan
from citer_core.evidence.statistics import pack
from citer_core.tasks.prompts import DataType
from citer_core.workload import Workload


def run_book(engine: Engine, work: Path, data_type: DataType, plan: EvidencePlan) -> RunBook:
    """The runs of one format in the folder of the work.

    Raises:
        DatasetError: they are another pair's or cannot be written.
    """
    path = work / f"runs-{data_type}.jsonl"
    return RunBook(engine, path, max_new_tokens=plan.max_new_tokens, batch_size=plan.batch_size)


def tally(runs: Sequence[KeptRun]) -> dict[str, Any]:
    """What the stored parts say of a set of answers: which are right, tokens, cut ones, measured seconds, passes."""
    return {
        "right": pack([run.is_right for run in runs]),
        "n_tokens": sum(run.n_tokens for run in runs),
        "n_cut": sum(run.is_cut for run in runs),
        "seconds": round(sum(run.seconds for run in runs), 3),
        "llm_seconds": round(sum(run.llm_seconds for run in runs), 3),
        "work": work_of(runs),
    }


def work_of(runs: Sequence[KeptRun]) -> dict[str, Any]:
    """The passes of all runs, as `Workload.to_dict` gives them."""
    return asdict(sum((run.work for run in runs), Workload()))
