"""`bench` on the bundled pair, and where measurements are stored."""

from __future__ import annotations

import json

import pytest

from citer_core.cli.main import main
from citer_core.cli.report_file import report_file
from citer_core.engine import Engine
from citer_core.labelling.teacher_forcing import example_of
from citer_core.measuring.labelling_benchmark import labelling_benchmark
from citer_core.measuring.pipeline_benchmark import batch_benchmark, class_benchmark
from citer_core.tasks.datasets import bundled_rows
from tests.sampling import few_or_all


@pytest.mark.parametrize("both", few_or_all([["--shots", "2"]], [[], ["--shots", "2"]]))
def test_bench_counts_what_it_measured_and_shots_lengthen_the_prompt(tmp_path, capsys, both):
    lengths = [60]  # an ordinary prompt has more than that
    for shots in both:
        out = tmp_path / f"{len(shots)}.json"
        assert main(["bench", "--rounds", "1", "--max-new-tokens", "4", *shots, "--output-file", str(out)]) == 0
        result = json.loads(out.read_text(encoding="utf-8"))
        assert json.loads(capsys.readouterr().out) == result
        assert result["command"] == " ".join(["python -m citer_core bench --max-new-tokens 4 --rounds 1", *shots])
        assert (result["n_new"], result["n_rounds"], result["dtype"]) == (4, 1, "float32")
        speeds = {name: row["tokens_per_s"] for name, row in result["contenders"].items()}
        assert len(speeds) == 9 and all(speed > 0 for speed in speeds.values())
        lengths.append(result["n_prompt"])
    assert lengths[-1] > 2 * lengths[-2]
    assert len(list(tmp_path.iterdir())) == len(both)


def test_what_was_measured_before_stays_until_the_next_is_complete(tmp_path):
    path = tmp_path / "new" / "report.json"
    with report_file(path) as store:
        assert json.loads(store({"a": 1})) == {"a": 1}
    with pytest.raises(KeyboardInterrupt), report_file(path):
        raise KeyboardInterrupt
    assert json.loads(path.read_text(encoding="utf-8")) == {"a": 1}
    with report_file(path) as store:
        store({"a": 2})
    assert json.loads(path.read_text(encoding="utf-8")) == {"a": 2}
    assert list(path.parent.iterdir()) == [path]
    with report_file(None) as store:
        assert json.loads(store({"b": 1})) == {"b": 1}


def test_a_class_is_decoded_together_and_writes_the_same():
    problems = [row.problem for row in bundled_rows("math")[:3]]
    told: list[str] = []
    size = {"n_sessions": 3, "n_runs": 2, "max_new_tokens": 12, "n_rounds": 1}
    result = class_benchmark(Engine.load(), problems, **size, tell=told.append)
    assert len(told) == 1 and told[0].startswith("round 1 of 1: shared ")
    assert result["same_tokens"] and result["n_failed"] == 0 and result["n_tokens"] == 6 * 12
    assert 0 < result["first_token_s"]["p50"] <= result["first_token_s"]["p95"] <= result["whole_run_s"]["max"]
    assert result["whole_run_s"]["max"] <= result["shared_s"] + 0.1 and result["ratio"] > 0
    assert json.dumps(result)


def test_batches_and_labels_are_those_of_the_plain_way_and_each_part_is_told():
    engine, told = Engine.load(), list[str]()
    rows = sorted(bundled_rows("math"), key=lambda row: len(row.row["solution"]))[:3]  # the plain way is slow
    size = {"batch_size": 3, "max_new_tokens": 12, "n_rounds": 1}
    result = batch_benchmark(engine, [row.problem for row in rows], thresholds=(0.0, 0.7), **size, tell=told.append)
    assert all(row["same_tokens"] and row["ratio"] > 0 for row in result["thresholds"].values())
    assert [line.partition(":")[0] for line in told] == ["tau 0", "tau 0.7"]
    told.clear()
    examples = [example_of(row.row, "math", engine.pair) for row in rows]
    result = labelling_benchmark(engine.pair, examples, n_plain=1, tell=told.append)
    assert result["same_cases"] and 0 < result["n_tokens_plain"] < result["n_tokens"]
    assert told[0].startswith("teacher-forced: ") and told[1:] == ["the plain way: 1 of 1 examples"]
