"""Rows as fine-tuning sees them: token ids, and labels on the completion and its end of text alone.

The prompt is the one that inference uses, from the one builder. Knows nothing about Trainer or files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from citer_core.errors import DatasetError
from citer_core.models.prompt_form import PromptForm
from citer_core.tasks.datasets import NumberedRow
from citer_core.tasks.prompts import DataType, row_completion

IGNORED = -100  # what the models' loss skips


def completions(rows: Sequence[NumberedRow], data_type: DataType) -> list[str]:
    """What each row teaches: its `cot`, or its `solution`.

    Raises:
        DatasetError: a row has neither.
    """
    found: list[str] = []
    for row in rows:
        try:
            found.append(row_completion(row.row, data_type))
        except KeyError as error:
            raise DatasetError(
                f'Row {row.number} ("{row.id}") has no {error}, so there is nothing to learn from it: run `make-cot` '
                "on the data set first and give its output."
            ) from error
    return found


def encode_row(prompt: str, completion: str, form: PromptForm, eos_id: int) -> dict[str, list[int]]:
    """Token ids of a row and their labels: `IGNORED` on the prompt, the ids themselves up to and with `eos_id`."""
    prompt_ids = form.encode(prompt)
    completion_ids = [*form.encode_completion(completion), eos_id]
    return {"input_ids": prompt_ids + completion_ids, "labels": [IGNORED] * len(prompt_ids) + completion_ids}


def collate(rows: Sequence[Mapping[str, list[int]]], pad_id: int) -> dict[str, Tensor]:
    """Rows padded on the right to the longest: `input_ids`, `attention_mask` and `labels`, each [B, T] int64."""
    width = max(len(row["input_ids"]) for row in rows)
    columns = {"input_ids": pad_id, "attention_mask": 0, "labels": IGNORED}
    batch = {name: torch.full((len(rows), width), fill) for name, fill in columns.items()}
    for i, row in enumerate(rows):
        n = len(row["input_ids"])
        batch["input_ids"][i, :n] = torch.tensor(row["input_ids"])
        batch["attention_mask"][i, :n] = 1
        batch["labels"][i, :n] = torch.tensor(row["labels"])
    return batch
