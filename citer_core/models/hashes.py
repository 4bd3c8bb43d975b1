"""SHA-256 of large files, remembered in `$CITER_CACHE/hashes`, so that gigabytes are not read at every start."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from pathlib import Path
from typing import Any

from citer_core.config import cache_folder
from citer_core.errors import ModelFileError

log = logging.getLogger(__name__)


def sha256_of(path: Path) -> str:
    """Hex SHA-256 of a file; remembered for as long as its size and time of change stay.

    Raises:
        ModelFileError: the file cannot be read.
    """
    try:
        stat = path.stat()
        place = str(path.resolve())
        mark = {"path": place, "n_bytes": stat.st_size, "mtime_ns": stat.st_mtime_ns}
        note = cache_folder() / "hashes" / f"{hashlib.sha256(place.encode()).hexdigest()[:16]}.json"
        known = read_object(note)
        if known is not None and {name: known.get(name) for name in mark} == mark:
            return str(known["sha256"])
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read ({error.strerror or error}).") from error
    try:
        note.parent.mkdir(parents=True, exist_ok=True)
        partial = note.with_name(f"{note.name}.{os.getpid()}.partial")
        partial.write_text(json.dumps({**mark, "sha256": digest}) + "\n", encoding="utf-8")
        partial.replace(note)
    except OSError:
        log.debug("%s cannot be written: the file is hashed again next time", note)
    return digest


def read_object(path: Path) -> dict[str, Any] | None:
    """The JSON object in a file, or None where there is none."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) else None
