"""`train-router`, `iterate`, and `route` with the router that came out, on the bundled pair."""

from __future__ import annotations

import json

import pytest

from citer_core.cli.main import main
from citer_core.cli.terminal import number
from citer_core.cli.train_router import KINDS, LABELS_OF
from citer_core.labelling.label_files import load_labels
from citer_core.training.objectives import OBJECTIVES
from tests.cli.examples import QUICK, contents, lines
from tests.sampling import few_or_all

# --- train-router


def test_training_again_makes_the_same_router(trained, tmp_path, capsys):
    arguments = ["train-router", "--labels", str(trained / "labels"), "--output-dir", str(tmp_path), *QUICK]
    assert main(arguments) == 0
    assert contents(tmp_path) == contents(trained / "routers")
    card = json.loads((tmp_path / "citer.json").read_text())
    err = capsys.readouterr().err
    assert f"AUC {number(card['training']['auc'])} on" in err
    assert "citer, rate 0.001, epoch 2: validation loss 0." in err, "each epoch is told as it ends"
    assert f"LLM tokens by tau: 0.1 {card['training']['llm_shares_at_tau'][10]:.1%}, 0.3" in err
    command = "python -m citer_core train-router --labels labels --kind citer --share 0.2"
    assert card["command"] == f"{command} --learning-rates 0.001 --epochs 3"
    assert main([*arguments, "--seed", "2"]) == 0
    assert json.loads((tmp_path / "citer.json").read_text())["revision"] != card["revision"]


@pytest.mark.parametrize("kind", [kind for kind in KINDS[1:] if LABELS_OF.get(kind) != "outcome"])
def test_every_kind_trains_from_one_folder_of_labels(trained, tmp_path, kind):
    arguments = ["train-router", "--labels", str(trained / "labels"), "--kind", kind, "--name", f"my-{kind}"]
    assert main([*arguments, "--output-dir", str(tmp_path), *QUICK]) == 0
    card = json.loads((tmp_path / f"my-{kind}.json").read_text())
    assert card["kind"] == OBJECTIVES[kind].architecture.kind and 0 <= card["recommended_threshold"] <= 1


def test_labels_by_outcome_and_their_router_from_the_command_line(tmp_path, capsys):
    """The bundled pair disagrees at few tokens; all of its rows are labelled row by row."""
    labels, routers = tmp_path / "labels", tmp_path / "routers"
    arguments = ["label", "--generated", "2", "--labels", "outcome", "--max-new-tokens", "30", "--part-size", "1"]
    assert main([*arguments, "--output-dir", str(labels)]) == 0
    header, found, _ = load_labels(labels)
    assert (header.labels, header.router, header.part_size) == ("outcome", "always-llm", 1)
    both = (found.slm_branch == 1) & (found.llm_branch == 1)
    err = capsys.readouterr().err
    assert (
        f"both branches of {int(found.is_tried.sum())} disagreements rolled out: both right {int(both.sum())}," in err
    )
    train = ["train-router", "--labels", str(labels), "--output-dir", str(routers), "--kind"]
    assert main([*train, "citer-outcome", "--both-fail", "llm", *QUICK]) == 0
    card = json.loads((routers / "citer-outcome.json").read_text())
    assert card["kind"] == "citer-plus" and card["ties"] == {"both_fail": "llm", "both_right": "slm"}
    assert card["command"].endswith("--learning-rates 0.001 --epochs 3 --both-fail llm --both-right slm")
    assert main([*train, "citer", *QUICK]) == 2
    assert "train --kind citer-outcome" in capsys.readouterr().err


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


@pytest.mark.parametrize("named", few_or_all("citer", "margin"))
def test_a_budget_becomes_one_tau_for_a_data_set(trained, data, tmp_path, capsys, named):
    """Of a trained router and of one that needs no training; a run that goes on keeps the tau that it found."""
    out = tmp_path / "out.jsonl"
    router = str(trained / "routers" / "citer.json") if named == "citer" else named
    arguments = ["route", "--dataset-path", str(data), "--output-file", str(out), "--max-new-tokens", "40"]
    arguments += ["--router", router, "--budget", "0.3"]
    assert main([*arguments, "--batch-size", "2", "--limit", "3"]) == 0
    tau = {row["threshold"] for row in lines(out)}
    said = capsys.readouterr().err
    assert len(tau) == 1 and f"tau {min(tau):.4g} gives" in said and "on the first 3 rows" in said
    n_tokens = sum(row["n_tokens"] for row in lines(out))
    share = sum(row["n_tokens"] * row["llm_token_share"] for row in lines(out)) / n_tokens
    assert abs(share - 0.3) <= 0.03 and "asked for" not in said
    assert main([*arguments, "--batch-size", "5"]) == 0  # the batch is no part of what a run is
    assert "to find it" not in capsys.readouterr().err
    rows = lines(out)
    assert sorted(row["id"] for row in rows) == [f"new-{n}" for n in range(5)]
    assert {row["threshold"] for row in rows} == tau and {row["router"] for row in rows} == {named}
    assert main([*arguments[:-2], "--budget", "0.4"]) == 2
    assert "budget was 0.3 and is 0.4" in capsys.readouterr().err


def test_batches_write_what_single_problems_get(data, tmp_path, capsys):
    def rows(name, *more):
        arguments = ["route", "--dataset-path", str(data), "--output-file", str(tmp_path / name), "--threshold", "0.9"]
        assert main([*arguments, "--max-new-tokens", "30", "--with-trace", *more]) == 0
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


def test_a_budget_of_one_question_is_kept_in_its_own_answer(capsys):
    question = [
        "route",
        "--question",
        "Ana has 3 bags of 4 pens. How many pens?",
        "--router",
        "margin",
        "--json",
    ]
    assert main([*question, "--budget", "0.2"]) == 0
    out, err = capsys.readouterr()
    events = json.loads(out)["events"]
    share = sum(event["source"] == "llm" for event in events) / len(events)
    assert f"gives {share:.1%} LLM tokens on the question" in err and share == pytest.approx(0.2, abs=0.03)
    # Confidences of one value: all tokens or none, and that is said.
    assert main([*question[:4], "always-slm", "--json", "--budget", "0.2"]) == 0
    assert "asked for 20.0% LLM tokens, got 0.0%: correct it with --threshold" in capsys.readouterr().err


# --- iterate


def test_rounds_from_the_command_line_resume_and_end_in_a_table(data, tmp_path, capsys):
    arguments = ["iterate", "--generated", "3", "--output-dir", str(tmp_path / "rounds"), *QUICK]
    arguments += ["--max-new-tokens", "30", "--rollouts", "2", "--test-path", str(data), "--test-limit", "2"]
    assert main([*arguments, "--rounds", "1"]) == 0
    labels = contents(tmp_path / "rounds" / "round-1" / "labels")
    capsys.readouterr()
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert "round 2: labelled 6 of 6 rows" in err and "round 1: training" not in err
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
