"""What a pair with a data set of its own was set up with: counted against models that count on their own."""

from __future__ import annotations

import json

import pytest

from citer_core.assets import ASSETS
from citer_core.cli.main import main
from citer_core.engine import Engine
from citer_core.evidence.stored import StoredPart

PROBLEMS = ASSETS / "datasets" / "math.jsonl"


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Labels of two rounds and by outcome of the same four problems; and problems with their answers."""
    place = tmp_path_factory.mktemp("setup")
    label = ["label", "--generated", "2", "--max-new-tokens", "12"]
    assert main([*label, "--output-dir", str(place / "one")]) == 0
    assert main(["train-router", "--labels", str(place / "one"), "--epochs", "1", "--output-dir", str(place)]) == 0
    routed = ["--router", str(place / "citer.json"), "--rollout-share", "0.2"]
    assert main([*label, *routed, "--output-dir", str(place / "two")]) == 0
    assert main([*label, "--labels", "outcome", "--output-dir", str(place / "ends")]) == 0
    rows = [json.loads(line) for line in PROBLEMS.read_text().splitlines()[:4]]
    for name, some in (("train", rows[:2]), ("tune", rows[2:])):
        (place / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in some))
    return place


def _command(place, *labels):
    data = ["--dataset-path", str(place / "train.jsonl"), "--tuning-path", str(place / "tune.jsonl")]
    where = ["--work-dir", str(place / "work"), "--output-dir", str(place / "out"), "--max-new-tokens", "8"]
    return ["setup-cost", "--labels", *(f"{name}={place / folder}" for name, folder in labels), *data, *where,
            "--problems", "Sums"]  # fmt: skip


def test_the_command_counts_every_road_and_resumes(folders, capsys):
    command = _command(folders, ("citer", "one"), ("citer-2", "two"), ("citer-outcome", "ends"))
    assert main(command) == 0
    part = StoredPart.read(folders / "out" / "setup.json")
    content = part.content
    assert content["roads"] == {
        "max-probability": [],
        "citer": ["published-1"],
        "citer-2": ["published-1", "published-2"],
        "citer-outcome": ["outcome"],
    }
    assert (content["kinds"], content["n_labelled"], content["share_wanted"]) == (["Sums"], 4, 0.1)
    labels = {row["labels"]: row for row in content["labels"]}
    assert all(row["n_problems"] == 2 for row in labels.values())
    # Every folder's labels begin with one pass of both models over the true answers; the SLM rolls out alone first.
    read = labels["published-1"]["llm"]["n_new"]
    assert labels["published-2"]["llm"]["n_new"] >= read and labels["outcome"]["llm"]["n_new"] > read
    assert labels["published-1"]["slm"]["n_new"] >= read == labels["outcome"]["slm"]["n_new"]
    assert [row["router"] for row in content["training"]] == ["citer", "citer-2", "citer-outcome"]
    for row in content["training"]:
        card = json.loads((folders / "work" / "routers" / f"{row['router']}.json").read_text())["training"]
        assert row["n_epochs"] == 2 * min(100, card["best_epoch"] + 1 + 5), "two learning rates are tried"
    assert [row["router"] for row in content["tuning"]] == list(content["roads"])
    assert all(row["n_answers"] >= 2 and row["slm"]["n_new"] > 0 for row in content["tuning"])
    assert "--labels citer=one citer-2=two citer-outcome=ends --problems Sums" in part.command
    capsys.readouterr()
    assert main(command) == 0
    assert StoredPart.read(folders / "out" / "setup.json").content == content
    assert "training" not in capsys.readouterr().err, "seconds and all are those of the first time"


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ([("citer-2", "two")], 'rolled out under "citer": name that router'),
        ([("citer-3x", "one")], '"citer-3x" is no kind of router'),
        ([("citer", "nowhere")], "holds no labels"),
        ([("citer", "one"), ("citer", "two")], '"citer" twice'),
    ],
)
def test_what_cannot_be_priced_is_refused_before_anything_is_loaded(folders, monkeypatch, capsys, labels, said):
    monkeypatch.setattr(Engine, "load", lambda *_, **__: pytest.fail("loaded"))
    assert main(_command(folders, *labels)) == 2
    assert said in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_loaded(folders, monkeypatch, capsys):
    monkeypatch.setattr(Engine, "load", lambda *_, **__: pytest.fail("loaded"))
    for where in ("--work-dir", "--output-dir"):
        assert main([*_command(folders, ("citer", "one")), where, str(folders / "train.jsonl" / "x")]) in (1, 2)
        assert "train.jsonl" in capsys.readouterr().err
