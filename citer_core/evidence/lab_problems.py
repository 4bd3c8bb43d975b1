"""The problems of the page's Lab: some of those that the evidence's routers are labelled from, and all that they are
tested on, so that a router that is trained in the page is held to the same. Knows nothing about models.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from citer_core.assets import ASSETS
from citer_core.embedded.publish import FORMATS, N_CARD, held_out
from citer_core.evidence.plan import EvidencePlan
from citer_core.tasks.boxed import last_boxed
from citer_core.tasks.prompts import DataType

N_TRAINING = 240


def training_rows(data_type: DataType) -> list[dict[str, Any]]:
    """The first of the labelled ones, as they are."""
    return [dict(row) for row, _ in EvidencePlan(n_labelled=N_TRAINING).labelled((data_type,))]


def unseen_rows(data_type: DataType, n: int = N_CARD) -> Iterator[dict[str, Any]]:
    """Those that are tested on, with what asks and judges and nothing else."""
    for row in held_out(data_type, "test", n):
        if data_type == "math":
            yield {"problem": row["problem"], "solution": rf"\boxed{{{last_boxed(row['solution'])}}}"}
        else:
            yield {name: row[name] for name in ("question", "choices", "answerKey")} | {"cot": ""}


def publish_lab_problems(assets: Path = ASSETS) -> None:
    """Writes them in the official formats, a file for each use and format."""
    for data_type in FORMATS:
        for use, rows in (("train", training_rows(data_type)), ("test", unseen_rows(data_type))):
            lines = [json.dumps(row, separators=(",", ":")) + "\n" for row in rows]
            (assets / "datasets" / f"lab-{use}-{data_type}.jsonl").write_text("".join(lines), encoding="utf-8")
