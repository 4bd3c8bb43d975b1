"""What the Labels tab can be given, and what it says of what it cannot take."""

from __future__ import annotations

import json

import pytest

from citer_core.errors import DatasetError
from citer_core.ui.labels.rows import MAX_FILE_BYTES, MAX_ROWS, bundled_row, bundled_set, pasted_rows, rows_of_file

MATH = {"problem": "What is 2 + 3?", "solution": "$2+3=5$, so $\\boxed{5}$."}
MC = {
    "question": "Which is a fruit?",
    "choices": {"text": ["pear", "stone"], "label": ["A", "B"]},
    "answerKey": "A",
    "cot": "A pear grows on a tree. Therefore, the answer is pear (A).",
}


def test_the_format_is_seen_from_the_fields():
    assert pasted_rows(json.dumps(MATH)).rows == ((MATH, "math"),)
    assert pasted_rows(json.dumps(MC, indent=2)).rows == ((MC, "mc"),)
    both = pasted_rows(f"{json.dumps(MATH)}\n\n{json.dumps(MC)}\n")
    assert [kind for _, kind in both.rows] == ["math", "mc"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "There is no row yet"),
        ("  ", '"solution" with the final answer'),
        ("{", "not JSON"),
        ("[1]", "The row: it is a JSON list"),
        ('{"text": "x"}', 'neither "problem" nor "choices"'),
        (json.dumps({**MATH, "solution": "no box"}), "boxed"),
        (json.dumps({"problem": "1 + 1?"}), 'add "solution"'),
        (json.dumps({**MATH, "cot": 3}), '"cot" is of the type int'),
        (json.dumps({**MATH, "cot": "x" * 30_000}), "30,000 characters"),
        (json.dumps({**MC, "cot": " "}), 'add "cot"'),
        (json.dumps({**MC, "answerKey": ""}), 'add "answerKey"'),
        (json.dumps({**MC, "answerKey": "Z"}), "not one of the labels"),
        (json.dumps({"problem": "1 + 1?", "cot": "It is 2."}), "right answer is not known"),
        ("[" * 100_000, "inside each other"),
        ("9" * 5000 + "9", "number in this document is too long"),
    ],
)
def test_a_bad_row_is_answered_with_what_to_do(text, message):
    with pytest.raises(DatasetError, match=message.replace("[", r"\[")):
        pasted_rows(text)


def test_a_file_names_the_bad_row():
    found = rows_of_file("rows.jsonl", f"{json.dumps(MATH)}\r\n\n{json.dumps(MC)}\n")
    assert found.title == "rows.jsonl" and len(found.rows) == 2
    with pytest.raises(DatasetError, match="Row 2: it has neither"):
        rows_of_file("rows.jsonl", f"{json.dumps(MATH)}\n{{}}\n")
    with pytest.raises(DatasetError, match="no rows"):
        rows_of_file("rows.jsonl", "\n \n")


@pytest.mark.parametrize(
    "file", [(None, "{}"), ("rows.jsonl", None), ("", "{}"), ("x" * 256, "{}"), ({"path": "/"}, [])]
)
def test_what_is_no_file_is_refused(file):
    with pytest.raises(DatasetError, match="Choose a JSON Lines file"):
        rows_of_file(*file)


def test_sizes_are_limited_with_a_message():
    with pytest.raises(DatasetError, match=f"201 rows; the page takes up to {MAX_ROWS}"):
        rows_of_file("rows.jsonl", f"{json.dumps(MATH)}\n" * (MAX_ROWS + 1))
    with pytest.raises(DatasetError, match="takes up to 4"):
        rows_of_file("rows.jsonl", " " * (MAX_FILE_BYTES + 1))


def test_bundled_problems_are_found_by_their_key():
    assert bundled_row("mc 3").rows[0][1] == "mc"
    assert len(bundled_set("math").rows) == 200
    for key in (None, "", "math", "math 0", "math 201", "poem 1", "math x"):
        with pytest.raises(DatasetError, match="Pick one"):
            bundled_row(key)
