"""The folder of an unfinished fine-tuning: whose it is, and where to go on. Knows nothing about models.

Trainer keeps optimizer and random states there with torch.save. Its loader reads tensors only (`weights_only`), and is
only pointed at a folder whose run.json is this run's own, so that no other run's files are resumed by accident.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from citer_core.errors import GateError, ModelFileError
from citer_core.files import why, write_whole
from citer_core.gate.excerpt import clean
from citer_core.gate.json_file import read_json
from citer_core.models.same_pair import is_same_run

RUN_SCHEMA_VERSION = 1
MODEL = "model_revision"


def open_work_dir(work_dir: Path, settings: Mapping[str, Any]) -> None:
    """Records what the run is, or compares it with what is recorded.

    Args:
        work_dir: created if it is not there.
        settings: all that decides the result; JSON values.

    Raises:
        ModelFileError: the folder is another run's, is not ours, or cannot be written.
    """
    identity = {"schema_version": RUN_SCHEMA_VERSION, **settings}
    path = work_dir / "run.json"
    try:
        if path.exists():
            before = dict(read_json(path))
            # A name from before all weights were covered is still this model's.
            if is_same_run(str(before.get(MODEL)), str(identity.get(MODEL))):
                before[MODEL] = identity.get(MODEL)
            names = [name for name in {**before, **identity} if before.get(name) != identity.get(name)]
            if names:
                changes = ", ".join(
                    f"{_said(n)} was {_said(before.get(n))} and is {_said(identity.get(n))}" for n in names
                )
                raise ModelFileError(
                    f"{work_dir} is another run's: {changes}. Use the same arguments to resume it, remove "
                    "it, or choose another --output."
                )
            return
        if work_dir.exists() and any(not _is_of_a_kill(path) for path in work_dir.iterdir()):
            raise ModelFileError(f"{work_dir} is there, but no run.json in it: remove it, or choose another --output.")
        work_dir.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(identity, indent=2) + "\n")
    except OSError as error:
        raise ModelFileError(f"{work_dir} cannot be written ({why(error)}): choose another --output.") from error
    except (ValueError, TypeError, GateError) as error:
        raise ModelFileError(
            f"{work_dir} cannot be used ({clean(str(error))[:200]}): remove it, or choose another --output."
        ) from error


def _said(value: object) -> str:
    return clean(str(value))[:60]


def _is_of_a_kill(path: Path) -> bool:
    """Whether a file is what a kill leaves that came before run.json was there."""
    return path.name.startswith("run.json.") or path.name == ".run.lock"


def last_complete_checkpoint(work_dir: Path) -> str | None:
    """The newest checkpoint whose last file is there and whole; a kill leaves one without it, which is passed over."""
    numbered = [
        (int(number), path)
        for path in work_dir.glob("checkpoint-*")
        if (number := path.name.rpartition("-")[2]).isdecimal() and len(number) < 12
    ]
    for _, path in sorted(numbered, reverse=True):
        try:
            read_json(path / "trainer_state.json")
        except GateError:
            continue
        return str(path)
    return None
