r"""The paper's five data sets by name: where they are on the Hugging Face hub and how their rows become official ones.

    cqa              CommonsenseQA; its test answers are secret, so the hub's validation split is our test
    arc-challenge    ARC, the hard part; a few questions label their choices 1 to 4, and keep those labels
    mmlu-psychology  MMLU professional psychology; it has no training split, so dev and validation are our train (74
                     rows), and auxiliary_train is left alone: it is other tests' questions, on other subjects
    gsm8k            grade-school mathematics
    math             Hendrycks MATH, its seven subjects one after the other

One table, `HUB_DATASETS`, and pure functions; knows nothing about files or networks (`dataset_cache` does).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from citer_core.errors import DatasetError
from citer_core.tasks.problems import problem_from_row
from citer_core.tasks.prompts import DataType

Row = dict[str, Any]

_CALCULATOR_MARK = re.compile(r"<<[^<>]*>>")
_FINAL_NUMBER = re.compile(r"\n?\s*####\s*(?P<answer>\S[^\n]*?)\s*\Z")
_FRAMED_BOX = re.compile(r"\\fbox\s*(?=\{)")
_BARE_BOX = re.compile(r"\\boxed\s+(?P<content>[^\s{}$]+)")
_LETTERS = "ABCDEFGHIJ"


@dataclass(frozen=True, slots=True)
class HubDataset:
    """One named data set.

    Attributes:
        name: what a person types.
        hub_id: of the repository on the hub, of the type "dataset".
        config: the hub's name of the part that is used; for people.
        files: pattern of the parquet files of one split in the repository, `{split}` being the hub's split.
        data_type: `math` or `mc`.
        splits: our split to the hub splits that it is made of; no hub split is in two of ours.
        to_row: hub row to official row, without an `id`.
    """

    name: str
    hub_id: str
    config: str
    files: str
    data_type: DataType
    splits: Mapping[str, tuple[str, ...]]
    to_row: Callable[[Mapping[str, Any]], Row]

    def hub_splits(self, split: str) -> tuple[str, ...]:
        """The hub's splits behind one of ours.

        Raises:
            DatasetError: this set has no such split.
        """
        if split not in self.splits:
            raise DatasetError(f'The data set "{self.name}" has no split "{split}": choose {_or(self.splits)}.')
        return self.splits[split]


def commonsense_qa_row(hub_row: Mapping[str, Any]) -> Row:
    """CommonsenseQA: its columns are the official ones already."""
    return {"question": hub_row["question"], "choices": _choices(hub_row["choices"]), "answerKey": hub_row["answerKey"]}


def arc_row(hub_row: Mapping[str, Any]) -> Row:
    """ARC: as CommonsenseQA; 3 to 5 choices, labelled `A` or `1` onwards."""
    return commonsense_qa_row(hub_row)


def mmlu_row(hub_row: Mapping[str, Any]) -> Row:
    """MMLU: `choices` is a list of texts and `answer` the index of the right one, from 0."""
    texts, answer = list(hub_row["choices"]), hub_row["answer"]
    if isinstance(answer, bool) or not isinstance(answer, int) or not 0 <= answer < len(texts) <= len(_LETTERS):
        raise DatasetError(f'"answer" is {answer!r}, which is not an index of its {len(texts)} choices.')
    labels = list(_LETTERS[: len(texts)])
    return {"question": hub_row["question"], "choices": {"text": texts, "label": labels}, "answerKey": labels[answer]}


def gsm8k_row(hub_row: Mapping[str, Any]) -> Row:
    """GSM8K: the marks of its calculator (`<<16-3-4=9>>`) go, and its `#### 18` becomes a boxed answer."""
    reasoning = _CALCULATOR_MARK.sub("", hub_row["answer"])
    final = _FINAL_NUMBER.search(reasoning)
    if final is None:
        raise DatasetError('"answer" does not end with "#### <number>".')
    steps = reasoning[: final.start()].strip()
    return {"problem": hub_row["question"], "solution": f"{steps}\nThe final answer is $\\boxed{{{final['answer']}}}$."}


def hendrycks_math_row(hub_row: Mapping[str, Any]) -> Row:
    r"""MATH: the answer is boxed already; the few `\fbox{7}` and `\boxed 7` get the common spelling."""
    solution = _BARE_BOX.sub(r"\\boxed{\g<content>}", _FRAMED_BOX.sub(r"\\boxed", hub_row["solution"]))
    kept = {name: hub_row[name] for name in ("level", "type") if hub_row.get(name) is not None}
    return {"problem": hub_row["problem"], "solution": solution, **kept}


_TRAIN_AND_TEST = {"train": ("train",), "test": ("test",)}
_TABLE = (
    HubDataset(
        "cqa", "tau/commonsense_qa", "default", "data/{split}-*.parquet", "mc",
        {"train": ("train",), "test": ("validation",)}, commonsense_qa_row,
    ),
    HubDataset(
        "arc-challenge", "allenai/ai2_arc", "ARC-Challenge", "ARC-Challenge/{split}-*.parquet", "mc",
        {**_TRAIN_AND_TEST, "validation": ("validation",)}, arc_row,
    ),
    HubDataset(
        "mmlu-psychology", "cais/mmlu", "professional_psychology", "professional_psychology/{split}-*.parquet", "mc",
        {"train": ("dev", "validation"), "test": ("test",)}, mmlu_row,
    ),
    HubDataset("gsm8k", "openai/gsm8k", "main", "main/{split}-*.parquet", "math", _TRAIN_AND_TEST, gsm8k_row),
    HubDataset(
        "math", "EleutherAI/hendrycks_math", "all subjects", "*/{split}-*.parquet", "math",
        _TRAIN_AND_TEST, hendrycks_math_row,
    ),
)  # fmt: skip
HUB_DATASETS: Mapping[str, HubDataset] = MappingProxyType({dataset.name: dataset for dataset in _TABLE})

_TEST_ID = re.compile(rf"(?:{'|'.join(map(re.escape, HUB_DATASETS))})-test-\d+")


def hub_dataset(name: str) -> HubDataset:
    """The data set of that name.

    Raises:
        DatasetError: there is none.
    """
    if name not in HUB_DATASETS:
        raise DatasetError(
            f'There is no data set "{name}": choose {_or(HUB_DATASETS)}, or give your own file with --dataset-path.'
        )
    return HUB_DATASETS[name]


def official_rows(
    dataset: HubDataset, split: str, hub_rows: Iterable[Mapping[str, Any]]
) -> tuple[list[Row], list[DatasetError]]:
    """Maps and validates the rows of one split.

    Args:
        dataset: decides the mapping.
        split: one of ours; each id carries it.
        hub_rows: in the hub's order, which decides the ids: `gsm8k-train-0001` is the first row whatever is dropped.

    Returns:
        The official rows, and an error for each row that cannot be made one (such as a solution without a box).
    """
    rows: list[Row] = []
    errors: list[DatasetError] = []
    for number, hub_row in enumerate(hub_rows, start=1):
        row_id = f"{dataset.name}-{split}-{number:04d}"
        try:
            row = {"id": row_id, **dataset.to_row(hub_row)}
            if hub_row.get("id"):
                row["hub_id"] = str(hub_row["id"])
            if problem_from_row(row, dataset.data_type).true_answer is None:
                raise DatasetError("it has no known answer.")
        except (DatasetError, KeyError, TypeError) as error:
            reason = f"the column {error} is missing" if isinstance(error, KeyError) else error
            errors.append(DatasetError(f"{row_id}: {reason}"))
            continue
        rows.append(row)
    return rows, errors


def without_shared_prompts(rows: Iterable[Row], others: Iterable[Row], data_type: DataType) -> list[Row]:
    """Those of `rows` whose prompt, letter case and spacing aside, is none of `others`'."""
    taken = {_prompt_key(row, data_type) for row in others}
    return [row for row in rows if _prompt_key(row, data_type) not in taken]


def refuse_test_rows(row_ids: Iterable[str]) -> None:
    """Stops a training step that was given a named set's test rows, under whatever file name.

    Raises:
        DatasetError: an id is that of a test row.
    """
    found = next((row_id for row_id in row_ids if _TEST_ID.fullmatch(row_id)), None)
    if found is not None:
        raise DatasetError(
            f'The row "{found}" is from a test split, which nothing may be trained on: use the split train.'
        )


def _prompt_key(row: Row, data_type: DataType) -> str:
    return " ".join(problem_from_row(row, data_type).prompt.casefold().split())


def _choices(hub_choices: Mapping[str, Any]) -> dict[str, list[str]]:
    return {"text": list(hub_choices["text"]), "label": list(hub_choices["label"])}


def _or(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last
