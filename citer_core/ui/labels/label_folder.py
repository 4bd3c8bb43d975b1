"""A folder that `label` wrote, as something that the view Labels can show: its texts and its labels.

A folder keeps no questions, so it is read beside the rows that were labelled. Imports torch.
Called by the command line.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from citer_core.errors import DatasetError
from citer_core.labelling.label_files import load_labels
from citer_core.labelling.label_header import digest_of_rows
from citer_core.labelling.teacher_forcing import Example
from citer_core.models.pair import ModelPair
from citer_core.tasks.answers import extract_answer
from citer_core.tasks.datasets import read_rows
from citer_core.tasks.problems import problem_from_row
from citer_core.ui.labels.rows import MAX_ROWS, LabelInput

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class GivenLabels:
    """Labels that were made before.

    Attributes:
        name: of the folder.
        source: the rows.
        examples: their texts, of the known solutions or of the LLM.
        labels: [T] int8 of each: 1, the SLM; 0, the LLM; -1, not known.
        by_outcome: whether they are labels by outcome.
        digest: of all labels.
    """

    name: str
    source: LabelInput
    examples: list[Example]
    labels: list[Tensor]
    by_outcome: bool
    digest: str


def read_label_folder(folder: Path, rows_file: Path, pair: ModelPair) -> GivenLabels:
    """The first `MAX_ROWS` examples of a folder.

    Args:
        folder: complete.
        rows_file: the data set that was labelled, of one format.
        pair: that labelled it.

    Raises:
        DatasetError: the folder is of another pair, precision or data set, or damaged; see `load_labels`.
    """
    folder = folder.resolve()  # it has a name then
    header, labels, found = load_labels(folder, pair.info)
    if header.dtype != pair.info.dtype:
        raise DatasetError(f"The labels in {folder} were made in {header.dtype}: give --dtype {header.dtype}.")
    data_type = found[0]["data_type"]
    rows = [(row.row, data_type) for row in islice(read_rows(rows_file, data_type), header.n_rows)]
    if digest_of_rows(rows) != header.rows:
        raise DatasetError(
            f"{rows_file} does not hold the {header.n_rows:,} rows whose labels are in {folder}: give the file "
            "that was labelled, unchanged."
        )
    shown = rows[:MAX_ROWS]
    examples = []
    for (row, _), there in zip(shown, found, strict=False):
        problem, truth_ids = problem_from_row(row, data_type), there["truth_ids"]
        if header.truth != "gold":
            text = str(pair.tokenizer.decode(truth_ids, skip_special_tokens=True))
            problem = replace(problem, true_answer=extract_answer(text, problem))
        examples.append(Example(problem, pair.encode(problem.prompt), truth_ids))
    return GivenLabels(
        name=folder.name,
        source=LabelInput(f"{len(shown)} problems, labels of {folder.name}", tuple(shown)),
        examples=examples,
        labels=[labels.label[labels.question == number] for number in range(len(shown))],
        by_outcome=header.labels == "outcome",
        digest=hashlib.sha256(labels.label.numpy().tobytes()).hexdigest()[:16],
    )
