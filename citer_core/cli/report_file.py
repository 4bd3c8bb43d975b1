"""The file of a measurement's result: its place is found, taken and reserved before the minutes of measuring.

A result that cannot be written after them all the same is kept elsewhere, and its reader is told where. Knows nothing
about what is measured.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from citer_core.cli.terminal import say
from citer_core.errors import MachineError, SettingError
from citer_core.file_lock import only_writer
from citer_core.files import rescue, why

RESERVED = 64 * 1024  # bytes: more than any result so far


@contextmanager
def report_file(path: Path | None) -> Iterator[Callable[[Mapping[str, Any]], str]]:
    """Opens the place for a result; what was there stays until another one is complete.

    Args:
        path: of the file, its folder is created; None stores nothing.

    Yields:
        A function that stores a result and returns it as JSON text.

    Raises:
        SettingError: nothing can be written there, or another run is about to.
        MachineError: the result could not be written there any more; the message says where it is instead. Raised at
            the end of the block, so that it can be printed meanwhile.
    """
    if path is None:
        yield _text
        return
    with ExitStack() as held:
        try:
            if path.is_dir():
                raise IsADirectoryError(None, "it is a folder")
            path.parent.mkdir(parents=True, exist_ok=True)
            held.enter_context(only_writer(path))
            unfinished = _reserve(path)
        except OSError as error:
            raise SettingError(f"{path} cannot be written ({why(error)}): choose another file.") from error
        held.callback(unfinished.unlink, missing_ok=True)
        failures: list[MachineError] = []

        def store(result: Mapping[str, Any]) -> str:
            text = _text(result)
            try:
                _fill(unfinished, text)
                unfinished.replace(path)
            except OSError as error:
                failures.append(_elsewhere(path, text, error))
            return text

        yield store
        if failures:
            raise failures[0]


def _fill(unfinished: Path, text: str) -> None:
    with unfinished.open("r+b") as file:  # over what is reserved, so that it fits on a disk that is full by now
        file.write(text.encode())
        file.truncate()
        file.flush()
        os.fsync(file.fileno())
    unfinished.chmod(0o644)  # a temporary file is its owner's alone


def _reserve(path: Path) -> Path:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(bytes(RESERVED))
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return Path(name)


def _elsewhere(path: Path, text: str, error: OSError) -> MachineError:
    kept = rescue(path.name, text.encode())
    failed = f"{path} could no longer be written ({why(error)})."
    if kept is None:
        say(text)
        return MachineError(f"{failed} The result stands above, as JSON: it could not be kept anywhere else either.")
    return MachineError(f"{failed} The result is kept in {kept}: move it where it belongs.")


def _text(result: Mapping[str, Any]) -> str:
    return json.dumps(result, indent=1) + "\n"
