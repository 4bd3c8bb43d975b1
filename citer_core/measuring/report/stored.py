"""Reports that are kept beside the project's other measurements: their devices and profiles, for whoever shows them.

A report is a folder in `assets/benchmarks`. No torch. Called by the page.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from citer_core.errors import ProfileError
from citer_core.gate.excerpt import clean
from citer_core.measuring.profile_file import check_profile
from citer_core.measuring.profile_numbers import Profile
from citer_core.measuring.report.parts import Result, read_report
from citer_core.measuring.report.words import bandwidth_sentences

logger = logging.getLogger(__name__)
MOST_REPORTS = 50


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
        """What share of the device's bandwidth was reached, and by what."""
        return [f"{self.hardware}, {self.date}: {line}" for line in bandwidth_sentences(self.results)]

    def profiles(self) -> dict[str, Profile]:
        """Its profiles, by the names of their pairs; those that cannot be read are left out and logged."""
        found = {}
        for name, result in self.results.get("profile", {}).items():
            if "error" in result:
                continue
            try:
                profile = check_profile(result.get("profile"), f"{self.name}/profile.json, {name}")
            except ProfileError as error:
                logger.warning("%s", error)
                continue
            found[f"{clean(profile.pair)[:80]}, {clean(profile.dtype)[:20]}"] = profile
        return found


def stored_reports(folder: Path) -> list[StoredReport]:
    """The reports in a folder's folders, by name; one that cannot be read is left out and logged."""
    found = []
    for path in sorted(folder.glob("*/device.json"))[:MOST_REPORTS]:
        try:
            results = read_report(path.parent)
        except ProfileError as error:
            logger.warning("%s", error)
            continue
        abouts = [result["about"] for named in results.values() for result in named.values()]
        if abouts:
            first = min(abouts, key=lambda about: str(about["date"]))
            found.append(StoredReport(path.parent.name, clean(first["hardware"])[:120], first["date"][:10], results))
    return found
