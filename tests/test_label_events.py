"""The events of the Labels tab, without a browser: what it may send, and what then comes back."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from citer_core.engine import Engine
from citer_core.errors import ModelFileError
from citer_core.serving.line import WaitingLine
from citer_core.ui.job_line import JobLine
from citer_core.ui.labels import events as label_events
from citer_core.ui.labels.events import LabelEvents
from citer_core.ui.labels.jobs import LabelJobs
from citer_core.ui.pair.engine_slot import EngineSlot
from tests.loops import run_async

PAGE, OTHER_PAGE = SimpleNamespace(session_hash="page"), SimpleNamespace(session_hash="another")


@pytest.fixture(scope="module")
def slot() -> EngineSlot:
    slot = EngineSlot(Engine.load)
    slot.start()
    assert slot.wait(60) is not None
    return slot


def read(messages):
    """All that an asynchronous handler gives."""

    async def listed():
        return [message async for message in messages()]

    return run_async(listed())


def last(messages, *arguments):
    return json.loads(read(lambda: messages(*arguments))[-1])


def label_events_of(slot):
    return LabelEvents(slot, LabelJobs(), JobLine(WaitingLine(1)))


def test_a_roll_out_is_answered_and_whatever_else_is_sent_is_refused_calmly(slot):
    events = label_events_of(slot)
    analysis = last(events.picked, "math 2", PAGE)
    index = analysis["label"].index("0")
    good = {"analysis": analysis["analysis"], "index": index, "router": "citer", "tau": 0.9}
    found = last(events.rolled_out, SimpleNamespace(_data=good), PAGE)["rollout"]
    assert found["index"] == index and found["verdict"] in ("agrees", "disagrees", "undecided")
    assert "notice" in last(events.rolled_out, SimpleNamespace(_data=good), OTHER_PAGE)
    bad = [
        None, [], "x", {}, {"analysis": []}, {**good, "index": -1}, {**good, "index": 10**9}, {**good, "index": "1"},
        {**good, "router": "nobody"}, {**good, "tau": 7}, {**good, "tau": float("nan")}, {**good, "analysis": "guess"},
    ]  # fmt: skip
    for asked in bad:
        answer = last(events.rolled_out, SimpleNamespace(_data=asked), PAGE)
        assert answer["notice"] and answer["notice"] != label_events.UNEXPECTED


def test_a_set_streams_its_progress_and_is_limited(slot, monkeypatch):
    events = label_events_of(slot)
    monkeypatch.setattr(label_events, "PROGRESS_S", 0.0)
    row = {"problem": "What is 2 + 3?", "solution": "$2+3=5$, so $\\boxed{5}$."}
    rows = "\n".join([json.dumps(row)] * 30)
    messages = [json.loads(m) for m in read(lambda: events.pasted(rows, PAGE))]
    done = [message["progress"]["done"] for message in messages[:-1]]
    assert done == sorted(done) and done[0] == 0 and done[-1] == 30
    assert len(messages[-1]["problems"]) == 30
    monkeypatch.setattr(label_events, "MAX_TOKENS", 100)
    assert "up to 100 at once" in last(events.pasted, rows, PAGE)["notice"]


def test_an_engine_that_cannot_be_loaded_is_said():
    def fail():
        raise ModelFileError("No weights here. Put some.")

    slot = EngineSlot(fail)
    slot.start()
    assert "No weights" in last(label_events_of(slot).picked, "math 1", PAGE)["notice"]
