"""What the Labels tab keeps: little, bounded in bytes, shared where it is the same for everybody, and no permission."""

from __future__ import annotations

import asyncio
import json
import sys

import pytest

from citer_core.engine import Engine
from citer_core.evaluation.label_view import label_texts
from citer_core.labelling.teacher_forcing import example_of
from citer_core.serving.line import WaitingLine
from citer_core.tasks.datasets import bundled_rows
from citer_core.tasks.problems import problem_from_text
from citer_core.ui.events import labels as label_events
from citer_core.ui.events.asking import Visitor
from citer_core.ui.events.labels import LabelEvents
from citer_core.ui.job_line import JobLine
from citer_core.ui.labels.jobs import LabelJobs
from citer_core.ui.labels.kept_texts import KeptText, LabelStore, Reading
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
    read, calls = label_events._read, []

    def counting(*args):
        calls.append(args[1].title)
        return (yield from read(*args))

    monkeypatch.setattr(label_events, "_read", counting)
    return calls


def label_events_of(slot):
    return LabelEvents(slot, JobLine(WaitingLine(2)))


def body(message):
    return {name: value for name, value in message.items() if name not in ("analysis",)}


def a_text(n_tokens):
    from array import array

    ids = array("i", range(n_tokens))
    return KeptText(problem_from_text("What is 2 + 3?", "math", "5"), ids, ids, ids, ids, bytes(n_tokens))


def test_a_kept_text_says_what_the_text_did_in_a_tenth_of_its_bytes(engine):
    rows = [row.row for row in bundled_rows("math")[:3]]
    examples = [example_of(row, "math", engine.pair) for row in rows]
    for text in label_texts(engine.pair, [engine.router("citer")], examples):
        kept = KeptText.of(text)
        assert kept.example() == text.example and kept.n_tokens == text.n_tokens
        assert kept.slm_ids.tolist() == text.slm_ids.tolist() and kept.llm_ids.tolist() == text.llm_ids.tolist()
        assert list(kept.label) == text.label.tolist()
        held = sum(sys.getsizeof(ids) for ids in (kept.prompt_ids, kept.truth_ids, kept.slm_ids, kept.llm_ids))
        assert held + sys.getsizeof(kept.label) <= kept.n_bytes < 5_000


def test_what_is_bundled_is_read_once_for_everybody_and_rolled_out_by_whoever_was_sent_it(slot, counted):
    events = label_events_of(slot)
    first, second = (
        last(events.labels, {"problem": "math 2"}, PAGE),
        last(events.labels, {"problem": "math 2"}, OTHER_PAGE),
    )
    assert counted == ["math 2"]
    assert body(first) == body(second) and first["analysis"] != second["analysis"]
    asked = {"analysis": second["analysis"], "index": second["label"].index("0"), "router": "citer", "tau": 0.9}
    assert "notice" in last(events.rolled_out, asked, PAGE)
    assert last(events.rolled_out, asked, OTHER_PAGE)["rollout"]["index"] == asked["index"]


def test_what_a_visitor_brings_is_never_shared_whatever_it_is_called(slot, counted):
    events = label_events_of(slot)
    last(events.labels, {"problem": "math 2"}, PAGE)
    row = json.dumps({"problem": "What is 2 + 3?", "solution": "$2+3=5$, so $\\boxed{5}$."})
    found = last(events.labels, {"file": {"name": "math 2", "text": row}}, OTHER_PAGE)
    assert found["title"] == "math 2" and found["problems"][0]["answer"] == "5"
    assert counted == ["math 2", "math 2"]
    assert last(events.labels, {"problem": "math 2"}, OTHER_PAGE)["problems"][0]["answer"] != "5"


def test_two_at_once_wait_for_one_reading_and_a_visitor_who_leaves_hands_it_on(slot, counted, monkeypatch):
    some = label_events.bundled_set("mc")
    monkeypatch.setattr(label_events, "bundled_set", lambda _: LabelInput(some.title, some.rows[:80], is_bundled=True))
    events = label_events_of(slot)
    mine = Visitor("leaving", "127.0.0.1", None)

    async def both():
        leaving = events.labels(b'{"set": "mc"}', mine)
        assert "progress" in await anext(leaving)
        staying = asyncio.create_task(collected(events.labels, {"set": "mc"}, OTHER_PAGE))
        await asyncio.sleep(0.6)
        assert not staying.done() and counted == ["200 multiple-choice questions"]
        await leaving.aclose()
        return (await staying)[-1]

    assert len(run_async(both())["problems"]) == 80 and counted == ["200 multiple-choice questions"] * 2
    assert len(last(events.labels, {"set": "mc"})["problems"]) == 80 and len(counted) == 2


def test_what_has_been_read_needs_no_place_in_the_line(slot, counted):
    events = label_events_of(slot)
    last(events.labels, {"problem": "math 3"}, PAGE)
    full = WaitingLine(1)
    events._line = JobLine(full)
    ahead = full.join("somebody", "10.0.0.1")
    assert len(last(events.labels, {"problem": "math 3"}, OTHER_PAGE)["problems"]) == 1 and ahead.is_going


def test_another_engine_reads_anew(counted):
    slot = EngineSlot(Engine.load)
    slot.fill()
    events = label_events_of(slot)
    last(events.labels, {"problem": "mc 1"}, PAGE)
    slot.put(Engine.load())
    last(events.labels, {"problem": "mc 1"}, PAGE)
    assert counted == ["mc 1", "mc 1"]


def test_the_store_is_bounded_in_bytes_and_drops_the_oldest(engine):
    store = LabelStore(most_bytes=10_000)
    readings = {name: Reading((), name.encode() * 3_000) for name in "abcd"}
    for name in "abc":
        store.put(engine, name, readings[name])
    assert store.get(engine, "a") is readings["a"]  # and so the newest
    store.put(engine, "d", readings["d"])
    assert [store.get(engine, name) is not None for name in "abcd"] == [True, False, True, True]
    assert store.n_bytes == 9_000
    store.put(engine, "e", Reading((), b"e" * 20_000))
    assert store.n_bytes <= 10_000 and store.get(engine, "e") is None


def test_jobs_are_bounded_in_bytes_and_shared_texts_are_not_counted():
    jobs = LabelJobs(most_bytes=100_000)
    shared = jobs.begin("first")
    shared.texts, shared.is_shared = tuple(a_text(1_000) for _ in range(50)), True
    own = [jobs.begin(f"visitor {number}") for number in range(8)]
    for job in own:
        job.texts = (a_text(1_000),)  # 18 kB
    latest = jobs.begin("last")
    assert jobs.get(latest.id) is latest
    assert [jobs.get(job.id) is job for job in own] == [False] * 3 + [True] * 5
    assert jobs.get(shared.id) is shared
