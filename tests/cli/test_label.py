"""`label` and `merge-labels` on the bundled pair: shards, interruptions, later rounds, both branches."""

from __future__ import annotations

import json

import pytest

from citer_core.cli.main import main
from citer_core.labelling import label_files, rollouts
from citer_core.labelling.label_files import load_labels
from tests.cli.examples import LABEL, contents, small_parts


def test_labels_are_all_there_and_summed_up(trained, monkeypatch, capsys):
    small_parts(monkeypatch)
    header, labels, rows = load_labels(trained / "labels")
    assert (header.n_rows, header.part_size, header.ask_slm, header.max_new_tokens) == (10, 3, True, 40)
    assert [row["data_type"] for row in rows] == ["math"] * 5 + ["mc"] * 5
    assert (labels.slm_is_correct >= 0).all() and (labels.label >= 0).all()
    monkeypatch.setattr(label_files, "label_examples", lambda *_, **__: pytest.fail("labelled again"))
    arguments = [*LABEL, "--output-dir", str(trained / "labels")]
    assert main(arguments) == 0
    shares = ", ".join(f"case {case} {(labels.case == case).double().mean():.2%}" for case in (1, 2, 3))
    assert f"{len(labels)} tokens: {shares}" in capsys.readouterr().err
    assert main([*arguments, "--seed", "1"]) == 2
    assert "seed = 0, but now it is 1" in capsys.readouterr().err


def test_shards_into_two_folders_merge_into_the_same_bytes(trained, tmp_path, monkeypatch, capsys):
    small_parts(monkeypatch)
    folders = [tmp_path / "one", tmp_path / "two"]
    for i, folder in enumerate(folders, start=1):
        assert main([*LABEL, "--output-dir", str(folder), "--shard", f"{i}/2"]) == 0
    err = capsys.readouterr().err
    assert "labelled 6 of 6 rows" in err and "labelled 4 of 4 rows" in err and "This shard is done" in err
    assert main(["train-router", "--labels", str(folders[0]), "--output-dir", str(tmp_path / "r")]) == 2
    assert "lack 2 of 4 parts" in capsys.readouterr().err
    assert main(["merge-labels", *map(str, folders), "--output-dir", str(tmp_path / "all")]) == 0
    assert capsys.readouterr().err == f"4 parts are in {tmp_path / 'all'}\n"
    assert contents(tmp_path / "all") == contents(trained / "labels")
    assert main(["merge-labels", str(folders[0]), str(folders[0]), "--output-dir", str(tmp_path / "no")]) == 2
    assert "remove one of the two" in capsys.readouterr().err


def test_labels_made_again_from_a_file_of_rollouts_are_the_same_bytes(trained, tmp_path, monkeypatch, capsys):
    small_parts(monkeypatch)
    file = ["--rollouts-file", str(tmp_path / "rollouts.jsonl")]
    for name in ("first", "again"):
        assert main([*LABEL, "--output-dir", str(tmp_path / name), *file]) == 0
        assert contents(tmp_path / name) == contents(trained / "labels")
        monkeypatch.setattr(rollouts, "continued", lambda *_: pytest.fail("rolled out again"))
    capsys.readouterr()
    both = ["--both-branches", "3", "--output-dir", str(tmp_path / "branches")]
    assert main([*LABEL[: LABEL.index("--ask-slm")], *both, *file]) == 2
    assert "leave it out with --both-branches" in capsys.readouterr().err


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
