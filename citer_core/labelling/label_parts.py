"""One part of a folder of labels, read: tensors and rows of the kinds, shapes and ranges that training relies on.

Called by `label_files`, which knows what a folder is made of. A part comes from a disk that may have failed, or from
another machine.
"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from citer_core.errors import GateError
from citer_core.gate.excerpt import excerpt
from citer_core.gate.fields import Choice, ListOf, Maybe, Record, Text, Whole
from citer_core.gate.json_file import read_json_lines
from citer_core.labelling.labels import BRANCHES, UNKNOWN, Labels
from citer_core.models.tensor_checks import is_finite

MAX_ROWS = 10**7
MAX_TOKENS = 100_000  # of one example
MAX_PART_BYTES = 500_000_000  # of the rows of one part
_IDS = ListOf(Whole(0, 10**7), most=MAX_TOKENS)
_ROW = Record(
    {
        "question": Whole(0, MAX_ROWS),
        "id": Maybe(Text(100_000)),
        "data_type": Choice("math", "mc"),
        "truth_ids": _IDS,
        "slm_ids": _IDS,
        "llm_ids": _IDS,
        "cases": ListOf(Whole(1, 3), most=MAX_TOKENS),
        "labels": ListOf(Whole(UNKNOWN, 1), most=MAX_TOKENS),
    }
)
_DTYPES = {
    **dict.fromkeys(("case", "label", "slm_is_correct", *BRANCHES), torch.int8),
    **dict.fromkeys(("question", "position"), torch.int32),
}
_RANGES = {"case": (1, 3), **dict.fromkeys(("label", "slm_is_correct", *BRANCHES), (UNKNOWN, 1))}


def read_rows_of(path: Path) -> list[dict[str, Any]]:
    """The rows of a part, from its .jsonl.

    Raises:
        GateError: the file cannot be read, or a row is not one of ours.
    """
    lines = read_json_lines(path, max_bytes=MAX_PART_BYTES, max_line_chars=10_000_000)
    return [_ROW.read(row, f"line {number}") for number, row in lines]


def read_tensors_of(path: Path, questions: range) -> Labels:
    """The tensors of a part, from its .safetensors.

    Args:
        path: of the file.
        questions: numbers that its examples may have.

    Raises:
        GateError: the file cannot be read; a tensor is missing, of another kind or shape, or outside its range; or an
            example does not begin with its first token.
    """
    try:
        tensors = load_file(path)
    except (OSError, ValueError, SafetensorError) as error:
        raise GateError(f"the tensors are damaged: {type(error).__name__}") from error
    names = {field.name for field in fields(Labels)}
    if tensors.keys() == names - set(BRANCHES) and "label" in tensors:
        tensors |= {name: torch.full_like(tensors["label"], UNKNOWN) for name in BRANCHES}
    if tensors.keys() != names:
        differing = min(tensors.keys() ^ names)
        raise GateError(f"the tensors are not those of labels: {excerpt(differing)} is missing or too many")
    n_tokens = len(tensors["label"]) if tensors["label"].ndim else 0
    if n_tokens == 0:
        raise GateError("there is no token in it")
    for name, tensor in tensors.items():
        shape = (n_tokens,) if name != "hidden" else (n_tokens, *tensor.shape[1:2])
        if tuple(tensor.shape) != shape or tensor.ndim != 1 + (name == "hidden"):
            raise GateError(f"the tensor {name} has the shape {list(tensor.shape)[:4]}")
        if tensor.dtype != _DTYPES.get(name, torch.float32) or not is_finite(tensor):
            raise GateError(f"the tensor {name} holds other numbers than labels have")
    _check_ranges(tensors, questions)
    return Labels(**tensors)


def _check_ranges(tensors: dict[str, torch.Tensor], questions: range) -> None:
    ranges = _RANGES | {"question": (questions.start, questions.stop - 1), "position": (0, MAX_TOKENS)}
    for name, (low, high) in ranges.items():
        found = torch.aminmax(tensors[name])
        if int(found.min) < low or int(found.max) > high:
            raise GateError(f"the tensor {name} holds numbers outside {low} to {high}")
    first = tensors["question"][tensors["position"] == 0].unique()
    if len(first) != len(tensors["question"].unique()):
        raise GateError("an example lacks its first token")
