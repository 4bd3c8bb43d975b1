"""A file from outside, read whole up to a bound. Called before `parse_json`."""

from __future__ import annotations

from pathlib import Path

from citer_core.errors import GateError


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
