"""Files that are whole or not there: written beside their place, on the disk, then renamed; and why a write failed.

Standard library only; knows nothing about what is written. Called by whatever leaves a file behind.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from citer_core.errors import MachineError, SettingError

AGAIN = "Make room, or mend what is named, and run the same command again: what is finished is kept."
# How safetensors, whose errors are of a kind of their own, spells the system's.
_OS_ERROR = re.compile(r"\(os error (\d+)\)")
# What torch.save says of a file that could not be written to its end.
_TORCH_WRITER = ("unexpected pos", "PytorchStreamWriter", "file write failed")


def why(error: BaseException) -> str:
    """A failed write in a few words, without the path: `No space left on device`."""
    if isinstance(error, FileExistsError | NotADirectoryError):
        return "a file is where a folder must be"
    if isinstance(error, OSError):
        return error.strerror or str(error) or type(error).__name__
    found = _OS_ERROR.search(str(error))
    if found:
        return os.strerror(int(found[1]))
    if _is_torch_writer(error):
        return "it could not be written to its end, perhaps for lack of space"
    return str(error).strip().split("\n", 1)[0][:200] or type(error).__name__


def is_write_failure(error: BaseException) -> bool:
    """Whether the system refused a write, in whichever way a library says so."""
    if isinstance(error, OSError):
        return True
    return isinstance(error, Exception) and (_OS_ERROR.search(str(error)) is not None or _is_torch_writer(error))


@contextlib.contextmanager
def whole_file(path: Path, again: str = AGAIN) -> Iterator[Path]:
    """A place to write a file to, which gets its name when the block has ended well; else nothing of it is left.

    Args:
        path: its name; what has it already is replaced at once. The folder must be there.
        again: what to do about a failure.

    Raises:
        MachineError: it could not be written.
    """
    partial = path.with_name(path.name + ".partial")
    try:
        yield partial
        _to_disk(partial)
        partial.replace(path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        if not is_write_failure(error):
            raise
        raise MachineError(f"{path} could not be written ({why(error)}). {again}") from error


def write_whole(path: Path, content: str | bytes, again: str = AGAIN) -> None:
    """Writes a small file, text in UTF-8; see `whole_file`."""
    with whole_file(path, again) as partial:
        partial.write_bytes(content.encode() if isinstance(content, str) else content)


def need_folder(folder: Path) -> None:
    """Makes a folder where it is missing, and finds out that files can be written into it: before the work, not after.

    Raises:
        SettingError: it cannot be.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"x")
    except OSError as error:
        raise SettingError(f"{folder} cannot be written ({why(error)}): choose another folder.") from error


def rescue(name: str, content: bytes) -> Path | None:
    """Keeps a result that could not be written to its place: in the folder for temporary files, or at home.

    Args:
        name: ending of the file's name.
        content: of the file.

    Returns:
        Where it is now; None where nothing can be written anywhere.
    """
    for folder in (None, "~"):
        unfinished: str | None = None
        try:
            place = folder and os.path.expanduser(folder)  # noqa: PTH111 - of who has no home it stays "~"
            handle, unfinished = tempfile.mkstemp(prefix="citer-rescued-", suffix=f"-{name}", dir=place)
            with os.fdopen(handle, "wb") as file:
                file.write(content)
        except OSError:
            if unfinished is not None:
                Path(unfinished).unlink(missing_ok=True)
            continue
        return Path(unfinished)
    return None


def _to_disk(path: Path) -> None:
    """After a loss of power a name must not stand for a file whose bytes had not arrived."""
    with path.open("rb") as file:
        try:
            os.fsync(file.fileno())
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # a file system that knows no fsync
                raise


def _is_torch_writer(error: BaseException) -> bool:
    return isinstance(error, RuntimeError) and any(words in str(error) for words in _TORCH_WRITER)
