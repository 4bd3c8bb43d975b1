"""Where the weights of one model come from: a folder, a repository of the hub, or a GGUF file.

Reads what a person typed; knows nothing about what is on this machine (`store`) or how weights are read (`pair`).
Standard library only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from citer_core.errors import GateError, PairError
from citer_core.gate.excerpt import excerpt
from citer_core.gate.fields import Text

# Edition of what is read of a GGUF file: what an earlier one made is made again. The first dropped how positions scale.
CONVERSION = 2
MAX_SOURCE_CHARS = 1_000
MAX_PART_BYTES = 255  # of a file's or folder's name, on all systems that we know
MAX_HUB_NAME = 96  # the hub's own limit
_NAME = rf"[A-Za-z0-9][A-Za-z0-9_.-]{{0,{MAX_HUB_NAME - 1}}}"
_HUB_ID = re.compile(rf"{_NAME}/{_NAME}")
_HUB_GGUF = re.compile(rf"({_NAME}/{_NAME}):([^:]+\.gguf)", re.IGNORECASE)
FORMS = (
    'a local folder, a hub id ("org/name"), a GGUF file of the hub ("org/name:file.gguf") or the path of a local '
    ".gguf file"
)


@dataclass(frozen=True, slots=True)
class FolderSource:
    """A local transformers checkpoint; `tokenizer` is the folder of its tokenizer where that is another."""

    path: Path
    tokenizer: Path | None = None

    def __str__(self) -> str:
        return str(self.path)

    @property
    def short_name(self) -> str:
        """For a pair's name."""
        return self.path.name


@dataclass(frozen=True, slots=True)
class HubSource:
    """A transformers checkpoint on the Hugging Face hub."""

    repo_id: str

    def __str__(self) -> str:
        return self.repo_id

    @property
    def short_name(self) -> str:
        """For a pair's name."""
        return self.repo_id.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class GgufSource:
    """A GGUF file, on the hub or at a local path.

    Attributes:
        name: file name in the repository, or the local path as it was typed.
        repo_id: None for a local file.
        sha256, n_bytes: of the one file that is meant, where it is known.
    """

    name: str
    repo_id: str | None = None
    sha256: str | None = None
    n_bytes: int | None = None

    def __str__(self) -> str:
        return self.name if self.repo_id is None else f"{self.repo_id}:{self.name}"

    @property
    def file_name(self) -> str:
        """The name under which a copy put into the cache by hand is found."""
        return Path(self.name).name

    @property
    def short_name(self) -> str:
        """For a pair's name."""
        return Path(self.name).stem


ModelSource = FolderSource | HubSource | GgufSource


def parse_source(text: str) -> ModelSource:
    """Reads one half of `--pair "SLM,LLM"`, which a visitor may have written.

    Raises:
        PairError: it is none of `FORMS`, or nothing that can be the name of a file.
    """
    text = text.strip()
    if not text:
        raise PairError(f"One half of the pair is empty. Each is {FORMS}.")
    hub_file = _HUB_GGUF.fullmatch(text)
    if hub_file is not None and not _is_hub_id(hub_file[1]):
        hub_file = None
    try:
        path = Path(Text(MAX_SOURCE_CHARS).read(text, "a model's name")).expanduser()
        if any(ord(char) < 32 for char in text) or any(len(part.encode()) > MAX_PART_BYTES for part in path.parts):
            raise ValueError
        is_there, is_folder = path.exists(), path.is_dir()
    except (GateError, OSError, RuntimeError, ValueError):  # such as a name that is too long, or `~nobody`
        raise PairError(
            f"{excerpt(text)} cannot be the name of a model here. Each half of a pair is {FORMS}."
        ) from None
    if hub_file is not None and not is_there:
        if any(part in ("", ".", "..") for part in hub_file[2].split("/")):
            raise PairError(f"{excerpt(text)} does not name a file of a repository. Each half of a pair is {FORMS}.")
        return GgufSource(hub_file[2], repo_id=hub_file[1])
    if text.lower().endswith(".gguf"):
        return GgufSource(str(path))
    # "a/b" names a repository, unless there is such a folder here; whatever else is no id can only be a path.
    return HubSource(text) if _is_hub_id(text) and not is_folder else FolderSource(path)


def _is_hub_id(text: str) -> bool:
    """Whether the hub could have a repository of this id; its client refuses the rest with an error of its own."""
    return bool(_HUB_ID.fullmatch(text)) and "--" not in text and ".." not in text and text[-1] not in "-."
