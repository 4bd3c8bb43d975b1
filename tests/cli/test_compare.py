"""`compare`: what it prints, keeps and resumes, and what it refuses before anything is loaded."""

from __future__ import annotations

import json

import pytest

from citer_core.cli.main import main
from citer_core.comparison import COMPARISONS, Comparison

PROBLEM = {
    "file": "sum.json",
    "title": "A sum",
    "subtitle": "One step",
    "data_type": "math",
    "question": "2 + 3?",
    "answer": "5",
}


@pytest.fixture
def problems(tmp_path):
    path = tmp_path / "problems.jsonl"
    path.write_text(json.dumps(PROBLEM) + "\n", encoding="utf-8")
    return path


def test_every_way_is_printed_and_kept_and_the_same_command_resumes(engine, problems, tmp_path, capsys):
    command = ["compare", str(problems), "--output-dir", str(tmp_path / "kept"), "--router", "citer=0.5"]
    command += ["--router", "max-probability", "--router", "max-probability=0,doubt_budget=0.5,take_back=1"]
    assert main(command) == 0
    printed = "".join(capsys.readouterr())
    rows = ("SLM alone", "citer at 0.5", "max-probability at 0.7", "LLM alone", "speculative")
    assert [name in printed for name in (*rows, "tokens taken back")] == [True] * 6
    assert "max-probability at 0 take_back=1 doubt_budget=0.5" in printed
    assert COMPARISONS.read(tmp_path / "kept")[0]["title"] == "A sum"
    there = Comparison.read(tmp_path / "kept" / "sum.json")
    assert [run.settings.threshold for run in there.runs] == [0.0, 0.5, 0.7, 0.0, 1.0]
    assert [run.settings.take_back for run in there.runs] == [0.0, 0.0, 0.0, 1.0, 0.0]
    n_runs = len(engine.runs)
    assert main(command) == 0
    assert len(engine.runs) == n_runs


@pytest.mark.parametrize(
    "wrong",
    [["--router", "citer=high"], ["--router", "citer=2"], ["--router", "citer=0,take_back=2"],
     ["--router", "citer=0,seed=3"], ["--router", "citer=0,threshold=0.5"], ["--draft-tokens", "0"],
     ["--draft-confidence", "2"], ["--max-new-tokens", "0"]],
)  # fmt: skip
def test_what_is_wrong_is_said_before_anything_is_loaded(problems, tmp_path, no_loading, capsys, wrong):
    assert main(["compare", str(problems), "--output-dir", str(tmp_path / "kept"), *wrong]) == 2
    assert "Traceback" not in capsys.readouterr().err
