"""The stored form of the evidence: one JSON file per part, each with what it was measured on, and its rows.

    assets/benchmarks/evidence/one-wording/accuracy.json
    assets/benchmarks/evidence/varied-wording/...

A folder is one *set*: one pair in one edition. Everything that is shown is computed from these rows, and this module
alone knows how they are written. Imports no torch. Called by the command, the claims and the page.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from citer_core.assets import ASSETS
from citer_core.errors import DatasetError, GateError
from citer_core.files import need_folder, write_whole
from citer_core.gate.fields import Choice, Flag, Kind, ListOf, MapOf, Maybe, Real, Record, Row, Text, Whole
from citer_core.gate.json_file import read_json

EVIDENCE = ASSETS / "benchmarks" / "evidence"
SCHEMA, SCHEMA_VERSION = "citer-evidence", 1
PARTS = ("routers", "accuracy", "shortcut", "misjudged", "transfer", "overhead")
MAX_PROBLEMS, MAX_POINTS, N_LENGTHS = 20_000, 5_000, 4
FORMATS = Choice("math", "mc")
SHARE, COUNT, SECONDS = Real(0.0, 1.0), Whole(), Real(0.0, 1e9)
_NAME = Text(200, 1)
_HEX = Text(MAX_PROBLEMS // 4 + 2, 0, "0123456789abcdef")
_PASSES = Record({"n_passes": COUNT, "n_new": COUNT, "n_context": COUNT, "n_attended": Real(0.0, 1e18)})
_MODEL = Record(
    {
        "name": _NAME,
        **dict.fromkeys(
            (
                "n_params", "n_layers", "n_heads", "n_kv_heads", "head_dim", "vocab_size", "hidden_size",
                "bytes_per_element",
            ),
            Whole(1),
        ),
        "tied_embeddings": Flag(),
        "block_bits": Maybe(Real(0.0, 64.0)),
    }
)  # fmt: skip
_HEAD: dict[str, Kind[Any]] = {
    "part": Choice(*PARTS),
    "title": _NAME,
    "pair": _NAME,
    "pair_revision": _NAME,
    "dtype": _NAME,
    "slm": _MODEL,
    "llm": _MODEL,
    "date": Text(10, 10),
    "hardware": Text(300),
    "command": Text(500),
    "code_version": Text(100),
    "plan": MapOf(Maybe(ListOf(Real(0.0, 1e9), 100)), 40),
    "seconds": SECONDS,
}
_POINT = Record(
    {
        "router": _NAME,
        "label": _NAME,
        "revision": Text(64),
        "seed": Maybe(Whole(0, 10**6)),
        "is_shipped": Flag(),
        "n_params": COUNT,
        "share_wanted": Maybe(SHARE),
        "threshold": SHARE,
        "right": _HEX,
        "n_tokens": Whole(1),
        **dict.fromkeys(("n_llm_tokens", "n_cut"), COUNT),
        **dict.fromkeys(("seconds", "llm_seconds"), SECONDS),
        "work": Record({"n_tokens": COUNT, "slm": _PASSES, "llm": _PASSES, "alone": _PASSES}),
        "by_length": ListOf(Row(COUNT, COUNT), N_LENGTHS, N_LENGTHS),
    }
)
_ACCURACY = Record(
    {
        "n": Whole(1, MAX_PROBLEMS),
        "n_tuning": COUNT,
        "length_of": Text(MAX_PROBLEMS, 1, "0123"),
        "length_bounds": ListOf(COUNT, N_LENGTHS - 1, N_LENGTHS - 1),
        "points": ListOf(_POINT, MAX_POINTS, 1),
    }
)
_ROUTERS = Record(
    {
        "cases": MapOf(Record({"n_tokens": Whole(1), "shares": Row(SHARE, SHARE, SHARE)}), 2),
        "rounds": ListOf(
            Record(
                {
                    "labels": _NAME,
                    "policy": _NAME,
                    "threshold": SHARE,
                    **dict.fromkeys(("n_rolled_out", "n_prefer_slm"), COUNT),
                    "n_compared": Maybe(COUNT),
                    "n_flips": Maybe(COUNT),
                }
            ),
            20,
        ),
        "routers": ListOf(
            Record(
                {
                    "router": _NAME,
                    "kind": _NAME,
                    "labels": _NAME,
                    "seed": Whole(0, 10**6),
                    "auc": Maybe(SHARE),
                    "auc_max_probability": Maybe(SHARE),
                    "ece": SHARE,
                    "validation_loss": Real(-1e9, 1e9),
                    "n_tokens": COUNT,
                }
            ),
            200,
        ),
        "outcomes": Record(dict.fromkeys(("both_right", "slm_only", "llm_only", "neither"), COUNT)),
        "seconds": MapOf(SECONDS, 300),
    }
)
_BRANCHES = Record(
    {
        **dict.fromkeys(("n_tokens", "n", "n_same_token", "n_decided", "n_undecided", "n_right"), COUNT),
        **{f"slm_{a}_llm_{b}": COUNT for a in ("right", "wrong") for b in ("right", "wrong")},
    }
)
_SHORTCUT = MapOf(
    Record({"threshold": SHARE, "n_examples": COUNT, "cases": MapOf(_BRANCHES, 3)}),
    8,
)
_FLIPS = Record(dict.fromkeys(("n", "n_lost", "n_won"), COUNT))
_MISJUDGED = Record(
    {
        "router": _NAME,
        "threshold": SHARE,
        **dict.fromkeys(("n_problems", "n_right", "n_tokens", "n_llm_tokens"), COUNT),
        "to_slm": _FLIPS,
        "to_llm": _FLIPS,
    }
)
_TRANSFER = ListOf(
    Record(
        {
            "router": _NAME,
            "trained_on": Text(20, 1),
            "tested_on": FORMATS,
            "share_wanted": SHARE,
            "threshold": SHARE,
            "n": Whole(1, MAX_PROBLEMS),
            "right": _HEX,
            **dict.fromkeys(("n_tokens", "n_llm_tokens"), COUNT),
        }
    ),
    200,
)
_OVERHEAD = Record(
    {
        "routers": ListOf(
            Record({"router": _NAME, "n_params": COUNT, "ms": SECONDS, "mb": SECONDS, "mflop": SECONDS}), 100
        ),
        "slm_step_ms": SECONDS,
        "llm_step_ms": SECONDS,
        "n_cached": COUNT,
        "switch": ListOf(Record({"n_skipped": COUNT, "kept_ms": SECONDS, "again_ms": SECONDS}), 20),
    }
)
_CONTENT: dict[str, Kind[Any]] = {
    "routers": _ROUTERS,
    "accuracy": MapOf(_ACCURACY, 2),
    "shortcut": MapOf(_SHORTCUT, 2),
    "misjudged": MapOf(_MISJUDGED, 2),
    "transfer": _TRANSFER,
    "overhead": _OVERHEAD,
}


@dataclass(frozen=True, slots=True)
class StoredPart:
    """One part's result.

    Attributes:
        part: one of `PARTS`.
        title: of its set, for people.
        pair, pair_revision, dtype: what was measured.
        slm, llm: `ModelSpec` of each as plain numbers, to price work with.
        date, hardware, command, code_version: of the measurement.
        plan: its sizes and seeds, each a list of numbers.
        seconds: that it took, those of stopped attempts left out.
        content: the rows; see this module's tables.
    """

    part: str
    title: str
    pair: str
    pair_revision: str
    dtype: str
    slm: Mapping[str, Any]
    llm: Mapping[str, Any]
    date: str
    hardware: str
    command: str
    code_version: str
    plan: Mapping[str, list[float] | None]
    seconds: float
    content: Any = field(repr=False)

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
        head = Record(_HEAD).read(document, "")
        content = _CONTENT[head["part"]].read(document.get("content"), "content")
        if head["part"] == "accuracy":
            for name, entry in content.items():
                FORMATS.read(name, "content")
                if len(entry["length_of"]) != entry["n"]:
                    raise GateError("content.length_of does not have a digit for each problem.")
                if any(len(point["right"]) != -(-entry["n"] // 8) * 2 for point in entry["points"]):
                    raise GateError("content.points: right does not have a bit for each problem.")
        return cls(**head, content=content)


def stored_sets(folder: Path = EVIDENCE) -> Iterator[tuple[str, dict[str, StoredPart]]]:
    """(name, parts by name) of every set; a set without accuracy is none.

    Raises:
        DatasetError: see `StoredPart.read`.
    """
    for place in sorted(folder.glob("*/")):
        paths = {part: place / f"{part}.json" for part in PARTS}
        found = {part: StoredPart.read(path) for part, path in paths.items() if path.exists()}
        if "accuracy" in found:
            yield place.name, found


def plan_numbers(plan: Any) -> dict[str, list[float] | None]:
    """A dataclass of numbers, lists of numbers and None as `StoredPart.plan` has it."""
    values = {f.name: getattr(plan, f.name) for f in fields(plan)}
    return {
        name: None if value is None else list(value) if isinstance(value, tuple) else [value]
        for name, value in values.items()
    }
