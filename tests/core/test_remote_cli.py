"""`route` with the LLM on a server: what a person sees and what stays on the disk, with the server and without it."""

from __future__ import annotations

import json

import pytest

from citer_core.cli.load import load_rows
from citer_core.cli.main import main
from citer_core.labelling.label_files import load_labels
from citer_core.labelling.label_header import LabelHeader
from tests.completions_server import CompletionsServer

N_HANDSHAKE = 2


def command(folders, *more):
    return ["route", "--pair", folders, "--router", "max-probability", *more]


def test_a_question_is_answered_as_with_the_loaded_llm(folders, server, capfd):
    question = ("--question", "Tom buys 4 books.", "--threshold", "0.6", "--max-new-tokens", "20", "--json")
    assert main(command(folders, *question, "--llm-url", server.url)) == 0
    ours = json.loads(capfd.readouterr().out)
    assert main(command(folders, *question)) == 0
    theirs = json.loads(capfd.readouterr().out)
    assert [e["token_id"] for e in ours["events"]] == [e["token_id"] for e in theirs["events"]]
    assert {e["source"] for e in ours["events"]} == {"slm", "llm"}
    assert ours["pair"]["revision"].endswith("-server:tiny-llm")


def test_a_lost_server_ends_a_question_with_what_was_written(folders, server, capfd):
    server.die_after = N_HANDSHAKE + 6
    more = ("--question", "Tom buys 4 books.", "--threshold", "1", "--llm-url", server.url, "--json")
    assert main(command(folders, *more)) == 3
    out, err = capfd.readouterr()
    assert "error: The LLM's server gave no answer in 5 attempts" in err
    trace = json.loads(out)
    assert (trace["finish_reason"], len(trace["events"])) == ("error", 6)


@pytest.mark.parametrize(
    ("more", "part"),
    [
        (("--llm-model", "name"), "give --llm-url too"),
        (("--llm-url", "nowhere"), "http://host:8000/v1"),
        (("--llm-url", "http://127.0.0.1:9/v1", "--llm-timeout", "0"), "above 0"),
    ],
)
def test_wrong_usage_is_found_before_anything_is_loaded(more, part, capfd, monkeypatch):
    monkeypatch.setattr("citer_core.engine.Engine.load", lambda *_, **__: pytest.fail("loaded"))
    assert main(["route", "--question", "What?", *more]) == 2
    assert part in capfd.readouterr().err


def test_load_predicts_measures_and_stores(folders, server, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("citer_core.cli.load.USERS", (1, 2, 4))  # of which passes are timed
    out = tmp_path / "new" / "capacity.json"
    arguments = ["load", "--pair", folders, "--llm-url", server.url]
    assert main([*arguments, "--users", "1", "2", "--seconds", "0.2", "--rounds", "2", "--output-file", str(out)]) == 0
    result = json.loads(out.read_text())
    assert [load["users"] for load in result["loads"]] == [1, 2]
    assert all(load["n_calls"] > 0 and load["measured"]["tokens_per_s"] > 0 for load in result["loads"])
    printed, err = capsys.readouterr()
    for cells in load_rows(result):
        line = next(line for line in printed.splitlines() if line.startswith(f"| {cells[0]} "))
        assert tuple(cell.strip() for cell in line.strip("|").split("|")) == cells
    assert err.rindex("predicted") < err.index("round 1, 1 users") < err.index("round 2, 1 users")
    assert folders.split(",")[0] not in out.read_text() and "127.0.0.1" not in out.read_text()


def test_labels_against_a_server_are_those_of_the_weights_and_go_on_after_a_loss(folders, server, tmp_path, capfd):
    def label(name, *more):
        rows = ("--dataset-path", str(tmp_path / "rows.jsonl"), "--part-size", "1", "--max-new-tokens", "6")
        out = ("--pair", folders, "--labels", "outcome", "--output-dir", str(tmp_path / name))
        return main(["label", *rows, *out, *more])

    rows = [{"problem": f"{n}+1?", "solution": f"It is $\\boxed{{{n + 1}}}$."} for n in range(3)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert label("here") == 0
    server.die_after = N_HANDSHAKE + 3
    assert label("there", "--llm-url", server.url) == 3
    assert "error: The LLM's server gave no answer" in capfd.readouterr().err
    n_kept = len(list((tmp_path / "there").glob("part-*.jsonl")))
    assert 0 < n_kept < 3
    train = ["train-router", "--labels", str(tmp_path / "there"), "--kind", "citer-outcome", "--epochs", "1"]
    card = str(tmp_path / "routers" / "citer-outcome.json")
    with CompletionsServer(server.model, server.tokenizer, port=server.port) as again:
        assert label("there", "--llm-url", again.url) == 0
        assert main([*train, "--both-fail", "llm", "--output-dir", str(tmp_path / "routers")]) == 0
        asked = ("--question", "1+1?", "--max-new-tokens", "2", "--llm-url", again.url)
        assert main(["route", "--pair", folders, "--router", card, *asked]) == 0
    _, ours, our_rows = load_labels(tmp_path / "there")
    _, theirs, their_rows = load_labels(tmp_path / "here")
    assert our_rows == their_rows and ours.is_tried.any()
    assert ours.slm_branch.tolist() == theirs.slm_branch.tolist()
    assert LabelHeader.read(tmp_path / "there").pair_revision.endswith("-server:tiny-llm")
