"""Files from the model hub, resumable: a transfer that broke off goes on where it stopped, also in another process.

The hub's own client starts a file over after a restart, and takes eight files at once, so that a stop loses parts of
all of them. This one takes one after another and keeps what has come in `NAME.ETAG.partial`. Knows nothing about pairs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from huggingface_hub import HfApi, get_hf_file_metadata, hf_hub_url
from huggingface_hub.file_download import http_get
from huggingface_hub.utils import WeakFileLock, build_hf_headers, filter_repo_objects

from citer_core.errors import GateError, ModelFileError
from citer_core.gate.fields import Record, Text
from citer_core.gate.json_file import read_json
from citer_core.models.hashes import sha256_of

COMMIT_FILE = "commit.json"
_NOTE = Record({"commit": Text(200, min_chars=1)})
_SHA256 = re.compile(r"[0-9a-f]{64}")


class _Counted:
    """The part of a file that `http_get` writes to, which tells how much of it is there after every block."""

    def __init__(self, file: BinaryIO, on_bytes: Callable[[int], None]) -> None:
        self._file, self._on_bytes = file, on_bytes
        self.seek, self.tell, self.truncate = file.seek, file.tell, file.truncate
        on_bytes(file.tell())

    def write(self, block: bytes) -> int:
        n_written = self._file.write(block)
        self._on_bytes(self._file.tell())
        return n_written


def download_file(
    repo_id: str,
    name: str,
    target: Path,
    *,
    revision: str | None = None,
    on_bytes: Callable[[int], None] = lambda _: None,
) -> None:
    """Downloads one file, with a bar on stderr; does nothing where `target` exists.

    Args:
        repo_id, name: of the file on the hub.
        target: appears under this name when it is whole and, for large files, has the hash that the hub says.
        revision: commit, branch or tag; None takes the main branch.
        on_bytes: told after every block how many bytes of the file are here; what it raises ends the transfer, which
            can be resumed.

    Raises:
        ModelFileError: what has come is not what the hub says; it is not kept.
        Exception: what the hub's client and its transport raise, and OSError.
    """
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    url = hf_hub_url(repo_id, name, revision=revision)
    there = get_hf_file_metadata(url)
    etag = there.etag or "unknown"
    partial = target.with_name(f"{target.name}.{etag[:16]}.partial")
    with WeakFileLock(partial.with_suffix(".lock")):
        if target.exists():  # another process was at it, and has finished
            return
        with partial.open("ab") as file:
            counted = _Counted(file, on_bytes)
            # Not compressed, or a range would count other bytes than those that are kept.
            headers = {**build_hf_headers(), "Accept-Encoding": "identity"}
            http_get(
                url,
                counted,  # type: ignore[arg-type]  # all of a file that it uses
                resume_size=file.tell(),
                headers=headers,
                expected_size=there.size,
                displayed_filename=name,
            )
        if _SHA256.fullmatch(etag) and sha256_of(partial) != etag:  # the hub names large files by their hash
            partial.unlink()
            raise ModelFileError(f"{repo_id}:{name} arrived damaged (its SHA-256 is not the hub's): fetch it again.")
        partial.replace(target)
    partial.with_suffix(".lock").unlink(missing_ok=True)


def download_repository(
    repo_id: str,
    folder: Path,
    *,
    allowed: Sequence[str],
    ignored: Sequence[str],
    on_bytes: Callable[[int], None] = lambda _: None,
) -> None:
    """Downloads a repository's files, weights last: a folder with all weights has everything.

    Args:
        repo_id: of a model.
        folder: of the result; what is there already is kept, and the rest taken from the same commit.
        allowed, ignored: patterns of file names.
        on_bytes: as for `download_file`, of all files together.

    Raises:
        ModelFileError, Exception: see `download_file`.
    """
    note = folder / COMMIT_FILE
    commit = _noted_commit(note) if note.exists() else None
    info = HfApi().model_info(repo_id, revision=commit)
    if commit is None:
        folder.mkdir(parents=True, exist_ok=True)
        note.write_text(json.dumps({"repository": repo_id, "commit": info.sha}) + "\n", encoding="utf-8")
    names = [sibling.rfilename for sibling in info.siblings or []]
    chosen = filter_repo_objects(names, allow_patterns=list(allowed), ignore_patterns=list(ignored))
    n_before = 0
    for name in sorted(chosen, key=lambda name: (name.endswith(".safetensors"), name)):
        download_file(
            repo_id,
            name,
            folder / name,
            revision=info.sha,
            # mypy infers no type for a lambda with a default, which holds this round's sum.
            on_bytes=lambda n_bytes, before=n_before: on_bytes(before + n_bytes),  # type: ignore[misc]
        )
        n_before += (folder / name).stat().st_size
        on_bytes(n_before)


def _noted_commit(note: Path) -> str:
    try:
        return str(_NOTE.read(read_json(note, max_bytes=100_000), "")["commit"])
    except GateError as error:
        raise ModelFileError(
            f"{note} does not say which version the files beside it are of ({error}). Delete {note.parent.name}/ and "
            "fetch it again."
        ) from error
