"""The one prompt builder: training, labelling and inference all see exactly this text.

The published code builds three slightly different prompts for its three stages; a router trained on one of them is
then asked about states of another. `PROMPT_VERSION` is stored with labels, routers and traces so that a mix is refused.

Knows nothing about tokenizers or models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

DataType = Literal["math", "mc", "open"]
DATA_TYPES: tuple[DataType, ...] = get_args(DataType)
PROMPT_VERSION = 1

MATH_INSTRUCTION = "Solve the problem step by step in LaTeX. Put the final answer in \\boxed{}."
MC_INSTRUCTION = 'Reply in the form "[Explanation]. Therefore, the answer is answer (label)."'


def math_prompt(problem: str) -> str:
    """The prompt of a `math` problem; the completion follows after one space."""
    return f"{MATH_INSTRUCTION}\nQuestion: {problem.strip()}\nSolution:"


def mc_prompt(question: str, texts: Sequence[str], labels: Sequence[str]) -> str:
    """The prompt of a multiple-choice question, one `label. text` a line; the completion follows after one space."""
    block = "\n".join(f"{label}. {text}" for label, text in zip(labels, texts, strict=True))
    return f"Question: {question.strip()}\nChoices:\n{block}\n{MC_INSTRUCTION}\nAnswer and Reasoning:"


def row_prompt(row: Mapping[str, Any], data_type: DataType) -> str:
    """The prompt of one row of a data set in the official format `data_type` (`math` or `mc`)."""
    if data_type == "mc":
        return mc_prompt(row["question"], row["choices"]["text"], row["choices"]["label"])
    return math_prompt(row["problem"])


def row_completion(row: Mapping[str, Any], data_type: DataType) -> str:
    """The ground-truth completion of a training row, with its leading space: `cot` where there is one, else `solution`.

    Raises:
        KeyError: the row has neither, so there is nothing to train on.
    """
    text: str = row.get("cot") or (row["solution"] if data_type == "math" else row["cot"])
    return " " + text.strip()
