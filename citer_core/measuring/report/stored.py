"""Reads a report, a folder with a file for each part: the results, for what goes on with them, and the devices and
profiles of those that are kept in `assets/benchmarks`, for the page. No torch.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from citer_core.errors import GateError, ProfileError
from citer_core.gate.excerpt import clean
from citer_core.gate.fields import ListOf, Real, Record, Text
from citer_core.gate.json_file import read_json
from citer_core.measuring.profile_numbers import Profile, check_profile
from citer_core.measuring.report.words import bandwidth_sentences

logger = logging.getLogger(__name__)
SCHEMA, SCHEMA_VERSION = "citer-device-report", 1
PARTS = ("device", "correctness", "speed", "waits", "profile", "batches", "runs", "memory")
MOST_BYTES = 20_000_000
MOST_REPORTS = 50
Result = dict[str, Any]
V = TypeVar("V")
T = TypeVar("T")
_SHARE, _SPEED = Real(-1e6, 1e6), Real(0.0, 1e9)
_ALONE = Record({"tokens_per_s": _SPEED, "bandwidth_share": _SHARE})
_ROUTED = Record(
    {**dict.fromkeys(("llm_share", "bandwidth_share", "outside_share", "attained"), _SHARE), "tokens_per_s": _SPEED}
)
# What is said of runs in one way of decoding.
_RUNS = Record(
    {
        "pair": Text(100),
        "path": Text(50),
        "slm_alone": _ALONE,
        "llm_alone": _ALONE,
        "routed": ListOf(_ROUTED, most=100, least=1),
    }
)


def part_path(folder: Path, part: str) -> Path:
    """The file of one part."""
    return folder / f"{part}.json"


def _read_part(path: Path) -> dict[str, Result]:
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
    return {part: _read_part(path) for part in PARTS if (path := part_path(folder, part)).exists()}


def _is_result(result: object) -> bool:
    about = result.get("about") if isinstance(result, dict) else None
    return isinstance(about, dict) and all(isinstance(about.get(name), str) for name in ("date", "hardware"))


@dataclass(frozen=True, slots=True)
class StoredReport:
    """One report.

    Attributes:
        name: of its folder.
        hardware: of the device.
        date: of its first result, as `2026-11-22`.
        results: by part and name.
    """

    name: str
    hardware: str
    date: str
    results: dict[str, dict[str, Result]]

    def sentences(self) -> list[str]:
        """What share of the device's bandwidth was reached, and by what; runs that cannot be read are left out."""
        measured = {name: result for name, result in self.results.get("speed", {}).items() if "routed" in result}
        runs = _readable(measured, f"{self.name}/speed.json", _RUNS.read)
        return [f"{self.hardware}, {self.date}: {line}" for line in bandwidth_sentences({"speed": runs})]

    def profiles(self) -> dict[str, Profile]:
        """Its profiles, by the names of their pairs; those that cannot be read are left out and logged."""
        results = self.results.get("profile", {})
        measured = {name: result.get("profile") for name, result in results.items() if "error" not in result}
        found = _readable(measured, f"{self.name}/profile.json", check_profile).values()
        return {f"{clean(profile.pair)[:80]}, {clean(profile.dtype)[:20]}": profile for profile in found}


def stored_reports(folder: Path) -> list[StoredReport]:
    """The reports in a folder's folders, by name; one that cannot be read is left out and logged."""
    folders = {path.parent.name: path.parent for path in sorted(folder.glob("*/device.json"))[:MOST_REPORTS]}
    found = []
    for name, results in _readable(folders, folder.name, lambda path, _: read_report(path)).items():
        abouts = [result["about"] for named in results.values() for result in named.values()]
        if abouts:
            first = min(abouts, key=lambda about: str(about["date"]))
            found.append(StoredReport(name, clean(first["hardware"])[:120], clean(first["date"])[:10], results))
    return found


def _readable(values: Mapping[str, V], where: str, read: Callable[[V, str], T]) -> dict[str, T]:
    """What can be read of some values, by name; what cannot is left out and logged."""
    found = {}
    for name, value in values.items():
        place = f"{where}, {clean(name)[:80]}"
        try:
            found[name] = read(value, place)
        except (GateError, ProfileError) as error:
            logger.warning("%s: %s", place, error)
    return found
