"""The events of the Labels tab, without a browser: what it may send, and what then comes back."""

from __future__ import annotations

import json

import pytest

from citer_core.engine import Engine
from citer_core.errors import ModelFileError
from citer_core.serving.line import WaitingLine
from citer_core.ui.jobs import JobLine
from citer_core.ui.labels import answers
from citer_core.ui.labels.answers import about_labels
from citer_core.ui.messages import UNEXPECTED
from citer_core.ui.pair.engine_slot import EngineSlot
from tests.asking import OTHER_PAGE, last, messages


@pytest.fixture(scope="module")
def slot() -> EngineSlot:
    slot = EngineSlot(Engine.load)
    slot.start()
    assert slot.wait(60) is not None
    return slot


def label_events_of(slot):
    return about_labels(JobLine(WaitingLine(1), slot), slot)


def test_a_roll_out_is_answered_and_whatever_else_is_sent_is_refused_calmly(slot):
    events = label_events_of(slot)
    of = {"problem": "math 2"}
    analysis = last(events["labels"], of)
    index = analysis["label"].index("0")
    read_by = {"pair": analysis["pair"], "pair_revision": analysis["pair_revision"]}
    good = {"of": of, **read_by, "index": index, "router": "citer", "tau": 0.9}
    found = last(events["roll_out"], good)["rollout"]
    assert found["index"] == index and found["preferred"] in ("slm", "llm", None)
    assert last(events["roll_out"], good, OTHER_PAGE)["rollout"] == found  # nothing is kept for a page
    other = last(events["roll_out"], {**good, "pair": "Another pair", "pair_revision": "a-b"})
    assert other["needs"]["title"] == "Another pair"
    bad = [
        None, [], "x", {}, {"of": []}, {**good, "of": {"stored": 7}}, {**good, "of": {"problem": 7}},
        {**good, "index": -1}, {**good, "index": 10**9}, {**good, "index": "1"},
        {**good, "router": "nobody"}, {**good, "tau": 7}, {**good, "tau": float("nan")}, {**good, "of": {"text": "{}"}},
        {**good, "pair": 7},
    ]  # fmt: skip
    for asked in bad:
        answer = last(events["roll_out"], asked)
        assert answer["notice"] and answer["notice"] != UNEXPECTED


def test_a_set_streams_its_progress_and_is_limited(slot, monkeypatch):
    events = label_events_of(slot)
    monkeypatch.setattr(answers, "PROGRESS_S", 0.0)
    row = {"problem": "What is 2 + 3?", "solution": "$2+3=5$, so $\\boxed{5}$."}
    rows = "\n".join([json.dumps(row)] * 12)
    told = messages(events["labels"], {"text": rows})
    done = [message["progress"]["done"] for message in told[:-1]]
    assert done == sorted(done) and done[0] == 0 and done[-1] == 12
    assert len(told[-1]["problems"]) == 12
    monkeypatch.setattr(answers, "MAX_TOKENS", 100)
    assert "up to 100 at once" in last(events["labels"], {"text": rows})["notice"]


def test_an_engine_that_cannot_be_loaded_is_said():
    def fail():
        raise ModelFileError("No weights here. Put some.")

    slot = EngineSlot(fail)
    slot.start()
    assert "No weights" in last(label_events_of(slot)["labels"], {"problem": "math 1"})["notice"]


@pytest.mark.parametrize(
    "asked", [None, [], {}, {"problem": "math 1", "set": "mc"}, {"rows": 1}, {"problem": {"a": 1}}]
)
def test_what_is_no_way_to_ask_is_said(slot, asked):
    notice = last(label_events_of(slot)["labels"], asked)["notice"]
    assert "an object that holds one of problem, set, text, file" in notice or "no bundled problem" in notice
