"""Data sets: every error carries the number of its row, and nothing else is lost."""

import json
from pathlib import Path

import pytest

from citer_core.errors import DatasetError
from citer_core.tasks.datasets import read_rows, validate_rows

GOOD = '{"problem": "2+2?", "solution": "\\\\boxed{4}"}'


def write(tmp_path: Path, *lines: str | bytes) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"\n".join(line.encode() if isinstance(line, str) else line for line in lines))
    return path


def test_row_numbers_are_line_numbers_and_rows_without_id_get_one(tmp_path: Path) -> None:
    path = write(tmp_path, b"\xef\xbb\xbf" + GOOD.encode(), "", '{"id": "b", "problem": "3+3?"}\r', "  ", GOOD, "")
    rows = list(read_rows(path, "math"))
    assert [(row.number, row.id) for row in rows] == [(1, "row-1"), (3, "b"), (5, "row-5")]
    assert [row.problem.id for row in rows] == ["row-1", "b", "row-5"]
    assert validate_rows(path, "math") == []


def test_a_line_separator_inside_a_string_does_not_split_a_row(tmp_path: Path) -> None:
    path = write(tmp_path, json.dumps({"problem": "a\u2028b"}, ensure_ascii=False))
    assert [row.problem.question for row in read_rows(path, "math")] == ["a\u2028b"]


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ('{"problem": "2+2?"', "not JSON"),
        ("[1]", "a JSON list"),
        ("null", "not an object"),
        ('{"question": "2+2?"}', '"problem" is missing'),
        ('{"problem": 4}', "type int"),
        (b'{"problem": "\xff"}', "not UTF-8 (byte 14)"),
        ('{"problem": "\\ud800"}', "surrogate"),
        ("[" * 100_000, "too deep"),
        ('{"problem": "1?", "n": NaN}', "NaN"),
        ('{"problem": "' + "x" * 10_000_000 + '"}', "longer than 10 MB"),
        ('{"problem": "x", "n": ' + "9" * 5000 + "}", "too long"),
        ('{"problem": "x", "id": "a"}', 'the id "a" was used in row 1'),
    ],
)
def test_a_bad_row_is_named_and_the_others_are_kept(tmp_path: Path, line: str | bytes, part: str) -> None:
    path = write(tmp_path, '{"problem": "1+1?", "id": "a"}', line, '{"problem": "2+2?", "id": "b"}')
    with pytest.raises(DatasetError) as caught:
        list(read_rows(path, "math"))
    assert "row 2: " in str(caught.value)
    assert part in str(caught.value)
    errors: list[DatasetError] = []
    assert [row.id for row in read_rows(path, "math", on_error=errors.append)] == ["a", "b"]
    assert [str(error) for error in errors] == [str(caught.value)]
    assert len(validate_rows(path, "math")) == 1


def test_a_given_id_cannot_take_the_name_of_a_numbered_row(tmp_path: Path) -> None:
    path = write(tmp_path, '{"problem": "1+1?", "id": "row-2"}', GOOD)
    assert 'the id "row-2" was used in row 1' in str(validate_rows(path, "math")[0])


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="no rows"):
        validate_rows(write(tmp_path, "", " "), "math")
    with pytest.raises(DatasetError, match="No such file"):
        validate_rows(tmp_path / "missing.jsonl", "math")
    with pytest.raises(DatasetError, match="cannot be read"):
        validate_rows(tmp_path, "math")
