"""Reads a report, a folder with a file for each part: the results, for what goes on with them, and the devices and
profiles of those that are kept in `assets/benchmarks`, for the page; and says what they mean, in words and a table of
text. What is said is derived from the results each time, never stored. No torch.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from citer_core.errors import GateError, ProfileError
from citer_core.gate.excerpt import clean
from citer_core.gate.fields import ListOf, Real, Record, Text
from citer_core.gate.json_file import read_json
from citer_core.measuring.profile_numbers import Profile, check_profile
from citer_core.measuring.profile_words import Table

logger = logging.getLogger(__name__)
SCHEMA, SCHEMA_VERSION = "citer-device-report", 1
PARTS = ("device", "correctness", "speed", "waits", "profile", "batches", "runs", "memory")
MOST_BYTES = 20_000_000
MOST_REPORTS = 50
Result = dict[str, Any]
Results = Mapping[str, Mapping[str, Mapping[str, Any]]]
BANDWIDTH_GOAL, OUTSIDE_GOAL, ATTAINED_GOAL, WAITS_GOAL = 0.6, 0.05, 0.9, 1.0
GOAL_SHARE = 0.2  # of tokens by the LLM, at which a run is held against what its bytes say
HEAD = ("run", "way", "tokens/s", "of the copy bandwidth", "outside models and router", "of what bytes say")
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


def correctness_sentences(results: Results) -> list[str]:
    """Whether tokens are right, one sentence for each comparison that was made."""
    said = []
    for name, result in results.get("correctness", {}).items():
        verdict = "failed" if "error" in result else "right" if result["is_right"] else "WRONG"
        if "error" in result:
            counted = result["error"]
        elif "compared" in result:
            counted = "; ".join(
                f"{which}: {tally['n_equal']} of {tally['n_texts']} texts equal, {tally['n_ties']} part at a tie, "
                f"{tally['n_wrong']} wrong"
                for which, tally in result["compared"].items()
            )
        else:
            counted = (
                f"{result['n_probed_apart']} of {result['n_probed']} probed tokens and {result['n_labels_apart']} of "
                f"{result['n_labels']} labels differ from the processor's"
            )
        said.append(f"{name}: {verdict} ({counted}).")
    return said


def speed_table(results: Results) -> Table:
    """Runs of each pair in each way; a run with random weights moves the bytes of a real one."""
    rows = tuple(row for result in results.get("speed", {}).values() for row in _speed_rows(result))
    return Table("Decoding (measured; bytes estimated)", HEAD, rows)


def _speed_rows(result: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    if "error" in result:
        return
    pair, way = result["pair"], result.get("path", "")
    for name, words in (("slm_alone", "SLM alone"), ("llm_alone", "LLM alone")):
        if (row := result.get(name)) is not None:
            yield f"{pair}: {words}", way, _speed(row), _percent(row["bandwidth_share"]), "", ""
    for row in result.get("routed", []):
        yield (
            f"{pair}: routed, {row['llm_share']:.0%} LLM",
            way,
            _speed(row),
            _percent(row["bandwidth_share"]),
            _percent(row["outside_share"]),
            _percent(row["attained"]),
        )
    for name, row in result.get("runs", {}).items():
        share = row.get("bandwidth_share")
        yield f"{pair}: {name.replace('_', ' ')}", way, _speed(row), "" if share is None else _percent(share), "", ""


def bandwidth_sentences(results: Results) -> list[str]:
    """What each pair reaches in the way in which a run near `GOAL_SHARE` is the fastest, beside the goals."""
    said = []
    runs = [row for row in results.get("speed", {}).values() if row.get("routed")]
    for pair in dict.fromkeys(row["pair"] for row in runs):
        mine = [(row, _near_goal(row["routed"])) for row in runs if row["pair"] == pair]
        best, at = max(mine, key=lambda both: float(both[1]["tokens_per_s"]))
        shares = (best["slm_alone"]["bandwidth_share"], best["llm_alone"]["bandwidth_share"], at["bandwidth_share"])
        said.append(
            f"with {pair} ({best['path']}) the SLM alone reaches {shares[0]:.0%} of the copy bandwidth, the LLM alone "
            f"{shares[1]:.0%} and a routed run with {at['llm_share']:.0%} LLM tokens {shares[2]:.0%} (goal: "
            f"{BANDWIDTH_GOAL:.0%}); {at['outside_share']:.1%} of that run is outside models and router (goal: under "
            f"{OUTSIDE_GOAL:.0%}), and it saves {at['attained']:.0%} of what the bytes say (goal: {ATTAINED_GOAL:.0%})."
        )
    return said


def _near_goal(routed: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    return min(routed, key=lambda row: abs(float(row["llm_share"]) - GOAL_SHARE))


def goal_sentences(results: Results) -> list[str]:
    """The goals, each beside what was measured."""
    said = bandwidth_sentences(results)
    counted = (row for result in results.get("waits", {}).values() for row in result.get("rows", []))
    said += [
        f"{row['path']} at {row['asked_share']:.0%}: {row['waits_per_token']:.2f} waits a token (goal: at most "
        f"{WAITS_GOAL:.0f})."
        for row in counted
        if row["waits_per_token"] is not None
    ]
    return said


def problems(results: Results) -> list[str]:
    """What failed, and what is wrong."""
    every = [(f"{part}, {name}", result) for part, named in results.items() for name, result in named.items()]
    found = [f"{place}: {result['error']}" for place, result in every if "error" in result]
    found += [
        f"{place}: passes were not replayed"
        for place, result in every
        if str(result.get("path", "")).startswith("graphs") and not all(result.get("is_replayed", [True]))
    ]
    return found + [f"{place}: tokens are wrong" for place, result in every if result.get("is_right") is False]


def _speed(row: Mapping[str, Any]) -> str:
    return f"{row['tokens_per_s']:,.1f}"


def _percent(value: float) -> str:
    return f"{value:.1%}"
