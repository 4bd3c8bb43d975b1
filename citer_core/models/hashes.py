"""SHA-256 of files: small ones are read again each time, of large ones it is remembered in `$CITER_CACHE/hashes`.

Nine megabytes are hashed in ten milliseconds, so what ships with the project is checked at every start. Gigabytes take
seconds, and are hashed again only when the file's path, inode, size or time of change is another than last time.
"""

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
SMALL_BYTES = 64_000_000


def sha256_of(path: Path) -> str:
    """Hex SHA-256 of a file; above `SMALL_BYTES` remembered for as long as it stays the same file, by its marks.

    Raises:
        ModelFileError: the file cannot be read.
    """
    try:
        stat = path.stat()
        if stat.st_size <= SMALL_BYTES:
            return _digest(path)
        place = str(path.resolve())
        mark = {"path": place, "n_bytes": stat.st_size, "mtime_ns": stat.st_mtime_ns, "inode": stat.st_ino}
        note = cache_folder() / "hashes" / f"{hashlib.sha256(place.encode()).hexdigest()[:16]}.json"
        known = read_object(note)
        if known is not None and {name: known.get(name) for name in mark} == mark:
            digest = known.get("sha256")
            if isinstance(digest, str):
                return digest
        digest = _digest(path)
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


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_object(path: Path) -> dict[str, Any] | None:
    """The JSON object in a file, or None where there is none."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None
