"""Labels that `label` made, shown as a set of the view Labels."""

from __future__ import annotations

import json

import pytest

from citer_core.cli.main import main

DIGIT = {-1: "2", 0: "0", 1: "1"}


@pytest.fixture(scope="module")
def rows_file(tmp_path_factory, shipped_rows):
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in shipped_rows), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def shipped_rows():
    from citer_core.ui.labels.recorded_labels import rows_called

    return [row for row, _ in rows_called("math").rows[:2]]


@pytest.mark.parametrize(
    ("mode", "truth", "column"),
    [("published", "gold", "label"), ("outcome", "gold", "outcome"), ("outcome", "llm", "outcome")],
)
def test_a_folder_is_shown_with_its_own_texts_and_labels(mode, truth, column, rows_file, tmp_path):
    folder = tmp_path / "Math"  # its file is not that of the bundled set of this name
    asked = ["--labels", mode, "--truth", truth, "--rollouts", "2" if mode == "published" else "all"]
    assert main(["label", "--dataset-path", str(rows_file), "--output-dir", str(folder), *asked]) == 0
    kept = tmp_path / "kept"
    assert main(["record-labels", str(rows_file), "--labels", str(folder), "--output-dir", str(kept)]) == 0
    shown = json.loads((kept / "bundled-pair-labels-math.json").read_text(encoding="utf-8"))
    rows = [json.loads(line) for line in (folder / "part-000000.jsonl").read_text(encoding="utf-8").splitlines()]
    assert shown[column] == "".join(DIGIT[one] for row in rows for one in row["labels"])
    assert shown["case"] == "".join(str(case) for row in rows for case in row["cases"])
    assert [problem["n"] for problem in shown["problems"]] == [len(row["truth_ids"]) for row in rows]
    assert shown["title"] == "2 problems, labels of Math"


def test_other_rows_than_those_that_were_labelled_are_refused(rows_file, tmp_path, capsys):
    folder = tmp_path / "Mine"
    assert main(["label", "--dataset-path", str(rows_file), "--output-dir", str(folder), "--rollouts", "0"]) == 0
    other = tmp_path / "other.jsonl"
    other.write_text(rows_file.read_text(encoding="utf-8").splitlines()[0] + "\n", encoding="utf-8")
    assert main(["record-labels", str(other), "--labels", str(folder), "--output-dir", str(tmp_path / "kept")]) == 2
    assert "give the file that was labelled, unchanged" in capsys.readouterr().err
    assert main(["record-labels", "math", "--labels", str(folder)]) == 2
    assert "give the one file that was labelled" in capsys.readouterr().err
