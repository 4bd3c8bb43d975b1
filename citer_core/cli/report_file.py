"""The file of a measurement's result: known to be writable before the minutes of measuring, replaced after them.

Knows nothing about what is measured.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from citer_core.errors import SettingError


@contextmanager
def report_file(path: Path | None) -> Iterator[Callable[[Mapping[str, Any]], str]]:
    """Opens the place for a result; what was there stays until another one is complete.

    Args:
        path: of the file, its folder is created; None stores nothing.

    Yields:
        A function that stores a result and returns it as JSON text.

    Raises:
        SettingError: nothing can be written there.
    """
    if path is None:
        yield _text
        return
    try:
        if path.is_dir():
            raise IsADirectoryError(None, "it is a folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise SettingError(f"{path} cannot be written ({error.strerror or error}): choose another file.") from error
    os.close(handle)
    unfinished = Path(name)

    def store(result: Mapping[str, Any]) -> str:
        text = _text(result)
        unfinished.write_text(text, encoding="utf-8")
        unfinished.chmod(0o644)  # a temporary file is its owner's alone
        unfinished.replace(path)
        return text

    try:
        yield store
    finally:
        unfinished.unlink(missing_ok=True)


def _text(result: Mapping[str, Any]) -> str:
    return json.dumps(result, indent=1) + "\n"
