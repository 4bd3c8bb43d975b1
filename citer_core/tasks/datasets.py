"""Data sets in JSON Lines: every row validated, every error with the number of its row.

A file is checked as a whole before anything is run on it (`validate_rows`), because a malformed row 900 should not be
found after an hour. Row numbers are line numbers, so that an editor can jump to them. Knows nothing about models.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any, NoReturn

from citer_core.assets import ASSETS
from citer_core.errors import DatasetError
from citer_core.gate.excerpt import excerpt
from citer_core.tasks.problems import Problem, problem_from_row
from citer_core.tasks.prompts import DataType

MAX_LINE_BYTES = 10_000_000


@dataclass(frozen=True, slots=True)
class NumberedRow:
    """One valid row.

    Attributes:
        number: of its line in the file, from 1.
        id: its own, or `row-<number>`; unique in the file.
        row: the fields as they were read.
        problem: what it asks; carries the same `id`.
    """

    number: int
    id: str
    row: Mapping[str, Any]
    problem: Problem


def read_rows(
    path: Path, data_type: DataType, on_error: Callable[[DatasetError], None] | None = None
) -> Iterator[NumberedRow]:
    """Reads a data set row by row. A byte order mark and blank lines are passed over.

    Args:
        path: a JSON Lines file in UTF-8.
        data_type: `math` or `mc`.
        on_error: called with the error of a bad row, which is then skipped; without it the error is raised.

    Raises:
        DatasetError: the file cannot be read, or a row is malformed, lacks a field, has one of a wrong type or repeats
            an id.
    """
    first_use: dict[str, int] = {}
    for number, line in _numbered_lines(path):
        try:
            row = _parse_row(line)
            problem = problem_from_row(row, data_type)
            row_id = problem.id or f"row-{number}"
            if row_id in first_use:
                raise DatasetError(
                    f"the id {excerpt(row_id)} was used in row {first_use[row_id]}: give each row its own."
                )
        except DatasetError as error:
            named = DatasetError(f"{path}, row {number}: {error}")
            if on_error is None:
                raise named from error
            on_error(named)
            continue
        first_use[row_id] = number
        yield NumberedRow(number, row_id, row, replace(problem, id=row_id))


def validate_rows(path: Path, data_type: DataType) -> list[DatasetError]:
    """The errors of all bad rows of a file, in order; empty where it is fine.

    Raises:
        DatasetError: the file as a whole cannot be used: unreadable, or without a single row, good or bad.
    """
    errors: list[DatasetError] = []
    n_rows = sum(1 for _ in read_rows(path, data_type, on_error=errors.append))
    if n_rows == 0 and not errors:
        raise DatasetError(f"{path} has no rows: give a JSON Lines file with one object a line.")
    return errors


@lru_cache(maxsize=2)
def bundled_rows(data_type: DataType) -> tuple[NumberedRow, ...]:
    """The problems that come with the project, unseen in the bundled pair's training.

    Raises:
        DatasetError: there are none of this type, or the file is damaged.
    """
    return tuple(read_rows(ASSETS / "datasets" / f"{data_type}.jsonl", data_type))


def _numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Line number and bytes of each line that is not blank, of one that is too long one byte too many.

    Splits at the byte of a line feed only: U+2028 and its like may stand inside a JSON string.
    """
    try:
        with path.open("rb") as file:
            for number in count(1):
                line = file.readline(MAX_LINE_BYTES + 1)
                if not line:
                    return
                content = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
                if content.strip():
                    yield number, content
                while line and not line.endswith(b"\n"):  # what is left of a line that was too long
                    line = file.readline(MAX_LINE_BYTES)
    except OSError as error:
        raise DatasetError(f"{path} cannot be read ({error.strerror or error}): give the path of a file.") from error


def _parse_row(line: bytes) -> dict[str, Any]:
    if len(line) > MAX_LINE_BYTES:
        raise DatasetError(f"it is longer than {MAX_LINE_BYTES / 1e6:g} MB: shorten it, or leave it out.")
    try:
        row = json.loads(line.decode("utf-8"), parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise DatasetError(f"it is not UTF-8 (byte {error.start + 1}): save the file with that encoding.") from error
    except json.JSONDecodeError as error:
        raise DatasetError(
            f"it is not JSON ({error.msg} at character {error.pos + 1}): write one object a line."
        ) from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, or brackets as deep
        raise DatasetError("its JSON has a number too long or brackets too deep to be read.") from error
    if not isinstance(row, dict):
        raise DatasetError(f"it is a JSON {type(row).__name__}, not an object: write one object a line.")
    return row


def _no_constant(name: str) -> NoReturn:
    raise DatasetError(f"it holds {name}, which is not JSON: give finite numbers.")
