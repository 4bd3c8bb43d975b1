"""The folder for what gradio writes: this process's own, gone with it; those of killed processes go at the next start.

The page takes no files, so almost nothing is written there. Must be called before gradio is imported, which reads the
place from `GRADIO_TEMP_DIR`. A lock says whether the process of a folder lives: the system lets go of it however the
process ends. Standard library only.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, MutableMapping
from pathlib import Path

try:
    import fcntl
except ImportError:  # no POSIX: the folders go with their processes, and those of killed ones stay
    fcntl = None  # type: ignore[assignment]  # one name for a module and for its absence

PREFIX = "citer-page-"
LOCK = "in-use"
VARIABLE = "GRADIO_TEMP_DIR"
_held: list[int] = []  # locks last as long as their file is open


def own_scratch(environment: MutableMapping[str, str] | None = None) -> Path:
    """Makes the folder, tells gradio, and removes what killed processes left.

    Args:
        environment: whose `GRADIO_TEMP_DIR`, if set, is where the folder is made; else the system's temporary folder.
    """
    env = os.environ if environment is None else environment
    parent = Path(env.get(VARIABLE) or tempfile.gettempdir())
    parent.mkdir(parents=True, exist_ok=True)
    clear_leftovers(parent)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    if (lock := _lock(folder / LOCK, create=True)) is not None:
        _held.append(lock)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    env[VARIABLE] = str(folder)
    return folder


def clear_leftovers(parent: Path) -> list[Path]:
    """Removes our folders there whose processes are gone; returns them."""
    gone = []
    for folder in _ours(parent):
        lock = _lock(folder / LOCK, create=False)
        if lock is None:
            continue
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)
        gone.append(folder)
    return gone


def _ours(parent: Path) -> Iterator[Path]:
    uid = os.getuid() if hasattr(os, "getuid") else None
    for folder in parent.glob(f"{PREFIX}*"):
        # Others may write into the system's temporary folder: a link of theirs is not followed.
        with contextlib.suppress(OSError):
            if not folder.is_symlink() and folder.is_dir() and (uid is None or folder.lstat().st_uid == uid):
                yield folder


def _lock(path: Path, *, create: bool) -> int | None:
    """The open file, locked by us; None where another process has it, or where there are no locks."""
    if fcntl is None:
        return None  # type: ignore[unreachable]  # mypy looks at it as on Linux
    try:
        file = os.open(path, os.O_RDWR | (os.O_CREAT if create else 0) | os.O_NOFOLLOW, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        return None
    return file
