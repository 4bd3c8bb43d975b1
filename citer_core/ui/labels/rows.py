"""What the Labels tab can be given: bundled problems, a pasted row or a file, as rows with a ground truth.

The format of a row is seen from its fields, so it need not be given. Every error names the row and what to do. Knows no
models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from citer_core.errors import DatasetError, GateError
from citer_core.gate.excerpt import excerpt
from citer_core.gate.json_text import parse_json
from citer_core.tasks.datasets import bundled_rows
from citer_core.tasks.problems import MAX_PROMPT_CHARS, problem_from_row
from citer_core.tasks.prompts import DataType

MAX_ROWS = 200
MAX_FILE_BYTES = 4_000_000  # the browser looks too, and counts bytes
MAX_NAME_CHARS = 255
FORMS = (
    'a "math" row has "problem" and "solution" with the final answer in \\boxed{}; an "mc" row has "question", '
    '"choices" {"text": [...], "label": [...]}, "answerKey" and "cot"'
)
SET_NAMES: dict[DataType, str] = {"math": "math problems", "mc": "multiple-choice questions"}


@dataclass(frozen=True, slots=True)
class LabelInput:
    """Rows to be labelled.

    Attributes:
        title: what they are, for people.
        rows: each with its format; at least one, every one checked.
        is_bundled: they come with the project, so that the title says which they are.
    """

    title: str
    rows: tuple[tuple[Mapping[str, Any], DataType], ...]
    is_bundled: bool = False


def bundled_row(key: object) -> LabelInput:
    """One bundled problem by the key of the problem book, such as `math 12`.

    Raises:
        DatasetError: there is none of that key.
    """
    kind, _, number = key.partition(" ") if isinstance(key, str) else ("", "", "")
    if kind in SET_NAMES and number.isdecimal() and len(number) <= 6:
        data_type: DataType = "mc" if kind == "mc" else "math"
        rows = bundled_rows(data_type)
        if 1 <= int(number) <= len(rows):
            return LabelInput(f"{data_type} {int(number)}", ((rows[int(number) - 1].row, data_type),), is_bundled=True)
    raise DatasetError(f"There is no bundled problem {excerpt(key)}. Pick one from the list.")


def bundled_set(data_type: DataType) -> LabelInput:
    """All bundled problems of a format.

    Raises:
        DatasetError: their file is missing or damaged.
    """
    rows = bundled_rows(data_type)[:MAX_ROWS]
    title = f"{len(rows)} {SET_NAMES[data_type]}"
    return LabelInput(title, tuple((row.row, data_type) for row in rows), is_bundled=True)


def pasted_rows(text: object) -> LabelInput:
    """One row in JSON, on one line or several; or some rows, one a line.

    Raises:
        DatasetError: it is empty, not JSON, in neither format or without a ground truth.
    """
    if text is not None and not isinstance(text, str):
        raise DatasetError(f"The row is {excerpt(text)}, not text. Paste one in JSON: {FORMS}.")
    content = (text or "").strip()
    if len(content) > MAX_FILE_BYTES:
        raise DatasetError(f"The text has {len(content):,} characters; at most {MAX_FILE_BYTES:,} are read at once.")
    if not content:
        raise DatasetError(f"There is no row yet. Paste one in JSON: {FORMS}.")
    try:
        whole = parse_json(content, max_chars=MAX_FILE_BYTES)
    except GateError:
        return LabelInput("pasted rows", _rows_of_lines(content.splitlines()))
    try:
        return LabelInput("pasted row", (_checked(whole),))
    except DatasetError as error:
        raise DatasetError(f"The row: {error}") from error


def rows_of_file(name: object, text: object) -> LabelInput:
    """A JSON Lines file that a browser has read.

    Args:
        name: of the file; only shown.
        text: its content.

    Raises:
        DatasetError: it is too large, has no rows or a bad one.
    """
    if not isinstance(name, str) or not isinstance(text, str) or not 0 < len(name) <= MAX_NAME_CHARS:
        raise DatasetError("Choose a JSON Lines file; its name may have up to 255 characters.")
    if len(text) > MAX_FILE_BYTES:
        raise DatasetError(
            f"The file has {len(text) / 1e6:.1f} million characters; the page takes up to {MAX_FILE_BYTES / 1e6:g}. "
            "Cut it into parts."
        )
    # At line feeds only: U+2028 and its like may stand inside a JSON string.
    return LabelInput(name, _rows_of_lines(text.split("\n")))


def _rows_of_lines(lines: Sequence[str]) -> tuple[tuple[Mapping[str, Any], DataType], ...]:
    numbered = [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    if not numbered:
        raise DatasetError("The file has no rows: give JSON Lines, one object a line.")
    if len(numbered) > MAX_ROWS:
        raise DatasetError(
            f"There are {len(numbered):,} rows; the page takes up to {MAX_ROWS} at once. Keep {MAX_ROWS} of them."
        )
    rows = []
    for number, line in numbered:
        try:
            rows.append(_checked(_parsed(line)))
        except DatasetError as error:
            raise DatasetError(f"Row {number}: {error}") from error
    return tuple(rows)


def _parsed(line: str) -> object:
    try:
        return parse_json(line, max_chars=MAX_FILE_BYTES)
    except GateError as error:
        raise DatasetError(f"{error} One object a line: {FORMS}.") from None


def _checked(row: object) -> tuple[Mapping[str, Any], DataType]:
    """A row that can be labelled, with its format."""
    if not isinstance(row, dict):
        raise DatasetError(f"it is a JSON {type(row).__name__}, not an object: {FORMS}.")
    if "choices" not in row and "problem" not in row:
        raise DatasetError(f'it has neither "problem" nor "choices": {FORMS}.')
    data_type: DataType = "mc" if "choices" in row else "math"
    problem = problem_from_row(row, data_type)
    for name in ("cot", "solution"):
        value = row.get(name)
        if value is not None and not isinstance(value, str):
            raise DatasetError(f'"{name}" is of the type {type(value).__name__}: give a string.')
        if value and len(value) > MAX_PROMPT_CHARS:
            raise DatasetError(f'"{name}" has {len(value):,} characters: shorten it to {MAX_PROMPT_CHARS:,} or fewer.')
    wanted = '"cot", its reasoning up to the answer' if data_type == "mc" else '"solution", ending in \\boxed{}'
    if not (row.get("cot") or "").strip() and (data_type == "mc" or not (row.get("solution") or "").strip()):
        raise DatasetError(f"it has no ground truth to read: add {wanted}.")
    if problem.true_answer is None:
        missing = '"answerKey"' if data_type == "mc" else '"solution" with the final answer in \\boxed{}'
        raise DatasetError(f"its right answer is not known, and labels need it: add {missing}.")
    return row, data_type
