"""What a browser may ask about a finished run, and what is refused: every field may be anything."""

from __future__ import annotations

import copy
import json

import pytest

from citer_core.errors import CiterError
from citer_core.tasks.problems import problem_from_text
from citer_core.types import DecodeSettings
from citer_core.ui.problems import ProblemBook
from citer_core.ui.run.asked import INSIDE, branch_request, probe_request
from tests.fakes import FakeEngine

BOOK = ProblemBook({})
ENGINE = FakeEngine("One two three four \\boxed{5}.")


@pytest.fixture
def request_():
    run = ENGINE.start(problem_from_text("How many?", "math", "5"), settings=DecodeSettings(threshold=0.7))
    for _ in run:
        pass
    trace = run.trace().to_dict()
    return {
        "prompt": trace["prompt"],
        "true_answer": "5",
        "pair_revision": trace["pair"]["revision"],
        "router": "citer",
        "settings": trace["settings"],
        "events": trace["events"][:3],
        "source": "llm",
        "token_id": 7,
        "parent": run.trace().key,
    }


def test_a_request_is_read_and_runs(request_):
    asked = branch_request(json.dumps(request_), BOOK)
    assert (asked.fork.n_shared, asked.fork.source, asked.fork.token_id, asked.parent.fork) == (3, "llm", 7, 3)
    assert asked.problem.true_answer == "5" and asked.settings.threshold == 0.7
    assert [e.text for e in asked.fork.events] == ["", "", ""]  # texts are the tokenizer's to say
    run = ENGINE.start(
        asked.problem, router=asked.router, settings=asked.settings, fork=asked.fork, parent=asked.parent
    )
    assert [event.forced for event in run][:5] == [False, False, False, True, False]


CHANGES = [
    lambda r: r.pop("prompt"),
    lambda r: r["prompt"].update(question=5),
    lambda r: r["prompt"].update(data_type="prose"),
    lambda r: r["prompt"].update(text=7),
    lambda r: r["settings"].update(threshold=2),
    lambda r: r["settings"].update(max_new_tokens=True),
    lambda r: r["settings"].pop("seed"),
    lambda r: r.update(events={"0": 1}),
    lambda r: r.update(events=r["events"] * 2000),
    lambda r: r["events"][0].update(token_id="1"),
    lambda r: r["events"][0].update(token_id=True),
    lambda r: r["events"][0].update(token_id=-1),
    lambda r: r["events"][1].update(source="person"),
    lambda r: r["events"][1].update(slm_confidence=7),
    lambda r: r["events"][1].update(slm_confidence=float("nan")),
    lambda r: r["events"][1].update(llm_s=float("inf")),
    lambda r: r["events"][1].update(slm_top=[[1, "a"]]),
    lambda r: r["events"][1].update(slm_top=[[1, "a", 0.5]] * 50),
    lambda r: r["events"][1].update(slm_top=[[1, "a" * 5000, 0.5]]),
    lambda r: r["events"].__setitem__(2, None),
    lambda r: r.update(source="both"),
    lambda r: r.update(source=None),  # a token without a model
    lambda r: r.update(token_id=2**40),
    lambda r: r.update(parent="<script>"),
    lambda r: r.update(router=["citer"]),
    lambda r: r.update(true_answer=["5"]),
]


@pytest.mark.parametrize("number", range(len(CHANGES)))
def test_anything_else_is_a_calm_error(request_, number):
    changed = copy.deepcopy(request_)
    CHANGES[number](changed)
    with pytest.raises(CiterError):
        branch_request(json.dumps(changed), BOOK)


@pytest.mark.parametrize("text", [None, 5, "", "[]", "{", '"x"', "[" * 100_000, "x" * 12_000_001])
def test_what_is_no_object_is_refused(text):
    for read in (branch_request, probe_request):
        with pytest.raises(CiterError):
            read(text, BOOK)


def test_a_probe_request(request_):
    asked = {name: request_[name] for name in ("prompt", "true_answer", "pair_revision")}
    asked |= {"token_ids": [1, 2], "key": request_["parent"]}
    assert probe_request(json.dumps(asked), BOOK).token_ids == [1, 2]
    for change in ({"token_ids": [1.5]}, {"token_ids": None}, {"key": 3}, {"token_ids": [1] * 5000}):
        with pytest.raises(CiterError):
            probe_request(json.dumps(asked | change), BOOK)


def test_a_request_about_one_decision(request_):
    asked = {name: request_[name] for name in ("prompt", "true_answer", "pair_revision", "router")}
    asked |= {"token_ids": [], "after_llm": True, "pair_name": "A pair"}
    read = probe_request(json.dumps(asked), BOOK, INSIDE)
    assert (read.token_ids, read.router, read.after_llm, read.pair_name) == ([], "citer", True, "A pair")
    for change in ({"token_ids": [-1]}, {"router": 5}, {"router": "r" * 300}, {"after_llm": 1}, {"prompt": None}):
        with pytest.raises(CiterError):
            probe_request(json.dumps(asked | change), BOOK, INSIDE)
