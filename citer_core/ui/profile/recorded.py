"""`RecordedProfiles`: the profiles that are stored with the project, of which the tab shows one at a time.

The bundled pair's on a processor comes first; those of stored device reports follow, each named by its device.
Made by the page's server.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from citer_core.errors import CiterError
from citer_core.measuring.profile_file import read_profile
from citer_core.measuring.profile_numbers import Profile
from citer_core.measuring.report.stored import StoredReport, stored_reports
from citer_core.ui.profile.messages import profile_message
from citer_core.ui.streaming import Message, notice

FIRST = "Bundled pair on a processor"


class RecordedProfiles:
    """What is stored in a folder.

    Args:
        folder: has `profile.json`, and a folder for each device report.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def _reports(self) -> list[StoredReport]:
        return stored_reports(self._folder)

    @cached_property
    def _of_reports(self) -> dict[str, tuple[StoredReport, Profile]]:
        return {
            f"{pair} on {report.hardware}, {report.date}": (report, profile)
            for report in self._reports
            for pair, profile in report.profiles().items()
        }

    def choices(self) -> list[str]:
        """What there is to choose from, the first one first."""
        return [FIRST, *self._of_reports]

    def message(self, choice: object = None) -> Message:
        """One profile as a message, with what its report says of the device; or what is wrong with its file.

        Args:
            choice: one of `choices`; None, and what is none of them, takes the first.
        """
        found = self._of_reports.get(choice) if isinstance(choice, str) else None
        if found is not None:
            report, profile = found
            return profile_message(profile, "recorded", report.sentences())
        try:
            said = [sentence for report in self._reports for sentence in report.sentences()]
            return profile_message(read_profile(self._folder / "profile.json"), "recorded", said)
        except CiterError as error:
            return notice(str(error))
