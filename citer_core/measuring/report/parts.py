"""The files of a report: their names, their form and the reading of them. No torch; called by `folder` and `stored`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from citer_core.errors import GateError, ProfileError
from citer_core.gate.json_file import read_json

SCHEMA, SCHEMA_VERSION = "citer-device-report", 1
PARTS = ("device", "correctness", "speed", "waits", "profile", "batches", "runs", "memory")
MOST_BYTES = 20_000_000
Result = dict[str, Any]


def read_part(path: Path) -> dict[str, Result]:
    """The results in one file by their names, each with an `about` of texts.

    Raises:
        ProfileError: it is not a part of a report of this version.
    """
    try:
        document = read_json(path, max_bytes=MOST_BYTES)
    except GateError as error:
        raise ProfileError(f"{path} cannot be read as a part of a report ({error}).") from error
    is_ours = isinstance(document, dict) and document.get("schema") == SCHEMA
    results = document.get("results") if is_ours and document.get("schema_version") == SCHEMA_VERSION else None
    if not isinstance(results, dict) or not all(map(_is_result, results.values())):
        raise ProfileError(f"{path} is not a part of a device report of version {SCHEMA_VERSION}.")
    return results


def read_report(folder: Path) -> dict[str, dict[str, Result]]:
    """All parts that a folder has, by their names.

    Raises:
        ProfileError: one of them cannot be read.
    """
    return {part: read_part(path) for part in PARTS if (path := folder / f"{part}.json").exists()}


def _is_result(result: object) -> bool:
    about = result.get("about") if isinstance(result, dict) else None
    return isinstance(about, dict) and all(isinstance(about.get(name), str) for name in ("date", "hardware"))
