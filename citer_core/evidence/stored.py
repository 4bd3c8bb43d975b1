"""The stored form of the evidence: one JSON file per part, each with what it was measured on, and its rows.

    assets/benchmarks/evidence/one-wording/accuracy.json
    assets/benchmarks/evidence/varied-wording/...

A folder is one *set*: one pair in one edition. Everything that is shown is computed from these rows, and this module
alone knows how they are written. Imports no torch. Called by the command, the claims and the page.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

import citer_core
from citer_core.cost import MODEL
from citer_core.errors import DatasetError, GateError
from citer_core.evidence.part_tables import CONTENT, FORMATS, NAME, PARTS, SECONDS
from citer_core.files import need_folder, write_whole
from citer_core.gate.dataclass_kind import record_of
from citer_core.gate.fields import Choice, ListOf, MapOf, Maybe, Real, Text
from citer_core.gate.json_file import read_json
from citer_core.hardware import hardware_in_words

if TYPE_CHECKING:
    from citer_core.trace import PairInfo

SCHEMA, SCHEMA_VERSION = "citer-evidence", 1
# Parts that know each problem, with what has a digit for it.
_BY_PROBLEM = {
    "accuracy": ("length_of",),
    "length": ("question_of", "answer_of"),
    **dict.fromkeys(("speculative", "look_back", "rules", "truths"), ()),
}


@dataclass(frozen=True, slots=True)
class PartHead:
    """What all parts say of themselves.

    Attributes:
        part: one of `PARTS`.
        title: of its set, for people.
        pair, pair_revision, dtype: what was measured.
        slm, llm: `ModelSpec` of each as plain numbers, to price work with.
        date, hardware, command, code_version: of the measurement.
        plan: its sizes and seeds, each a list of numbers.
        seconds: that it took, those of stopped attempts left out.
    """

    part: Annotated[str, Choice(*PARTS)]
    title: Annotated[str, NAME]
    pair: Annotated[str, NAME]
    pair_revision: Annotated[str, NAME]
    dtype: Annotated[str, NAME]
    slm: Annotated[Mapping[str, Any], MODEL]
    llm: Annotated[Mapping[str, Any], MODEL]
    date: Annotated[str, Text(10, 10)]
    hardware: Annotated[str, Text(300)]
    command: Annotated[str, Text(500)]
    code_version: Annotated[str, Text(100)]
    plan: Annotated[Mapping[str, list[float] | None], MapOf(Maybe(ListOf(Real(0.0, 1e9), 100)), 40)]
    seconds: Annotated[float, SECONDS]


_HEAD = record_of(PartHead)


@dataclass(frozen=True, slots=True)
class StoredPart(PartHead):
    """One part's result: its head, and `content`, the rows; see `part_tables`."""

    content: Any = field(repr=False)

    @classmethod
    def measured(
        cls,
        part: str,
        info: PairInfo,
        *,
        title: str,
        command: str,
        plan: Mapping[str, Any],
        seconds: float,
        content: Any,
    ) -> Self:
        """A part that was just measured, here and by this version."""
        return cls(
            part=part,
            title=title,
            pair=info.name,
            pair_revision=info.revision,
            dtype=info.dtype,
            slm=asdict(info.slm),
            llm=asdict(info.llm),
            date=datetime.date.today().isoformat(),
            hardware=hardware_in_words(),
            command=command,
            code_version=citer_core.__version__,
            plan=plan,
            seconds=round(seconds, 1),
            content=content,
        )

    def write(self, folder: Path) -> Path:
        """Puts it into the folder of its set, checked as a reader checks it.

        Raises:
            SettingError: nothing can be written there.
            MachineError: it cannot be written any more.
        """
        need_folder(folder)
        path = folder / f"{self.part}.json"
        document = {"schema": SCHEMA, "schema_version": SCHEMA_VERSION, **asdict(self)}
        StoredPart.of(document)
        write_whole(path, json.dumps(document, separators=(",", ":")) + "\n")
        return path

    @classmethod
    def read(cls, path: Path) -> Self:
        """Reads one part.

        Raises:
            DatasetError: it is missing, damaged, or of another kind or version.
        """
        try:
            return cls.of(read_json(path))
        except GateError as error:
            raise DatasetError(
                f"The evidence in {path.name} could not be read ({error}). Measure it again with "
                "`python -m citer_core evidence`."
            ) from error

    @classmethod
    def of(cls, document: Any) -> Self:
        """A document as a part.

        Raises:
            GateError: it is none.
        """
        if not isinstance(document, dict) or document.get("schema") != SCHEMA:
            raise GateError("it is no part of the evidence")
        if document.get("schema_version") != SCHEMA_VERSION:
            raise GateError("it is of another version")
        head = _HEAD.read(document, "")
        content = CONTENT[head["part"]].read(document.get("content"), "content")
        if head["part"] in _BY_PROBLEM:
            for name, entry in content.items():
                FORMATS.read(name, "content")
                for digits in _BY_PROBLEM[head["part"]]:
                    if len(entry[digits]) != entry["n"]:
                        raise GateError(f"content.{digits} does not have a digit for each problem.")
                of = [(entry["n"], one) for one in entry.get("points", [entry])]
                of += [(entry["n_grid"], one) for one in entry.get("grid", [])]
                if any(len(point["right"]) != -(-n // 8) * 2 for n, point in of):
                    raise GateError("content.points: right does not have a bit for each problem.")
        return cls(**head, content=content)


def stored_parts(place: Path) -> dict[str, StoredPart]:
    """The parts of one folder, by name; none where it is not there.

    Raises:
        DatasetError: see `StoredPart.read`.
    """
    paths = {part: place / f"{part}.json" for part in PARTS}
    return {part: StoredPart.read(path) for part, path in paths.items() if path.exists()}


def plan_numbers(plan: Any) -> dict[str, list[float] | None]:
    """A dataclass of numbers, lists of numbers and None as `StoredPart.plan` has it."""
    values = {f.name: getattr(plan, f.name) for f in fields(plan)}
    return {
        name: None if value is None else list(value) if isinstance(value, tuple) else [value]
        for name, value in values.items()
    }
