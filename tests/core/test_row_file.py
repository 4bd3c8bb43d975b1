"""The file of rows a run is resumed from: which rows are believed after a kill."""

from __future__ import annotations

from pathlib import Path

from citer_core.row_file import RowFile


def append_and_die(path: Path, name: str, seconds: int) -> None:
    killed = RowFile(path, {})
    killed.append({"id": name, "seconds": seconds})
    killed._file.close()  # the sidecar is as it was before


def test_a_row_that_came_again_before_a_kill_is_a_row(tmp_path):
    """After a line was removed, and after a row with the same id: the sums of the rows before say nothing of them."""
    path = tmp_path / "rows.jsonl"
    with RowFile(path, {}) as file:
        for name in "ab":
            file.append({"id": name, "seconds": 1})
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[1])
    append_and_die(path, "a", 2)
    append_and_die(path, "b", 3)
    with RowFile(path, {}) as file:
        assert {name: row["seconds"] for name, row in file.rows.items()} == {"a": 2, "b": 3}
