"""What is on this machine of a model's weights, and how to get the rest: the one place that talks to the model hub.

    $CITER_CACHE/models/NAME.gguf    files put there by hand, taken under their name once their hash is right
    the hub's own cache              whatever `fetch` downloads, or another program has (HF_HOME)
    $CITER_CACHE/hashes/             SHA-256 of files that were read once, so that they are not read again

Nothing is downloaded but by `fetch`. Knows nothing about how weights are read.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from citer_core.config import cache_folder
from citer_core.errors import ModelFileError
from citer_core.models.presets import known_disk_bytes
from citer_core.models.sources import FolderSource, GgufSource, HubSource, ModelSource

log = logging.getLogger(__name__)

# What a checkpoint needs. Weights in safetensors only: a pickle is neither read nor fetched.
PATTERNS = ["*.safetensors", "*.json", "*.jinja", "merges.txt", "tokenizer.model"]
NOT_NEEDED = ["*/*"]  # other formats of the same weights are in folders of their own


def find(source: ModelSource) -> Path | None:
    """Where the weights of a source are on this machine; None where they are not, or not all of them.

    A folder is where it was said to be, whether it exists or not: reading it says better what is wrong.
    """
    if isinstance(source, FolderSource):
        return source.path
    if isinstance(source, HubSource):
        return _cached_snapshot(source.repo_id)
    if source.repo_id is None:
        path = Path(source.name)
        return path if path.is_file() else None
    by_hand = [folder / source.file_name for folder in (cache_folder() / "models", cache_folder())]
    found = next((path for path in by_hand if path.is_file()), None)
    return found or _cached_file(source.repo_id, source.name)


def require(source: ModelSource, fetch_what: str) -> Path:
    """Where the weights are, checked against the known hash.

    Args:
        source: any.
        fetch_what: what to write after `fetch` to get it.

    Raises:
        ModelFileError: they are not here, which says how big they are and how to get them; or they are other ones.
    """
    path = find(source)
    if path is not None:
        if isinstance(source, GgufSource):
            check_hash(source, path)
        return path
    if isinstance(source, GgufSource) and source.repo_id is None:
        raise ModelFileError(f"There is no file {source.name}. Give the path of a .gguf file.")
    by_hand = f", or put {source.file_name} into {cache_folder() / 'models'}" if isinstance(source, GgufSource) else ""
    raise ModelFileError(
        f"The weights of {source} ({size_in_words(known_disk_bytes(source))}) are not on this machine. Run "
        f"`python -m citer_core fetch {fetch_what}` once{by_hand}; or add --download."
    )


def fetch(source: ModelSource, say: Callable[[str], None] = log.info) -> Path:
    """Downloads what is missing of a source, with progress on stderr; what is there already is kept.

    Args:
        source: any; of local ones only the presence is checked.
        say: told in a line what happens.

    Returns:
        Where the weights are.

    Raises:
        ModelFileError: no network, no access, no space, no such repository, or another file than the expected one.
    """
    path = find(source)
    if path is not None and path.exists():
        if isinstance(source, GgufSource):
            check_hash(source, path)
        say(f"{source}: is here, {path}")
        return path
    if isinstance(source, FolderSource) or (isinstance(source, GgufSource) and source.repo_id is None):
        raise ModelFileError(f"{source} is a local path and does not exist: there is nothing to fetch it from.")
    n_bytes = known_disk_bytes(source)
    _check_space(source, n_bytes)
    say(f"{source}: fetching {size_in_words(n_bytes)}")
    try:
        path = _download(source)
    except Exception as error:  # the hub's client, its transport and the disk each have their own kinds
        raise ModelFileError(_what_went_wrong(source, error)) from error
    if isinstance(source, GgufSource):
        check_hash(source, path)
    elif not is_whole(path):
        raise ModelFileError(
            f"{source} has no complete transformers checkpoint in safetensors (config.json, tokenizer.json and "
            "weights): choose another repository; other kinds of weights are not read."
        )
    say(f"{source}: done, {path}")
    return path


def check_hash(source: GgufSource, path: Path) -> None:
    """Compares a file with the one that is meant, where that is known.

    Raises:
        ModelFileError: it is another one, or cannot be read.
    """
    if source.sha256 is None:
        return
    n_bytes = path.stat().st_size
    if n_bytes == source.n_bytes and sha256_of(path) == source.sha256:
        return
    what = "SHA-256 is another" if n_bytes == source.n_bytes else f"{n_bytes:,} bytes instead of {source.n_bytes:,}"
    raise ModelFileError(
        f"{path} is not the file that is meant ({what}): it is damaged, or another version. Delete it "
        "and fetch it again."
    )


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
        known = _read_note(note)
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


def is_whole(folder: Path) -> bool:
    """Whether a folder has all that a transformers checkpoint needs, every shard of its weights included."""
    has_tokenizer = any((folder / name).is_file() for name in ("tokenizer.json", "tokenizer.model", "vocab.json"))
    if not has_tokenizer or not (folder / "config.json").is_file():
        return False
    if (folder / "model.safetensors").is_file():
        return True
    index = _read_note(folder / "model.safetensors.index.json")
    shards = set(index["weight_map"].values()) if index and isinstance(index.get("weight_map"), dict) else set()
    return bool(shards) and all((folder / shard).is_file() for shard in shards)


def size_in_words(n_bytes: int | None) -> str:
    """`491 MB`, `15.2 GB`, or that it is not known before the hub is asked."""
    if n_bytes is None:
        return "a size that only the hub knows"
    return f"{n_bytes / 1e9:,.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:,.0f} MB"


def _cached_snapshot(repo_id: str) -> Path | None:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        folder = Path(
            snapshot_download(repo_id, local_files_only=True, allow_patterns=PATTERNS, ignore_patterns=NOT_NEEDED)
        )
    except LocalEntryNotFoundError:  # nothing is cached, or the last download was interrupted
        return None
    return folder if is_whole(folder) else None


def _cached_file(repo_id: str, name: str) -> Path | None:
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(repo_id, name)
    return Path(found) if isinstance(found, str) else None


def _download(source: HubSource | GgufSource) -> Path:
    import huggingface_hub

    if isinstance(source, GgufSource):
        assert source.repo_id is not None
        return Path(huggingface_hub.hf_hub_download(source.repo_id, source.name))
    return Path(huggingface_hub.snapshot_download(source.repo_id, allow_patterns=PATTERNS, ignore_patterns=NOT_NEEDED))


def _check_space(source: ModelSource, n_bytes: int | None) -> None:
    from huggingface_hub.constants import HF_HUB_CACHE

    place = Path(HF_HUB_CACHE)
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    if n_bytes is not None and free < n_bytes:
        raise ModelFileError(
            f"{source} needs {size_in_words(n_bytes)}, and {HF_HUB_CACHE} has {size_in_words(free)} free: make room, "
            "or set HF_HOME to a folder on a larger disk."
        )


def _what_went_wrong(source: HubSource | GgufSource, error: Exception) -> str:
    from huggingface_hub.errors import (
        EntryNotFoundError,
        GatedRepoError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
    )

    if isinstance(error, GatedRepoError):
        return (
            f"{source} is gated: accept its licence on https://huggingface.co/{source.repo_id}, then log in with "
            "`hf auth login` (or set HF_TOKEN) and fetch again."
        )
    if isinstance(error, RepositoryNotFoundError):
        return f"The hub has no repository {source.repo_id}, or it is private: check the id, or log in first."
    if isinstance(error, EntryNotFoundError) and not isinstance(error, LocalEntryNotFoundError):
        return f"The repository {source.repo_id} has no such file as {source}: look for the right name on its page."
    first_line = str(error).strip().split("\n", 1)[0][:200] or type(error).__name__
    by_hand = ""
    if isinstance(source, GgufSource):
        by_hand = f" Or put the file {source.file_name} into {cache_folder() / 'models'}."
    return (
        f"{source} could not be fetched ({first_line}). What has come so far is kept: run the same command again to "
        f"go on.{by_hand}"
    )


def _read_note(path: Path) -> dict[str, Any] | None:
    """A JSON object, or None where there is none."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) else None
