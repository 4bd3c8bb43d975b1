"""One writer for one output: advisory locks that the system lets go of by itself when a process dies, however it dies.

Where a system has `fcntl` that is `flock`, on Windows `msvcrt.locking`; a file system that knows no locks takes every
writer, because refusing all of them would be worse. Standard library only; called by whatever two runs must not write
at once.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from citer_core.errors import SettingError

# Either may be missing: the first on Windows, the second everywhere else.
_fcntl: Any = None
_msvcrt: Any = None
with contextlib.suppress(ImportError):
    _fcntl = importlib.import_module("fcntl")
with contextlib.suppress(ImportError):
    _msvcrt = importlib.import_module("msvcrt")
# Windows locks bytes, and a locked byte cannot be read by others: so one far behind the end is locked.
_FAR = 1 << 40
_BUSY = (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK)


def try_lock(handle: int, *, where_unknown: bool = True) -> bool:
    """Takes the lock of an open file until it is closed; False where another process has it.

    Args:
        handle: of a file open for writing.
        where_unknown: what is said where there are no locks.
    """
    try:
        if _fcntl is not None:
            _fcntl.flock(handle, _fcntl.LOCK_EX | _fcntl.LOCK_NB)
        elif _msvcrt is not None:
            before = os.lseek(handle, 0, os.SEEK_CUR)
            os.lseek(handle, _FAR, os.SEEK_SET)
            try:
                _msvcrt.locking(handle, _msvcrt.LK_NBLCK, 1)
            finally:
                os.lseek(handle, before, os.SEEK_SET)
        else:
            return where_unknown
    except OSError as error:
        return where_unknown and error.errno not in _BUSY
    return True


@contextlib.contextmanager
def only_writer(path: Path) -> Iterator[None]:
    """Holds the lock of an output that has no open file of its own, in `NAME.lock` beside it; removed at the end.

    Args:
        path: of the output, a file or a folder; it need not exist, but the folder that it is in must.

    Raises:
        SettingError: another run writes it, or nothing can be written there.
    """
    lock = path.with_name(f".{path.name}.lock")
    try:
        handle = _locked(lock)
    except OSError as error:
        reason = error.strerror or str(error)
        raise SettingError(f"{path} cannot be written ({reason}): choose another place.") from error
    if handle is None:
        raise SettingError(f"{path} is being written by another run: wait for it, stop it, or choose another place.")
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            lock.unlink()  # while it is still ours
        os.close(handle)


def forget_killed_writer(path: Path) -> None:
    """Removes what a killed process left of its lock of a complete output, so that no process takes it again."""
    if path.with_name(f".{path.name}.lock").exists():
        with contextlib.suppress(SettingError), only_writer(path):
            pass


def _locked(lock: Path) -> int | None:
    """The open lock file; None where another process has it."""
    while True:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
        if not try_lock(handle):
            os.close(handle)
            return None
        # Between opening and locking, its holder may have removed it: then this is the lock of a file that is gone.
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), lock.stat()):
                return handle
        os.close(handle)
