"""`route` with a data set, on the fake engine: rows as they finish, resumed, and never mixed with others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from citer_core.errors import PromptError
from citer_core.trace import RoutingTrace
from tests.cli.examples import dataset, lines, route
from tests.fakes import FakeEngine


def test_one_row_is_written_as_each_finishes(engine: FakeEngine, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    out = tmp_path / "new" / "folder" / "out.jsonl"
    code = route("--dataset-path", str(dataset(tmp_path)), "--output-file", str(out), "--limit", "3", "--with-trace")
    assert code == 0
    rows = lines(out)
    assert [row["id"] for row in rows] == ["q0", "q1", "q2"]
    assert [row["is_correct"] for row in rows] == [True, True, True]
    first = rows[0]
    trace = RoutingTrace.from_dict(first["trace"])
    assert first["prompt"] == trace.prompt.text
    assert first["response"] == trace.completion
    assert (first["true_answer"], first["predicted_answer"], first["finish_reason"]) == ("1", "1", "eos")
    assert (first["n_tokens"], first["threshold"], first["router"]) == (trace.n_tokens, 0.7, "citer")
    assert first["llm_token_share"] == trace.llm_token_share
    assert first["measured_s"] == trace.measured_s
    assert first["estimated_bytes"] > 0
    assert first["estimated_flops"] > 0
    stdout, stderr = capsys.readouterr()
    assert stdout == ""
    assert "[3/3] q2: right" in stderr
    assert "3 of 3 right (100.0%)" in stderr


def test_what_runs_must_agree_in_is_what_it_was(engine: FakeEngine, tmp_path: Path) -> None:
    """Outputs from before can be resumed: the names and values beside them are those that they have."""
    given = {"max_new_tokens": 256, "temperature": 0.0, "top_p": 1.0, "seed": 0}
    for name, arguments, found in (
        ("a", [], {**given, "threshold": 0.7, "budget": None}),
        (
            "b",
            ["--settings", '{"threshold": 0.2}', "--seed", "4"],
            {**given, "threshold": 0.2, "budget": None, "seed": 4},
        ),
    ):
        out = tmp_path / f"{name}.jsonl"
        assert (
            route("--dataset-path", str(dataset(tmp_path)), "--output-file", str(out), "--limit", "1", *arguments) == 0
        )
        kept = json.loads(Path(f"{out}.meta.json").read_text())["settings"]
        assert kept.items() >= found.items()
        about = {"data_type", "prompt_version", "pair", "device", "dtype", "router", "with_trace", "llm_server"}
        assert set(kept) - set(found) <= about


def test_a_second_start_runs_only_what_is_missing(
    engine: FakeEngine, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    out = tmp_path / "out.jsonl"
    arguments = ["--dataset-path", str(dataset(tmp_path)), "--output-file", str(out)]
    assert route(*arguments, "--limit", "2") == 0
    whole = out.read_bytes()
    out.write_bytes(whole + whole[: len(whole) // 3])  # the kill came in the middle of row 3
    assert route(*arguments) == 0
    assert [row["id"] for row in lines(out)] == ["q0", "q1", "q2", "q3"]
    assert out.read_bytes().startswith(whole)
    assert len(engine.runs) == 4
    assert "2 of 4 rows are done" in capsys.readouterr().err
    n_loads = engine.n_loads
    assert route(*arguments) == 0
    assert engine.n_loads == n_loads, "nothing was left to run, so nothing had to be loaded"


def test_rows_of_another_run_are_not_mixed(engine: FakeEngine, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    out = tmp_path / "out.jsonl"
    path = dataset(tmp_path)
    arguments = ["--dataset-path", str(path), "--output-file", str(out)]
    assert route(*arguments, "--limit", "2") == 0
    before = out.read_bytes()
    assert route(*arguments, "--threshold", "0.9") == 2
    assert "threshold was 0.7 and is 0.9" in capsys.readouterr().err
    path.write_text(path.read_text().replace("1+1?", "1+1 is?"), encoding="utf-8")
    assert route(*arguments) == 2
    assert "answers another prompt" in capsys.readouterr().err
    assert out.read_bytes() == before


def test_rows_of_other_weights_are_not_mixed(
    engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    from citer_core.trace import RouterInfo

    out = tmp_path / "out.jsonl"
    arguments = ["--dataset-path", str(dataset(tmp_path)), "--output-file", str(out)]
    assert route(*arguments, "--limit", "2") == 0
    monkeypatch.setattr(FakeEngine, "router", lambda self, name=None: RouterInfo("citer", "retrained", 1000))
    assert route(*arguments) == 2
    assert "router_revision" in capsys.readouterr().err


def test_a_file_that_is_not_ours_is_left_alone(engine: FakeEngine, tmp_path: Path, capsys) -> None:
    path = dataset(tmp_path)
    before = path.read_bytes() + b"no line feed"
    path.write_bytes(before[: -len(b"no line feed")])
    mine = tmp_path / "precious.txt"
    mine.write_bytes(before)
    assert route("--dataset-path", str(path), "--output-file", str(mine)) == 2
    assert mine.read_bytes() == before
    assert route("--dataset-path", str(path), "--output-file", str(path)) == 2
    assert route("--dataset-path", str(path), "--output-file", str(tmp_path)) == 2
    assert "cannot be written" in capsys.readouterr().err
    assert engine.n_loads == 0


def test_bad_rows_are_refused_or_skipped(engine: FakeEngine, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    path = dataset(tmp_path, n_rows=2)
    path.write_text("{\n" * 6 + path.read_text(), encoding="utf-8")
    out = tmp_path / "out.jsonl"
    assert route("--dataset-path", str(path), "--output-file", str(out)) == 2
    err = capsys.readouterr().err
    assert "6 bad row(s), nothing was run" in err
    assert "row 1: " in err
    assert "... and 1 more" in err
    assert engine.n_loads == 0
    assert route("--dataset-path", str(path), "--output-file", str(out), "--skip-bad-rows") == 0
    assert capsys.readouterr().err.count("skipped: ") == 6
    assert [row["id"] for row in lines(out)] == ["q0", "q1"]


def test_a_prompt_that_only_the_tokenizer_finds_too_long_is_named_before_anything_runs(
    engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    out = tmp_path / "out.jsonl"

    def refuse_third(problem):
        if problem.id == "q2":
            raise PromptError("The prompt has 2000 tokens: shorten it to 1024.")

    monkeypatch.setattr(engine, "check", refuse_third)
    arguments = ["--dataset-path", str(dataset(tmp_path)), "--output-file", str(out)]
    assert route(*arguments) == 2
    assert "row 3: The prompt has 2000 tokens" in capsys.readouterr().err
    assert lines(out) == []
    assert route(*arguments, "--skip-bad-rows") == 0
    assert [row["id"] for row in lines(out)] == ["q0", "q1", "q3"]
    assert capsys.readouterr().err.count("skipped: ") == 1
