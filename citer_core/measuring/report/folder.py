"""`ReportFolder`: what a report has found, a file for each part, written as each result is there.

A cut leaves all that was found before; another run in the same folder goes on with what is missing, and tries again
what failed. To have a result again, delete its file. Knows nothing about what is measured.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import platform
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import torch
import transformers

import citer_core
from citer_core.errors import ProfileError, SettingError
from citer_core.files import need_folder, write_whole
from citer_core.measuring.report.stored import PARTS, SCHEMA, SCHEMA_VERSION, Result, part_path, read_report

_SAME = ("hardware", "torch", "transformers")  # in which the results of one folder agree


class ReportFolder:
    """The parts in a folder.

    Args:
        folder: made where it is missing.
        about: what each result says of where it comes from; see `about_here`.

    Raises:
        SettingError: it cannot be written, or holds something else or results from elsewhere.
    """

    def __init__(self, folder: Path, about: Mapping[str, str]) -> None:
        need_folder(folder)
        self.path, self._about = folder, dict(about)
        another = "Choose another --output-dir, or delete it."
        try:
            self._parts = read_report(folder)
        except ProfileError as error:
            raise SettingError(f"{error} {another}") from error
        for part, result in ((part, result) for part, named in self._parts.items() for result in named.values()):
            differing = [name for name in _SAME if result["about"].get(name) != self._about[name]]
            if differing:
                raise SettingError(
                    f"{part_path(folder, part)} holds results of other {', '.join(differing)} than this machine's, and "
                    f"one report must not mix them. {another}"
                )

    def result(self, part: str, name: str) -> Result | None:
        """What was found, whether it failed or not; None where nothing was."""
        return self._parts.get(part, {}).get(name)

    def is_done(self, part: str, name: str) -> bool:
        """Whether there is a result that did not fail."""
        result = self.result(part, name)
        return result is not None and "error" not in result

    def results(self) -> dict[str, dict[str, Result]]:
        """All of them, by part and name, in the order in which they were found."""
        return {part: dict(self._parts[part]) for part in PARTS if part in self._parts}

    def store(self, part: str, name: str, result: Mapping[str, Any], seconds: float) -> None:
        """Keeps one result, on the disk when this returns.

        Raises:
            MachineError: it could not be written.
        """
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        known = self._parts.setdefault(part, {})
        known[name] = {"about": {"date": now, **self._about}, "seconds": round(seconds, 2), **result}
        document = {"schema": SCHEMA, "schema_version": SCHEMA_VERSION, "part": part, "results": known}
        write_whole(part_path(self.path, part), json.dumps(document, indent=1) + "\n")


def about_here(device: str, hardware: str, command: str) -> dict[str, str]:
    """Where results come from.

    Args:
        device: as torch spells it.
        hardware: its name.
        command: that gives them again.
    """
    return {
        "hardware": hardware,
        "device": device,
        "torch": torch.__version__,
        "cuda": str(torch.version.cuda),
        "transformers": transformers.__version__,
        "python": platform.python_version(),
        "code": f"{citer_core.__version__}+{code_hash()}",
        "command": command,
    }


@cache
def code_hash(root: Path = Path(citer_core.__file__).parent) -> str:
    """Twelve hex digits over all our Python files: what ran, also where there is no git."""
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]
