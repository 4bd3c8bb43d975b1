"""What is on this machine of a model's weights, and how to get the rest: the one place that talks to the model hub.

    $CITER_CACHE/models/NAME.gguf      put there by hand: taken where the hash that is meant is known, and right
    $CITER_CACHE/models/ORG--REPO/     what `fetch` downloads of a repository, and files put there by hand
    the hub's own cache (HF_HOME)      what another program has downloaded; only read

Nothing is downloaded but by `fetch`. What it takes to load a pair is known before anything is read (`needs_of`),
without asking the hub. Imports no torch; knows nothing about how weights are read.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from citer_core.config import cache_folder
from citer_core.errors import CiterError, ModelFileError
from citer_core.gate.excerpt import first_line
from citer_core.models.hashes import read_object, sha256_of
from citer_core.models.presets import known_disk_bytes, parse_pair, preset_model
from citer_core.models.sources import CONVERSION, FolderSource, GgufSource, HubSource, ModelSource
from citer_core.models.spec import model_bytes

log = logging.getLogger(__name__)

# What a checkpoint needs. Weights in safetensors only: a pickle is neither read nor fetched.
PATTERNS = ["*.safetensors", "*.json", "*.jinja", "merges.txt", "tokenizer.model"]
NOT_NEEDED = ["*/*"]  # other formats of the same weights are in folders of their own
ON_TOP = 1.1  # activations and the framework, of weights and cache
# Unpacking a GGUF file holds its weights in float32, and once more while they are rounded and written.
UNPACKING_BYTES_PER_PARAM = 6
AUTO = "auto"


def find(source: ModelSource) -> Path | None:
    """Where the weights of a source are on this machine; None where they are not, or not all of them.

    A folder is where it was said to be, whether it exists or not: reading it says better what is wrong.
    """
    if isinstance(source, FolderSource):
        return source.path
    if isinstance(source, HubSource):
        ours = _folder_of(source.repo_id)
        return ours if is_whole(ours) else _cached_snapshot(source.repo_id)
    if source.repo_id is None:
        path = Path(source.name)
        return path if path.is_file() else None
    by_hand = [_folder_of(source.repo_id) / source.file_name]
    if source.sha256 is not None:  # else any file of that name would be taken for this one
        by_hand += [folder / source.file_name for folder in (cache_folder() / "models", cache_folder())]
    found = next((path for path in by_hand if path.is_file()), None)
    return found or _cached_file(source.repo_id, source.name)


def missing(sources: Sequence[ModelSource]) -> list[ModelSource]:
    """Those of several sources that are not on this machine, each once."""
    return [source for source in dict.fromkeys(sources) if find(source) is None]


def require(sources: Sequence[ModelSource], fetch_what: str) -> list[Path]:
    """Where the weights of several sources are, checked against the known hashes.

    Args:
        sources: any.
        fetch_what: what to write after `fetch` to get them.

    Raises:
        ModelFileError: some are not here, which says how big they are and how to get them; or they are other ones.
    """
    lacking = missing(sources)
    for source in lacking:
        if isinstance(source, GgufSource) and source.repo_id is None:
            raise ModelFileError(f"There is no file {source.name}. Give the path of a .gguf file.")
    if lacking:
        named = " and ".join(f"{source} ({size_in_words(known_disk_bytes([source]))})" for source in lacking)
        files = [source for source in lacking if isinstance(source, GgufSource)]
        by_hand = "".join(f", or put {_place_by_hand(source)}" for source in files)
        raise ModelFileError(
            f"Not on this machine: the weights of {named}. Run `python -m citer_core fetch {fetch_what}` "
            f"once{by_hand}; or add --download."
        )
    paths = [path for source in sources if (path := find(source)) is not None]
    for source, path in zip(sources, paths, strict=True):
        check_hash(source, path)
    return paths


def fetch(
    source: ModelSource, say: Callable[[str], None] = log.info, on_bytes: Callable[[int], None] = lambda _: None
) -> Path:
    """Downloads what is missing of a source, with progress on stderr; what is there already is kept.

    Args:
        source: any; of local ones only the presence is checked.
        say: told in a line what happens.
        on_bytes: told how many bytes are here, after every block; what it raises as a `CiterError` ends the download.

    Returns:
        Where the weights are.

    Raises:
        ModelFileError: no network, no access, no space, no such repository, or another file than the expected one.
    """
    path = find(source)
    if path is not None and path.exists():
        check_hash(source, path)
        say(f"{source}: is here, {path}")
        return path
    if isinstance(source, FolderSource) or (isinstance(source, GgufSource) and source.repo_id is None):
        raise ModelFileError(f"{source} is a local path and does not exist: there is nothing to fetch it from.")
    n_bytes = known_disk_bytes([source])
    _check_space(source, n_bytes)
    say(f"{source}: fetching {size_in_words(n_bytes)}")
    try:
        path = _download(source, on_bytes)
    except CiterError:
        raise
    except Exception as error:  # the hub's client, its transport and the disk each have their own kinds
        raise ModelFileError(_what_went_wrong(source, error)) from error
    check_hash(source, path)
    if isinstance(source, HubSource) and not is_whole(path):
        raise ModelFileError(
            f"{source} has no complete transformers checkpoint in safetensors (config.json, tokenizer.json and "
            "weights): choose another repository; other kinds of weights are not read."
        )
    say(f"{source}: done, {path}")
    return path


@dataclass(frozen=True, slots=True)
class PairNeeds:
    """What loading takes.

    Attributes:
        n_missing: models of the two that are not on this machine.
        fetch_bytes: to download; 0 where everything is here, None where only the hub knows.
        converts: GGUF weights have to be unpacked first, once, which takes minutes.
        memory_bytes: of both models once loaded, about a tenth on top included; None where their size is not known.
        peak_bytes: the most at any time while loading, at least `memory_bytes`.
    """

    n_missing: int
    fetch_bytes: int | None
    converts: bool
    memory_bytes: int | None
    peak_bytes: int | None


def needs_of(pair: str, dtype: str, llm_quantization: str | None = None) -> PairNeeds:
    """What loading `pair` takes.

    Args:
        pair: as for `load_pair`.
        dtype: `float32`, `bfloat16` or `float16`; or `auto`, which is counted as the float32 that it may become.
        llm_quantization: see `PairOptions`.

    Raises:
        PairError: an unknown pair, dtype or quantization.
    """
    dtype = "float32" if dtype == AUTO else dtype
    choice = parse_pair(pair)
    sources = (choice.slm, choice.llm)
    lacking = missing(sources)
    unpacked = [_to_unpack(source, dtype) for source in sources]
    memory = peak = None
    slm, llm = map(preset_model, sources)
    if slm is not None and llm is not None:
        weights = model_bytes(slm.spec, dtype) + model_bytes(llm.spec, dtype, llm_quantization)
        memory = peak = round(ON_TOP * weights)
        for model, is_unpacked in zip((slm, llm), unpacked, strict=True):
            if is_unpacked:
                peak = max(peak, model.spec.n_params * UNPACKING_BYTES_PER_PARAM)
    return PairNeeds(
        n_missing=len(lacking),
        fetch_bytes=known_disk_bytes(lacking),
        converts=any(unpacked),
        memory_bytes=memory,
        peak_bytes=peak,
    )


def _to_unpack(source: ModelSource, dtype: str) -> bool:
    """Whether a GGUF file has not been converted to this dtype yet; told by name, without hashing the file."""
    if not isinstance(source, GgufSource):
        return False
    stem = (find(source) or Path(source.file_name)).stem
    return not any((cache_folder() / "converted").glob(f"{stem}-*-{dtype}-{CONVERSION}/citer.json"))


def check_hash(source: ModelSource, path: Path) -> None:
    """Compares a file with the one that is meant, where that is known.

    Raises:
        ModelFileError: it is another one, or cannot be read.
    """
    if not isinstance(source, GgufSource) or source.sha256 is None:
        return
    n_bytes = path.stat().st_size
    if n_bytes == source.n_bytes and sha256_of(path) == source.sha256:
        return
    what = "SHA-256 is different" if n_bytes == source.n_bytes else f"{n_bytes:,} bytes instead of {source.n_bytes:,}"
    raise ModelFileError(
        f"{path} is not the expected file ({what}): it is damaged, or another version. Delete it and fetch it again."
    )


def is_whole(folder: Path) -> bool:
    """Whether a folder has all that a transformers checkpoint needs, every shard of its weights included."""
    has_tokenizer = any((folder / name).is_file() for name in ("tokenizer.json", "tokenizer.model", "vocab.json"))
    if not has_tokenizer or not (folder / "config.json").is_file():
        return False
    if (folder / "model.safetensors").is_file():
        return True
    index = read_object(folder / "model.safetensors.index.json") or {}
    named = index.get("weight_map")
    shards = list(named.values()) if isinstance(named, dict) else []
    return bool(shards) and set(map(str, shards)) <= {path.name for path in folder.iterdir()}


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
    except (LocalEntryNotFoundError, RuntimeError):  # nothing is cached, the last download was interrupted; or no home
        return None
    return folder if is_whole(folder) else None


def _cached_file(repo_id: str, name: str) -> Path | None:
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(repo_id, name)
    return Path(found) if isinstance(found, str) else None


def _folder_of(repo_id: str) -> Path:
    return cache_folder() / "models" / repo_id.replace("/", "--")


def _place_by_hand(source: GgufSource) -> str:
    """`FILE into FOLDER`: where a file of the hub is looked for."""
    assert source.repo_id is not None
    known = source.sha256 is not None
    return f"{source.file_name} into {cache_folder() / 'models' if known else _folder_of(source.repo_id)}"


def _download(source: HubSource | GgufSource, on_bytes: Callable[[int], None]) -> Path:
    from citer_core.models.download import download_file, download_repository

    assert source.repo_id is not None
    folder = _folder_of(source.repo_id)
    if isinstance(source, HubSource):
        download_repository(source.repo_id, folder, allowed=PATTERNS, ignored=NOT_NEEDED, on_bytes=on_bytes)
        return folder
    download_file(source.repo_id, source.name, folder / source.file_name, on_bytes=on_bytes)
    return folder / source.file_name


def _check_space(source: HubSource | GgufSource, n_bytes: int | None) -> None:
    place = cache_folder()
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    if n_bytes is not None and free < n_bytes:
        raise ModelFileError(
            f"{source} needs {size_in_words(n_bytes)}, and {cache_folder()} has {size_in_words(free)} free: make room, "
            "or set CITER_CACHE to a folder on a larger disk."
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
    by_hand = ""
    if isinstance(source, GgufSource):
        by_hand = f" Or put {_place_by_hand(source)}."
    return (
        f"{source} could not be fetched ({first_line(error)}). What has come so far is kept: run the same command "
        f"again to go on.{by_hand}"
    )
