"""`label`, `merge-labels`, `train-router`, `iterate`, `evaluate`, and `route` with their router, on real models."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from citer_core.cli.main import COMMANDS, build_parser, main
from citer_core.cli.tables import number
from citer_core.cli.train_router import KINDS
from citer_core.engine import Engine
from citer_core.evaluation import accuracy
from citer_core.labelling import label_files
from citer_core.labelling.label_files import label_dataset, load_labels, shard_starts
from citer_core.tasks.datasets import bundled_rows
from citer_core.training.objectives import OBJECTIVES

ROOT = Path(__file__).resolve().parent.parent
LABEL = ["label", "--generated", "10", "--max-new-tokens", "60", "--ask-slm"]
QUICK = ["--epochs", "3", "--learning-rates", "0.001"]


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_rows(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def small_parts(patch):
    """Parts of 6 rows, so that few rows make several."""
    patch.setattr(label_files, "PART_SIZE", 6)
    patch.setitem(label_dataset.__kwdefaults__, "part_size", 6)
    patch.setattr(shard_starts, "__defaults__", (6,))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The whole way once: labels of the bundled pair, and a router of them."""
    folder = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patch:
        small_parts(patch)
        assert main([*LABEL, "--output-dir", str(folder / "labels")]) == 0
    assert (
        main(["train-router", "--labels", str(folder / "labels"), "--output-dir", str(folder / "routers"), *QUICK]) == 0
    )
    return folder


@pytest.fixture
def data(tmp_path):
    """Math rows with ground truth that are not among the bundled problems, some for tests and some for tuning."""
    rows = [{**bundled_rows("math")[n].row, "id": f"new-{n}"} for n in range(8)]
    for row in rows:
        row["problem"] = "Here is a question. " + row["problem"]
    write_rows(tmp_path / "tuning.jsonl", rows[5:])
    return write_rows(tmp_path / "rows.jsonl", rows[:5])


@pytest.fixture
def no_loading(monkeypatch):
    monkeypatch.setattr(Engine, "load", lambda *_, **__: pytest.fail("a model was loaded"))


# --- every command


def options(command):
    subparsers = next(a for a in build_parser()._actions if isinstance(a, argparse._SubParsersAction))
    return subparsers.choices[command]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_works_and_names_every_default(command, capsys):
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"])
    assert caught.value.code == 0 and capsys.readouterr().out.startswith(f"usage: python -m citer_core {command}")
    parser = options(command)
    formatter = parser._get_formatter()
    for action in parser._actions:
        if not action.option_strings or action.default in (None, False, argparse.SUPPRESS):
            continue
        text = formatter._expand_help(action)
        shown = "(0, 0.1, ..., 1)" if "--thresholds" in action.option_strings else str(action.default)
        assert shown in text, action.option_strings


def test_kinds_on_the_command_line_are_the_objectives():
    assert list(KINDS) == list(OBJECTIVES)


BAD = [
    (["label", "--dataset-path", "ROWS", "--output-dir", "OUT", "--batch-size", "0"], "--batch-size is 0"),
    (["label", "--dataset-path", "ROWS", "--output-dir", "OUT", "--max-new-tokens", "0"], "max_new_tokens is 0"),
    (["label", "--dataset-path", "ROWS", "--output-dir", "OUT", "--shard", "3/2"], "--shard is '3/2'"),
    (["label", "--dataset-path", "ROWS", "--output-dir", "OUT", "--shard", "x"], "such as 2/4"),
    (["label", "--dataset-path", "ROWS", "--output-dir", "OUT", "--rollouts", "some"], 'give "all" or'),
    (["label", "--dataset-path", "ROWS", "--output-dir", "OUT", "--router-threshold", "2"], "threshold (tau) is 2.0"),
    (["label", "--dataset-path", "ROWS", "--output-dir", "OUT", "--iteration", "0"], "--iteration is 0"),
    (["label", "--dataset-path", "ROWS", "--output-dir", "OUT", "--both-branches", "-1"], "--both-branches is -1"),
    (["label", "--dataset-path", "ROWS", "--output-dir", "OUT", "--limit", "0"], "--limit is 0"),
    (["label", "--dataset-path", "ROWS", "--output-dir", "OUT", "--data-type", "mc"], "bad row(s)"),
    (["label", "--dataset-path", "MISSING", "--output-dir", "OUT"], "cannot be read"),
    (["label", "--dataset-path", "BARE", "--output-dir", "OUT"], "make-cot"),
    (["label", "--dataset", "gsm8k:test", "--output-dir", "OUT"], "nothing may be trained on it"),
    (["label", "--generated", "0", "--output-dir", "OUT"], "--generated is 0"),
    (["label", "--generated", "2", "--limit", "1", "--output-dir", "OUT"], "--limit: leave it away"),
    (["iterate", "--dataset-path", "ROWS", "--output-dir", "OUT", "--rounds", "0"], "--rounds is 0"),
    (["iterate", "--dataset-path", "ROWS", "--output-dir", "OUT", "--share", "1"], "--share is 1.0"),
    (["iterate", "--dataset-path", "ROWS", "--output-dir", "OUT", "--epochs", "0"], "max_epochs is 0"),
    (["iterate", "--dataset-path", "ROWS", "--output-dir", "OUT", "--test-limit", "0"], "--test-limit is 0"),
    (["iterate", "--dataset-path", "ROWS", "--output-dir", "OUT", "--test-path", "ROWS"], "5 problems that rounds"),
    (["iterate", "--dataset-path", "ROWS", "--output-dir", "OUT", "--test-path", "OPEN"], "no known answer"),
    (["iterate", "--dataset-path", "ROWS", "--output-dir", "OUT", "--batch-size", "-2"], "--batch-size is -2"),
    (["train-router", "--labels", "MISSING", "--output-dir", "OUT"], "holds no labels"),
    (["train-router", "--labels", "MISSING", "--output-dir", "OUT", "--share", "0"], "--share is 0.0"),
    (["train-router", "--labels", "MISSING", "--output-dir", "OUT", "--epochs", "0"], "max_epochs is 0"),
    (["train-router", "--labels", "MISSING", "--output-dir", "OUT", "--batch-size", "1"], "batch_size is 1"),
    (["train-router", "--labels", "MISSING", "--output-dir", "OUT", "--name", "../up"], "plain file name"),
    (["merge-labels", "MISSING", "--output-dir", "OUT"], "holds no labels"),
    (
        ["evaluate", "--dataset-path", "ROWS", "--output-file", "OUT", "--thresholds", "0.5", "1.5"],
        "--thresholds has 1.5",
    ),
    (["evaluate", "--dataset-path", "ROWS", "--output-file", "OUT", "--shares", "0.5"], "--shares needs --tuning-path"),
    (["evaluate", "--dataset-path", "ROWS", "--output-file", "OUT", "--batch-size", "0"], "--batch-size is 0"),
    (["evaluate", "--dataset-path", "ROWS", "--output-file", "OUT", "--max-new-tokens", "0"], "max_new_tokens is 0"),
    (["evaluate", "--dataset-path", "OPEN", "--output-file", "OUT"], "row 1 has no known answer"),
    (["evaluate", "--dataset-path", "MISSING", "--output-file", "OUT"], "cannot be read"),
    (
        ["evaluate", "--dataset-path", "ROWS", "--output-file", "OUT", "--shares", "0.5", "--tuning-path", "ROWS"],
        "5 problems are in the data set and in --tuning-path",
    ),
    (
        ["evaluate", "--dataset-path", "ROWS", "--output-file", "OUT", "--routers", "a/citer.json", "b/citer.json"],
        'has "citer" twice',
    ),
    (["route", "--question", "1+1?", "--budget", "2"], "--budget is 2.0"),
    (["route", "--question", "1+1?", "--budget", "0.2", "--threshold", "0.5"], "give one of the two"),
    (["route", "--dataset-path", "ROWS", "--output-file", "OUT", "--batch-size", "0"], "--batch-size is 0"),
]


@pytest.mark.parametrize(("arguments", "part"), BAD, ids=[" ".join(a[:1] + a[-2:]) for a, _ in BAD])
def test_bad_input_is_one_message_before_anything_is_loaded(no_loading, data, tmp_path, capsys, arguments, part):
    bare = write_rows(tmp_path / "bare.jsonl", [{"problem": "1+1?"}])
    places = {"ROWS": data, "OUT": tmp_path / "out", "MISSING": tmp_path / "missing", "BARE": bare, "OPEN": bare}
    assert main([str(places.get(argument, argument)) for argument in arguments]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: ") and part in err
    assert not (tmp_path / "out").exists()


def test_unusable_output_folders_are_found_before_the_work(data, tmp_path, capsys, monkeypatch):
    """The published code made its folder after the run, and lost the results where it could not."""
    (tmp_path / "taken").write_text("a file")
    monkeypatch.setattr(label_files, "label_examples", lambda *_, **__: pytest.fail("labelled"))
    monkeypatch.setattr("citer_core.evaluation.shortcut.compare_branches", lambda *_: pytest.fail("rolled out"))
    label = ["label", "--dataset-path", str(data), "--output-dir", str(tmp_path / "taken" / "x")]
    for more in ([], ["--both-branches", "3"]):
        assert main([*label, *more]) == 2
        assert "cannot be written" in capsys.readouterr().err


# --- label, merge-labels


def test_labels_are_all_there_and_summed_up(trained):
    header, labels, rows = load_labels(trained / "labels")
    assert (header.n_rows, header.part_size, header.ask_slm, header.max_new_tokens) == (20, 6, True, 60)
    assert [row["data_type"] for row in rows] == ["math"] * 10 + ["mc"] * 10
    assert (labels.slm_is_correct >= 0).all() and (labels.label >= 0).all()


def test_shards_into_two_folders_merge_into_the_same_bytes(trained, tmp_path, monkeypatch, capsys):
    small_parts(monkeypatch)
    folders = [tmp_path / "one", tmp_path / "two"]
    for i, folder in enumerate(folders, start=1):
        assert main([*LABEL, "--output-dir", str(folder), "--shard", f"{i}/2"]) == 0
    err = capsys.readouterr().err
    assert "labelled 12 of 12 rows" in err and "labelled 8 of 8 rows" in err and "This shard is done" in err
    assert main(["train-router", "--labels", str(folders[0]), "--output-dir", str(tmp_path / "r")]) == 2
    assert "lack 2 of 4 parts" in capsys.readouterr().err
    assert main(["merge-labels", *map(str, folders), "--output-dir", str(tmp_path / "all")]) == 0
    assert capsys.readouterr().err == f"4 parts are in {tmp_path / 'all'}\n"
    assert contents(tmp_path / "all") == contents(trained / "labels")
    assert main(["merge-labels", str(folders[0]), str(folders[0]), "--output-dir", str(tmp_path / "no")]) == 2
    assert "remove one of the two" in capsys.readouterr().err


def test_an_interrupted_labelling_resumes_to_the_same_bytes(trained, tmp_path, monkeypatch, capsys):
    small_parts(monkeypatch)
    honest, n_calls = label_files.label_examples, []

    def interrupted(*args, **options):
        n_calls.append(1)
        if len(n_calls) == 3:
            raise KeyboardInterrupt
        return honest(*args, **options)

    monkeypatch.setattr(label_files, "label_examples", interrupted)
    arguments = [*LABEL, "--output-dir", str(tmp_path / "labels")]
    assert main(arguments) == 130
    assert main(arguments) == 0
    assert len(n_calls) == 3 + 2  # the two parts that were finished are not made again
    assert contents(tmp_path / "labels") == contents(trained / "labels")
    err = capsys.readouterr().err
    assert "interrupted" in err and "tokens: case 1 9" in err
    assert main([*arguments, "--seed", "1"]) == 2
    assert "seed = 0, but now it is 1" in capsys.readouterr().err


@pytest.mark.slow
def test_a_labelling_killed_with_9_resumes_to_the_same_bytes(tmp_path):
    """In a process of its own, in the middle of a part, parts of the size that people get."""

    def command(name):
        label = ["label", "--generated", "130", "--max-new-tokens", "60", "--output-dir", str(tmp_path / name)]
        return [sys.executable, "-m", "citer_core", *label]

    process = subprocess.Popen(command("killed"), cwd=ROOT, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 300
        while not list((tmp_path / "killed").glob("part-*.jsonl")):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert not (tmp_path / "killed" / "part-000200.jsonl").exists()
    for name in ("killed", "whole"):
        subprocess.run(command(name), cwd=ROOT, check=True, capture_output=True, timeout=300)
    left = {name: data for name, data in contents(tmp_path / "killed").items() if not name.endswith(".partial")}
    assert left == contents(tmp_path / "whole") and len(left) == 7


def test_later_iterations_label_under_a_routers_card(trained, tmp_path, capsys):
    card = trained / "routers" / "citer.json"
    arguments = ["label", "--generated", "1", "--max-new-tokens", "20", "--output-dir", str(tmp_path / "2")]
    assert main([*arguments, "--router", str(card), "--rollouts", "1"]) == 0
    header, _, _ = load_labels(tmp_path / "2")
    assert (header.iteration, header.router, header.threshold, header.n_rollouts) == (2, "citer", 0.95, 1)
    assert header.router_revision == json.loads(card.read_text())["revision"]


def test_both_branches_write_a_report(tmp_path, capsys):
    out = tmp_path / "branches"
    assert main(["label", "--generated", "2", "--both-branches", "3", "--output-dir", str(out)]) == 0
    report = json.loads((out / "branches.json").read_text())
    err = capsys.readouterr().err
    for case, entry in report["cases"].items():
        assert entry["n"] == min(3, entry["n_tokens"]) == entry["n_decided"] + entry["n_undecided"]
        assert f"case {case}: label right for {entry['n_right']} of {entry['n_decided']} decided" in err
    assert report["cases"]["1"]["n"] == 3 and not (out / "labels.json").exists()


# --- train-router


def test_training_again_makes_the_same_router(trained, tmp_path, capsys):
    arguments = ["train-router", "--labels", str(trained / "labels"), "--output-dir", str(tmp_path), *QUICK]
    assert main(arguments) == 0
    assert contents(tmp_path) == contents(trained / "routers")
    card = json.loads((tmp_path / "citer.json").read_text())
    assert f"AUC {number(card['training']['auc'])} on" in capsys.readouterr().err
    assert main([*arguments, "--seed", "2"]) == 0
    assert json.loads((tmp_path / "citer.json").read_text())["revision"] != card["revision"]


@pytest.mark.parametrize("kind", KINDS[1:])
def test_every_kind_trains_from_one_folder_of_labels(trained, tmp_path, kind):
    arguments = ["train-router", "--labels", str(trained / "labels"), "--kind", kind, "--name", f"my-{kind}"]
    assert main([*arguments, "--output-dir", str(tmp_path), *QUICK]) == 0
    card = json.loads((tmp_path / f"my-{kind}.json").read_text())
    assert card["kind"] == OBJECTIVES[kind].architecture.kind and 0 <= card["recommended_threshold"] <= 1


def test_what_cannot_train_is_a_message(trained, tmp_path, capsys):
    plain = tmp_path / "plain"
    assert main(["label", "--generated", "1", "--max-new-tokens", "4", "--output-dir", str(plain)]) == 0
    arguments = ["train-router", "--labels", str(plain), "--output-dir", str(tmp_path / "r")]
    assert main([*arguments, "--kind", "query-level"]) == 2
    assert "--ask-slm" in capsys.readouterr().err
    (tmp_path / "taken").write_text("a file")
    blocked = ["train-router", "--labels", str(trained / "labels"), "--output-dir", str(tmp_path / "taken"), *QUICK]
    assert main(blocked) == 2
    assert "cannot be written" in capsys.readouterr().err


# --- route with what was trained


def test_route_takes_a_card_and_turns_a_budget_into_its_tau(trained, data, tmp_path, capsys):
    card = trained / "routers" / "citer.json"
    out = tmp_path / "out.jsonl"
    arguments = ["route", "--dataset-path", str(data), "--output-file", str(out), "--max-new-tokens", "40"]
    arguments += ["--router", str(card), "--budget", "0.3"]
    assert main([*arguments, "--batch-size", "2", "--limit", "3"]) == 0
    assert main([*arguments, "--batch-size", "5"]) == 0  # the batch is no part of what a run is
    quantiles = json.loads(card.read_text())["training"]["confidence_quantiles"]
    rows = lines(out)
    assert sorted(row["id"] for row in rows) == [f"new-{n}" for n in range(5)]
    assert {row["threshold"] for row in rows} == {quantiles[30]} and {row["router"] for row in rows} == {"citer"}
    assert main([*arguments[:-2], "--budget", "0.4"]) == 2
    assert "budget was 0.3 and is 0.4" in capsys.readouterr().err


def test_batches_write_what_single_problems_get(data, tmp_path, capsys):
    def rows(name, *more):
        arguments = ["route", "--dataset-path", str(data), "--output-file", str(tmp_path / name), "--threshold", "0.9"]
        assert main([*arguments, "--max-new-tokens", "60", "--with-trace", *more]) == 0
        return {row["id"]: row for row in lines(tmp_path / name)}

    one, many = rows("1.jsonl", "--batch-size", "1"), rows("4.jsonl", "--batch-size", "4")
    for row_id, row in one.items():
        other = many[row_id]
        for key in row.keys() - {"measured_s", "trace"}:
            assert row[key] == other[key], key
        for a, b in zip(row["trace"]["events"], other["trace"]["events"], strict=True):
            assert (a["token_id"], a["source"], a["llm_tokens_fed"]) == (
                b["token_id"],
                b["source"],
                b["llm_tokens_fed"],
            )
            assert a["slm_confidence"] == pytest.approx(b["slm_confidence"], abs=1e-4)
            assert [c[0] for c in a["slm_top"]] == [c[0] for c in b["slm_top"]]
    assert any(0 < row["llm_token_share"] < 1 for row in one.values())


def test_a_router_without_a_card_has_no_budget(capsys):
    assert main(["route", "--question", "1+1?", "--router", "margin", "--budget", "0.2"]) == 2
    assert "was not trained" in capsys.readouterr().err


# --- evaluate


def test_the_table_is_what_the_rows_say_and_a_second_start_measures_only_the_rest(data, tmp_path, capsys, monkeypatch):
    out = tmp_path / "points.jsonl"
    arguments = ["evaluate", "--dataset-path", str(data), "--output-file", str(out), "--max-new-tokens", "60"]
    arguments += ["--routers", "margin", "random", "--thresholds", "0", "0.5", "1"]
    asked = []
    honest = accuracy.operating_points

    def counted(engine, problems, router, thresholds, **limits):
        asked.append((router, *thresholds))
        if len(asked) == 5:
            raise KeyboardInterrupt
        return honest(engine, problems, router, thresholds, **limits)

    monkeypatch.setattr(accuracy, "operating_points", counted)
    assert main(arguments) == 130
    assert len(lines(out)) == 4
    capsys.readouterr()
    assert main(arguments) == 0
    wanted = [(router, tau) for router in ("margin", "random") for tau in (0.0, 0.5, 1.0)]
    assert asked == [*wanted[:5], *wanted[4:]]  # the fifth was interrupted
    rows, table = lines(out), capsys.readouterr().out.splitlines()
    assert len(rows) == 6 and len(table) == 8
    for row, line in zip(rows, table[2:], strict=True):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        low, high = row["accuracy"]["interval_95"]
        assert cells[:2] == [row["router"], f"{row['threshold']:g}"]
        assert cells[2] == f"{row['accuracy']['n_correct'] / 5:.1%}"
        assert cells[3] == f"{low:.1%} to {high:.1%}"
        assert cells[4] == f"{row['llm_token_share']:.1%}" and cells[6] == f"{row['bytes_share']:.1%}"
        value, unit = cells[5].split()
        assert float(value) * {"MB": 1e6, "GB": 1e9}[unit] == pytest.approx(row["n_bytes"], rel=0.01)
        assert float(cells[7]) == pytest.approx(row["flops"] / 1e12, rel=0.01)
    by_id = {row["id"]: row for row in rows}
    assert by_id["margin tau 0"]["llm_token_share"] == 0.0 and by_id["random tau 1"]["llm_token_share"] == 1.0
    # Both ends are the same text whoever scored it, and the table agrees with a run of `route`.
    for tau in (0, 1):
        assert by_id[f"margin tau {tau}"]["accuracy"] == by_id[f"random tau {tau}"]["accuracy"]
    routed = tmp_path / "routed.jsonl"
    route = ["route", "--dataset-path", str(data), "--output-file", str(routed), "--max-new-tokens", "60"]
    assert main([*route, "--router", "margin", "--threshold", "0.5"]) == 0
    point, runs = by_id["margin tau 0.5"], lines(routed)
    assert point["accuracy"]["n_correct"] == sum(row["is_correct"] for row in runs)
    assert point["n_tokens"] == sum(row["n_tokens"] for row in runs)
    assert point["n_bytes"] == pytest.approx(sum(row["estimated_bytes"] for row in runs))


def test_points_of_other_problems_are_not_mixed(data, tmp_path, capsys):
    out = tmp_path / "points.jsonl"
    arguments = ["--output-file", str(out), "--routers", "margin", "--thresholds", "0", "--max-new-tokens", "5"]
    assert main(["evaluate", "--dataset-path", str(data), *arguments]) == 0
    before = out.read_bytes()
    assert main(["evaluate", "--dataset-path", str(tmp_path / "tuning.jsonl"), *arguments]) == 2
    assert "problems was '5 problems" in capsys.readouterr().err
    assert out.read_bytes() == before


def test_shares_are_found_on_the_tuning_problems(data, tmp_path, capsys, monkeypatch):
    seen, honest = [], accuracy.threshold_for_share
    monkeypatch.setattr(
        accuracy,
        "threshold_for_share",
        lambda engine, problems, *more, **limits: (
            seen.append([p.id for p in problems]) or honest(engine, problems, *more, **limits)
        ),
    )
    out = tmp_path / "matched.jsonl"
    arguments = ["evaluate", "--dataset-path", str(data), "--tuning-path", str(tmp_path / "tuning.jsonl")]
    arguments += ["--shares", "0.4", "--routers", "random", "--max-new-tokens", "40", "--output-file", str(out)]
    assert main(arguments) == 0
    (row,) = lines(out)
    assert seen == [["new-5", "new-6", "new-7"]]
    assert (row["id"], row["share_wanted"]) == ("random share 0.4", 0.4)
    assert row["llm_token_share"] == pytest.approx(0.4, abs=0.12) and 0.2 < row["threshold"] < 0.6


def test_an_unknown_router_names_those_that_exist(data, tmp_path, capsys):
    arguments = ["evaluate", "--dataset-path", str(data), "--output-file", str(tmp_path / "o"), "--routers", "nope"]
    assert main(arguments) == 2
    assert "max-probability" in capsys.readouterr().err


# --- iterate


def test_rounds_from_the_command_line_resume_and_end_in_a_table(data, tmp_path, capsys):
    arguments = ["iterate", "--generated", "6", "--output-dir", str(tmp_path / "rounds"), *QUICK]
    arguments += ["--max-new-tokens", "60", "--rollouts", "2", "--test-path", str(data), "--test-limit", "2"]
    assert main([*arguments, "--rounds", "1"]) == 0
    labels = contents(tmp_path / "rounds" / "round-1" / "labels")
    capsys.readouterr()
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert "round 2: labelled 12 of 12 rows" in err and "round 1: training" not in err
    assert contents(tmp_path / "rounds" / "round-1" / "labels") == labels
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in out.splitlines()]
    assert [row[0] for row in table[2:]] == ["1", "2"] and "rows right" in table[0]
    for n, row in enumerate(table[2:], start=1):
        report = json.loads((tmp_path / "rounds" / f"round-{n}" / "report.json").read_text())
        cells = dict(zip(table[0], row, strict=True))
        assert cells["loss"] == f"{report['validation_loss']:.5f}" and cells["AUC"] == number(report["auc"])
        assert cells["tau"] == f"{report['threshold']:.3f}" and report["points"]["rows"]["accuracy"]["n"] == 2
        assert cells["rows right"] == f"{report['points']['rows']['accuracy']['share']:.1%}"
        assert cells["flips"] == ("" if n == 1 else str(report["n_label_flips"]))
