"""Files from outside, bounded: size before anything is read, depth and numbers before anything is built.

Called by readers of files.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from citer_core.errors import GateError
from citer_core.gate.json_text import MAX_VALUES, parse_json

MAX_BYTES = 50_000_000


def read_bytes(path: Path, *, max_bytes: int = MAX_BYTES) -> bytes:
    """A file's content.

    Args:
        path: of a file; no more than `max_bytes` of it are read, whatever it is.
        max_bytes: how large it may be.

    Raises:
        GateError: it cannot be read, or is larger. The message goes without the path: who asks knows it.
    """
    if path.exists() and not path.is_file():  # a pipe would be waited for, a device has no end
        raise GateError("It is not a regular file.")
    try:
        with path.open("rb") as file:
            content = file.read(max_bytes + 1)
    except (OSError, ValueError) as error:  # ValueError: a path with a null byte
        raise GateError(f"The file cannot be read ({getattr(error, 'strerror', None) or 'no such name'}).") from error
    if len(content) > max_bytes:
        raise GateError(f"The file is larger than {max_bytes / 1e6:,.0f} MB.")
    return content


def read_json(path: Path, *, max_bytes: int = MAX_BYTES, max_values: int = MAX_VALUES) -> Any:
    """The JSON document in a UTF-8 file; see `parse_json`.

    Raises:
        GateError: it cannot be read, is too large or deep, or is no JSON.
    """
    return parse_json(read_bytes(path, max_bytes=max_bytes), max_chars=max_bytes, max_values=max_values)


def read_json_lines(
    path: Path, *, max_bytes: int = MAX_BYTES, max_line_chars: int = 1_000_000, max_depth: int = 16
) -> Iterator[tuple[int, Any]]:
    """Number, from 1, and value of each line of a JSON Lines file; blank lines and a byte order mark are passed over.

    Raises:
        GateError: the file cannot be read or is too large; or a line is no JSON, and the message begins with its
            number.
    """
    for number, line in enumerate(read_bytes(path, max_bytes=max_bytes).split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            yield number, parse_json(line, max_chars=max_line_chars, max_depth=max_depth)
        except GateError as error:
            raise GateError(f"Line {number}: {error}") from error


def read_limited(path: Path, most_bytes: int) -> bytes:
    """The file's bytes.

    Raises:
        GateError: it has more than `most_bytes`; what comes behind them is not read.
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        found = file.read(most_bytes + 1)
    if len(found) > most_bytes:
        raise GateError(f"This file has more than {most_bytes:,} bytes, and no more are read. Give a shorter one.")
    return found
