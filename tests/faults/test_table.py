"""The table of faults and the tests of this folder are the same list, and every test looks for its row's words."""

from __future__ import annotations

import ast
from collections import Counter

from tests.faults.table import DOCUMENT, HEAD, ROOT, read_table

HERE = "tests/faults/"
LEAST = 25


def functions_in(file: str) -> dict[str, ast.FunctionDef]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {
        node.name: node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def test_every_row_has_a_test_and_every_test_a_row():
    rows = read_table()
    assert len(rows) >= LEAST
    named = Counter((row.file, row.test) for row in rows)
    assert max(named.values()) == 1, "a test is one row"
    own = {(file, test) for file, test in named if file.startswith(HERE)}
    there = {
        (f"{HERE}{path.name}", test)
        for path in (ROOT / HERE).glob("test_*.py")
        for test in functions_in(f"{HERE}{path.name}")
        if path.name != "test_table.py"
    }
    assert own == there
    for file, test in set(named) - own:
        assert test in functions_in(file), f"{file}::{test}"


def test_every_test_looks_for_the_words_of_its_row():
    for row in read_table():
        assert row.what and row.saw and row.lost, row
        if not row.file.startswith(HERE):
            continue
        test = functions_in(row.file)[row.test]
        assert "row" in [argument.arg for argument in test.args.args], f"{row.test} does not know its row"
        uses = [
            node
            for node in ast.walk(test)
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "row"
            and node.attr in ("said", "words")
        ]
        assert uses, f"{row.test} looks for no words"


def test_no_line_of_a_table_is_passed_over():
    """A row with one cell too many or too few would be none."""
    tables, expected = DOCUMENT.read_text(encoding="utf-8").split("\n## "), 0
    for section in tables:
        lines = [line for line in section.splitlines() if line.startswith("|")]
        if lines and [cell.strip() for cell in lines[0].strip("|").split("|")] == HEAD:
            expected += len(lines) - 2
    assert len(read_table()) == expected
