"""SHA-256 of files, and whether a model's files are those that its card names, compared before anything is read.

    FOLDER/citer.json         beside weights that this project converted or trained: "files" {name: SHA-256}
    FOLDER/../card.json       of the pair that ships: "files" {"llm/model.safetensors": SHA-256, ...}
    $CITER_CACHE/hashes/      of large files, what was computed before

A folder from elsewhere has no card, and is taken as it is. Nine megabytes are hashed in ten milliseconds, so what ships
with the project is checked at every start. Gigabytes take seconds, and are hashed again only when the file's path,
inode, size or time of change is another than last time. Knows nothing about what is in the files.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any

from citer_core.assets import ASSETS
from citer_core.config import cache_folder
from citer_core.errors import GateError, MachineError, ModelFileError
from citer_core.files import write_whole
from citer_core.gate.excerpt import clean
from citer_core.gate.fields import MapOf, Record, Text
from citer_core.gate.json_file import read_json

SMALL_BYTES = 64_000_000
NOTE = "citer.json"
CARD = "card.json"
FILES = "files"
BUNDLED = ASSETS / "models"
BUNDLED_FOLDERS = ("slm", "llm", "tokenizer")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_MAX_CARD_BYTES = 1_000_000
_CARD = Record({}, {FILES: MapOf(Text(64), most=10_000)})


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
    with contextlib.suppress(OSError, MachineError):  # it is hashed again next time
        note.parent.mkdir(parents=True, exist_ok=True)
        write_whole(note, json.dumps({**mark, "sha256": digest}) + "\n")
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


def sums_of(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """SHA-256 of files beneath a folder, by their names there, sorted.

    Raises:
        ModelFileError: one cannot be read.
    """
    return {name: sha256_of(folder / name) for name in sorted(names)}


def bundled_files(models: Path = BUNDLED) -> list[str]:
    """Names of all weights, configurations and tokenizer files of the pair that ships, beneath its folder."""
    return [f"{which}/{path.name}" for which in BUNDLED_FOLDERS for path in (models / which).iterdir()]


def check_files(folder: Path) -> None:
    """Compares a folder's files with what its card names.

    Args:
        folder: of a model or a tokenizer; one without a card is not looked at.

    Raises:
        ModelFileError: a file is missing, is another one, or the card cannot be read. It names the file and says where
            to get it again.
    """
    if (folder / NOTE).is_file():
        expected = _files_in(folder / NOTE, prefix="")
        again = (
            f"Make {folder.name}/ again (delete a converted folder, and it is converted again; train or copy a trained "
            f"one); or, if the change is intended, delete its {NOTE}."
        )
    elif (folder.parent / CARD).is_file() or folder.parent == BUNDLED:
        expected = _files_in(folder.parent / CARD, prefix=f"{folder.name}/")
        again = "Get it again: `git checkout -- assets/models`, or copy the project again."
        if folder.parent == BUNDLED and not expected:
            raise ModelFileError(f"The card of the bundled pair names no files of {folder.name}/. {again}")
    else:
        return
    there = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    for name, sha256 in expected.items():
        if name not in there:  # compared as text: a name from a damaged card need not be one that a path can have
            raise ModelFileError(f"{folder.name}/{clean(name)[:60]} is missing. {again}")
        if sha256_of(folder / name) != sha256:
            raise ModelFileError(
                f"{folder.name}/{name} is not the file that its card names (its SHA-256 is different): it is damaged "
                f"or was changed, and is not loaded. {again}"
            )


def _files_in(card: Path, prefix: str) -> dict[str, str]:
    """What a card says of the files whose names begin with `prefix`, without it."""
    try:
        files = _CARD.read(read_json(card, max_bytes=_MAX_CARD_BYTES), card.name).get(FILES, {})
    except GateError as error:
        raise _damaged(card) from error
    found = {name.removeprefix(prefix): sha256 for name, sha256 in files.items() if name.startswith(prefix)}
    if any(name != PurePosixPath(name).name or not _SHA256.fullmatch(sha256) for name, sha256 in found.items()):
        raise _damaged(card)
    return found


def _damaged(card: Path) -> ModelFileError:
    return ModelFileError(
        f"{card.parent.name}/{card.name}, which says what the model's files must be, cannot be read. Get it again: "
        "`git checkout -- assets/models` for what ships; train or convert again for what was made here."
    )
