"""`LabelHeader`: `labels.json`, who labelled what and how: everything that two parts of a folder must agree on; and
what stands in a part, read: tensors and rows of the kinds, shapes and ranges that training relies on. A folder comes
from a disk that may have failed, or from another machine.

Published labels of a data set's own texts are written as version 2, as ever; what has more to say (`SAID_SINCE`) as a
later one.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

import citer_core
from citer_core.errors import DatasetError, GateError, MachineError
from citer_core.files import why, write_whole
from citer_core.gate.dataclass_kind import MAY_MISS, filled, kind_of
from citer_core.gate.excerpt import clean, excerpt
from citer_core.gate.fields import Choice, ListOf, Maybe, Real, Record, Text, Whole
from citer_core.gate.json_file import read_json, read_json_lines
from citer_core.labelling.labels import BRANCHES, UNKNOWN, LabelMode, Labels, LabelSettings
from citer_core.labelling.truth import Truth
from citer_core.models.pair import ModelPair
from citer_core.models.same_pair import is_same_run
from citer_core.models.tensor_checks import is_finite
from citer_core.tasks.problems import Rows
from citer_core.tasks.prompts import PROMPT_VERSION

SCHEMA, READ_VERSIONS = "citer-labels", (2, 3, 4)
# What headers say only from a version on, and what it is where they do not.
SAID_SINCE: dict[str, tuple[int, Any]] = {
    "labels": (3, "published"),
    "roll_out_case_2": (3, False),
    "truth": (4, "gold"),
}
HEADER_FILE = "labels.json"

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


def digest_of_rows(rows: Rows) -> str:
    """What a header says of its examples, 16 hexadecimal digits."""
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class LabelHeader:
    """What all parts of a folder agree on.

    Attributes:
        pair, pair_revision, dtype: who was asked, and in which precision.
        prompt_version, code_version: of this project.
        rows, n_rows, part_size: digest and number of the examples, and how many a part holds.
        iteration, router, router_revision, threshold: who rolled out.
        n_rollouts, ask_slm, max_new_tokens, seed: see `LabelSettings`.
        prompt_form: how prompts became token ids; see `PromptForm`.
        labels, roll_out_case_2, truth: see `LabelSettings`.
    """

    pair: Annotated[str, Text(300)]
    pair_revision: Annotated[str, Text(300)]
    dtype: Annotated[str, Text(50)]
    prompt_version: Annotated[int, Whole(0, 10**6)]
    code_version: Annotated[str, Text(100)]
    rows: Annotated[str, Text(64)]
    n_rows: Annotated[int, Whole(0, MAX_ROWS)]
    part_size: Annotated[int, Whole(1, MAX_ROWS)]
    iteration: Annotated[int, Whole(1, 10**6)]
    router: Annotated[str, Text(300)]
    router_revision: Annotated[str, Text(64)]
    threshold: Annotated[float, Real(0.0, 1.0)]
    n_rollouts: Annotated[int | None, Maybe(Whole())]
    ask_slm: bool
    max_new_tokens: Annotated[int, Whole(0, 10**6)]
    seed: Annotated[int, Whole(-(2**63), 2**64)]
    prompt_form: Annotated[str, Text(50), MAY_MISS] = "plain"  # not in headers from before there were chat templates
    labels: Annotated[LabelMode, MAY_MISS] = "published"
    roll_out_case_2: Annotated[bool, MAY_MISS] = False
    truth: Annotated[Truth, MAY_MISS] = "gold"

    @classmethod
    def of(cls, pair: ModelPair, rows: Rows, settings: LabelSettings, part_size: int) -> LabelHeader:
        """The header of a labelling that is about to start."""
        policy = settings.policy
        return filled(
            cls,
            settings,
            pair=pair.info.name,
            pair_revision=pair.info.revision,
            dtype=pair.info.dtype,
            prompt_version=PROMPT_VERSION,
            code_version=citer_core.__version__,
            rows=digest_of_rows(rows),
            n_rows=len(rows),
            part_size=part_size,
            router=policy.router.name,
            router_revision=policy.router.revision,
            threshold=policy.threshold,
            max_new_tokens=policy.max_new_tokens,
            prompt_form=pair.info.prompt_form,
        )

    @property
    def rolled_by(self) -> dict[str, Any]:
        """Who rolled out and how: all that an outcome depends on, and not which tokens of which rows were tried."""
        apart = {"rows", "n_rows", "part_size", "n_rollouts", "ask_slm", "seed", "code_version"}
        if self.truth == "gold":  # as files of rollouts say it that know no other
            apart.add("truth")
        return {name: value for name, value in asdict(self).items() if name not in apart}

    @property
    def starts(self) -> range:
        """Number of the first example of every part."""
        return range(0, self.n_rows, self.part_size)

    def write(self, folder: Path) -> None:
        """Puts the header into `folder`, or checks the one that is there.

        Raises:
            DatasetError: the folder cannot be written, or holds labels of another run.
        """
        path = folder / HEADER_FILE
        if path.exists():
            self.check(LabelHeader.read(folder), folder)
            return
        said_here = asdict(self)
        version = max([2, *(since for name, (since, usual) in SAID_SINCE.items() if said_here[name] != usual)])
        for name, (since, _) in SAID_SINCE.items():
            if since > version:
                del said_here[name]
        document = {"schema": SCHEMA, "schema_version": version, **said_here}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_whole(path, json.dumps(document, indent=2) + "\n")
        except (OSError, MachineError) as error:  # before anything is labelled, so that another folder costs nothing
            reason = why(error.__cause__ if isinstance(error, MachineError) and error.__cause__ else error)
            raise DatasetError(f"{folder} cannot be written ({reason}): choose another.") from error

    @classmethod
    def read(cls, folder: Path) -> LabelHeader:
        """The header of a folder of labels.

        Raises:
            DatasetError: there is none, or it is of another kind or version.
        """
        try:
            document = read_json(folder / HEADER_FILE, max_bytes=1_000_000)
            if not isinstance(document, dict):
                raise GateError(f"its header is {excerpt(document)}")
            if document.get("schema") != SCHEMA or document.get("schema_version") not in READ_VERSIONS:
                raise GateError("another kind or version")
            header: LabelHeader = _HEADER.read(document, "")
            return header
        except GateError as error:
            raise DatasetError(
                f"{folder} holds no labels that this version reads ({error}). Make them with "
                "`python -m citer_core label`."
            ) from error

    def check(self, found: LabelHeader, folder: Path) -> None:
        """Refuses a header that differs.

        Raises:
            DatasetError: it names the first difference.
        """
        for f in fields(self):
            ours, theirs = getattr(self, f.name), getattr(found, f.name)
            if ours == theirs or (f.name == "pair_revision" and is_same_run(theirs, ours)):
                continue
            raise DatasetError(
                f"The labels in {folder} were made with {f.name} = {said(theirs)}, but now it is {said(ours)}. Label "
                "into an empty folder, or use the same settings to resume."
            )


_HEADER = kind_of(LabelHeader)


def said(value: object) -> str:
    """A header's value in a message."""
    return clean(str(value))[:60]


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
