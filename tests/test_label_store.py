"""What the Labels tab keeps: what is the same for everybody, bounded in bytes; nothing of what a visitor brings."""

from __future__ import annotations

import asyncio
import copy
import json

import pytest

from citer_core.engine import Engine
from citer_core.serving.line import WaitingLine
from citer_core.ui.asking import Visitor
from citer_core.ui.jobs import JobLine
from citer_core.ui.labels import answers
from citer_core.ui.labels.answers import LabelStore, about_labels
from citer_core.ui.labels.rows import LabelInput
from citer_core.ui.pair.engine_slot import EngineSlot
from tests.asking import OTHER_PAGE, PAGE, collected, last
from tests.loops import run_async


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine.load()


@pytest.fixture
def slot(engine) -> EngineSlot:
    slot = EngineSlot(lambda: engine)
    slot.fill()
    return slot


@pytest.fixture
def counted(monkeypatch):
    """How often the models read something."""
    read, calls = answers._read, []

    def counting(*args):
        calls.append(args[1].title)
        return (yield from read(*args))

    monkeypatch.setattr(answers, "_read", counting)
    return calls


def label_events_of(slot):
    return about_labels(JobLine(WaitingLine(2), slot), slot)


def test_what_is_bundled_is_read_once_for_everybody(slot, counted):
    events = label_events_of(slot)
    first, second = (
        last(events["labels"], {"problem": "math 2"}, PAGE),
        last(events["labels"], {"problem": "math 2"}, OTHER_PAGE),
    )
    assert counted == ["math 2"]
    assert first == second


def test_what_a_visitor_brings_is_never_shared_whatever_it_is_called(slot, counted):
    events = label_events_of(slot)
    last(events["labels"], {"problem": "math 2"}, PAGE)
    row = json.dumps({"problem": "What is 2 + 3?", "solution": "$2+3=5$, so $\\boxed{5}$."})
    found = last(events["labels"], {"file": {"name": "math 2", "text": row}}, OTHER_PAGE)
    assert found["title"] == "math 2" and found["problems"][0]["answer"] == "5"
    assert counted == ["math 2", "math 2"]
    assert last(events["labels"], {"problem": "math 2"}, OTHER_PAGE)["problems"][0]["answer"] != "5"


def test_two_at_once_wait_for_one_reading_and_a_visitor_who_leaves_hands_it_on(slot, counted, monkeypatch):
    some = answers.bundled_set("mc")
    monkeypatch.setattr(answers, "bundled_set", lambda _: LabelInput(some.title, some.rows[:10], is_bundled=True))
    events = label_events_of(slot)
    mine = Visitor("leaving", "127.0.0.1", None)

    async def both():
        leaving = events["labels"](b'{"set": "mc"}', mine)
        assert "progress" in await anext(leaving)
        staying = asyncio.create_task(collected(events["labels"], {"set": "mc"}, OTHER_PAGE))
        await asyncio.sleep(0.3)
        assert not staying.done() and counted == ["200 multiple-choice questions"]
        await leaving.aclose()
        return (await staying)[-1]

    assert len(run_async(both())["problems"]) == 10 and counted == ["200 multiple-choice questions"] * 2
    assert len(last(events["labels"], {"set": "mc"})["problems"]) == 10 and len(counted) == 2


def test_what_has_been_read_needs_no_place_in_the_line(slot, counted):
    line = WaitingLine(1)
    events = about_labels(JobLine(line, slot), slot)
    last(events["labels"], {"problem": "math 3"}, PAGE)
    ahead = line.join("somebody", "10.0.0.1")
    assert len(last(events["labels"], {"problem": "math 3"}, OTHER_PAGE)["problems"]) == 1 and ahead.is_going


def test_another_engine_reads_anew(engine, slot, counted):
    events = label_events_of(slot)
    last(events["labels"], {"problem": "mc 1"}, PAGE)
    slot.put(copy.copy(engine))
    last(events["labels"], {"problem": "mc 1"}, PAGE)
    assert counted == ["mc 1", "mc 1"]


def test_the_store_is_bounded_in_bytes_and_drops_the_oldest(engine):
    store = LabelStore(most_bytes=10_000)
    readings = {name: name.encode() * 3_000 for name in "abcd"}
    for name in "abc":
        store.put(engine, name, readings[name])
    assert store.get(engine, "a") is readings["a"]  # and so the newest
    store.put(engine, "d", readings["d"])
    assert [store.get(engine, name) is not None for name in "abcd"] == [True, False, True, True]
    store.put(engine, "e", b"e" * 20_000)
    assert [store.get(engine, name) for name in "abcde"] == [None] * 5
