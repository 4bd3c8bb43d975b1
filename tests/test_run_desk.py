"""Orders from the line to their end: turns, stops, pages that go away and come back, and what is kept."""

from __future__ import annotations

import asyncio
import json
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from citer_core.errors import LineFullError, ModelFileError, RouterError
from citer_core.serving.line import WaitingLine
from citer_core.tasks.problems import problem_from_text
from citer_core.trace import RoutingTrace
from citer_core.types import DecodeSettings
from citer_core.ui.asking import Visitor, address_of, at_once
from citer_core.ui.pair.engine_slot import EngineSlot
from citer_core.ui.run.desk import RunDesk
from citer_core.ui.run.order import EVENT_BYTES, Order, RunRegistry
from citer_core.ui.run.stream import follow, missing_part
from tests.asking import last
from tests.damaged_traces import recorded
from tests.fakes import FakeEngine, FakeRun
from tests.loops import run_async

PROBLEM = problem_from_text("How much is it?", "math")
LONG = problem_from_text("A long one.", "open")


def start(engine: Any) -> FakeRun:
    return engine.start(PROBLEM, settings=DecodeSettings())


def start_long(engine: Any) -> FakeRun:
    return engine.start(LONG, settings=DecodeSettings())


def until(holds: Callable[[], object], within_s: float = 5.0) -> None:
    end = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.005)


def desk_of(engine: FakeEngine, n_places: int = 2, **how: Any) -> RunDesk:
    slot = EngineSlot(engine.load)  # type: ignore[arg-type]
    slot.fill()
    return RunDesk(slot, WaitingLine(n_places, capacity=how.pop("capacity", 300)), RunRegistry(), **how)


@pytest.fixture
def slow() -> Iterator[FakeEngine]:
    """Its long runs take a minute, and its others no time."""
    engine = FakeEngine(lambda problem: " word" * 3000 if problem is LONG else " It is $\\boxed{42}$.", delay_s=0.02)
    yield engine
    for run in engine.runs:
        run.cancel()


def listen(desk: RunDesk, order: Order) -> list[dict[str, Any]]:
    """All messages behind the first one, which is the order's id."""

    async def listed() -> list[dict[str, Any]]:
        return [message async for message in follow(desk, order, 0.01)]

    ticket, *messages = run_async(listed())
    assert ticket == {"notice": "", "level": "wait", "run": order.id}
    return messages


def test_an_order_runs_by_itself_and_everything_of_it_can_be_had_later(slow: FakeEngine) -> None:
    desk = desk_of(slow)
    order = desk.ask(start, "page", "")
    until(lambda: order.ended_at)
    run = slow.runs[0]
    assert run.id == order.id and run.finish_reason == "eos"
    messages = listen(desk, order)
    assert [token["index"] for token in messages[0]["tokens"]] == list(range(run.n_events))
    assert messages[-1]["end"]["finish_reason"] == "eos" and messages[-1]["end"]["answer"]["predicted_answer"] == "42"
    again = missing_part(desk, {"run": order.id, "base": 2})
    assert again["tokens"] == messages[0]["tokens"][2:] and again["end"] == messages[-1]["end"]
    assert desk.line.n_running() == 0


def test_an_answer_is_read_once_however_often_it_is_fetched(slow: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = desk_of(slow)
    order = desk.ask(start, "page", "")
    until(lambda: order.ended_at)
    monkeypatch.setattr(FakeRun, "trace", lambda _: pytest.fail("the answer is read again"))
    for _ in range(3):
        assert missing_part(desk, {"run": order.id, "base": 0})["end"]["answer"]["predicted_answer"] == "42"


def test_a_run_that_waits_tells_its_place_and_starts_when_its_turn_comes(slow: FakeEngine) -> None:
    desk = desk_of(slow, n_places=1)
    first, second, third = (desk.ask(start_long if i == 0 else start, f"page {i}", "") for i in range(3))
    until(lambda: first.head)
    assert [missing_part(desk, {"run": order.id, "base": 0}).get("place") for order in (second, third)] == [1, 2]
    assert len(slow.runs) == 1, "what waits costs nothing"
    desk.cancel(first)
    messages = listen(desk, third)
    until(lambda: second.ended_at)
    assert messages[-1]["end"]["finish_reason"] == "eos"


def test_stop_takes_a_waiting_run_out_of_the_line_and_ends_a_going_one(slow: FakeEngine) -> None:
    desk = desk_of(slow, n_places=1)
    going, waiting = desk.ask(start_long, "a", ""), desk.ask(start, "b", "")
    until(lambda: going.events_since(0))
    desk.cancel(waiting)
    assert desk.line.n_waiting() == 0 and waiting.ended_at
    assert listen(desk, waiting) == [], "the page that stopped it knows"
    desk.cancel(going)
    until(lambda: going.ended_at)
    assert listen(desk, going)[-1]["end"]["finish_reason"] == "cancelled"
    assert desk.line.n_running() == 0


def test_a_run_without_a_reader_ends_after_its_grace_and_not_before(slow: FakeEngine) -> None:
    desk = desk_of(slow, n_places=1, grace_s=0.6)
    left, waiting = desk.ask(start_long, "a", ""), desk.ask(start, "b", "")
    until(lambda: left.head)
    for _ in range(6):  # the page is reloaded and asks for its run now and then
        time.sleep(0.25)
        missing_part(desk, {"run": left.id, "base": 0})
    assert left.ended_at is None
    assert waiting.ended_at is not None, "this one had no reader"
    until(lambda: left.ended_at, 6)
    assert left.trace is not None and left.trace.finish_reason == "cancelled"


def test_a_listener_that_goes_away_leaves_the_run_however_it_goes(slow: FakeEngine) -> None:
    """A server cancels the answer to a page that has closed it; a page that is reloaded comes back for its run."""
    desk = desk_of(slow)
    left, closed = desk.ask(start_long, "a", ""), desk.ask(start_long, "b", "")

    async def leave() -> None:
        messages = follow(desk, left, 0.01)
        await anext(messages)
        await messages.aclose()

        async def listen_for_ever() -> None:
            async for _ in follow(desk, closed, 0.01):
                pass

        task = asyncio.create_task(listen_for_ever())
        await asyncio.sleep(0.3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run_async(leave())
    assert left.ended_at is None and closed.ended_at is None
    for order in (left, closed):
        desk.cancel(order)
        until(lambda order=order: order.ended_at)


def test_two_callers_without_a_session_never_share_one() -> None:
    unnamed = SimpleNamespace(session_hash=None)
    assert len({Visitor.of(asker).tab for asker in (unnamed, unnamed, None, None)}) == 4
    assert Visitor.of(SimpleNamespace(session_hash="page")).tab == "page"


def test_addresses_are_those_of_connections() -> None:
    def of(host: str | None) -> str:
        return address_of(SimpleNamespace(session_hash=None, client=SimpleNamespace(host=host) if host else None))  # type: ignore[arg-type]

    assert of("203.0.113.7") == "203.0.113.7" == of("::ffff:203.0.113.7")
    assert of("2001:db8:1:2:3::4") == of("2001:db8:1:2:ffff::9") != of("2001:db8:1:3::4"), "a network is a connection"
    assert of(None) == "" and of("testclient") == "testclient" and address_of(None) == ""


def test_an_engine_that_cannot_be_loaded_and_a_router_that_is_gone_are_said() -> None:
    def fail() -> Any:
        raise ModelFileError("No weights here.")

    slot = EngineSlot(fail)
    slot.fill()
    desk = RunDesk(slot, WaitingLine(1), RunRegistry())
    assert [message["notice"] for message in listen(desk, desk.ask(start, "a", ""))] == ["No weights here."]

    def refuse(_: Any) -> Any:
        raise RouterError("There is no such router.")

    desk = desk_of(FakeEngine(), n_places=1)
    order = desk.ask(refuse, "a", "")
    assert [message["notice"] for message in listen(desk, order)] == ["There is no such router."]
    assert missing_part(desk, {"run": order.id, "base": 0})["notice"] == "There is no such router."
    assert desk.line.n_running() == 0
    broken = desk.ask(lambda _: 1 // 0, "a", "")  # type: ignore[arg-type, return-value]
    assert "went wrong on the server" in listen(desk, broken)[0]["notice"]
    next_one = desk.ask(start, "b", "")
    until(lambda: next_one.ended_at)
    assert next_one.trace is not None, "the desk goes on"


def test_a_run_that_breaks_keeps_what_was_written(slow: FakeEngine) -> None:
    slow.fail_at = 2
    desk = desk_of(slow)
    order = desk.ask(start, "a", "")
    until(lambda: order.ended_at)
    end = listen(desk, order)[-1]
    assert [token["index"] for token in end["tokens"]] == [0, 1]
    assert end["end"]["finish_reason"] == "error" and "went wrong on the server" in end["end"]["error"]


def test_runs_wait_while_the_models_load_and_stop_works_meanwhile() -> None:
    engine = FakeEngine(delay_s=0.001)
    engine.load_s = 1.0
    slot = EngineSlot(engine.load)  # type: ignore[arg-type]
    slot.start()
    desk = RunDesk(slot, WaitingLine(2), RunRegistry())
    order, stopped = desk.ask(start, "a", ""), desk.ask(start, "b", "")
    time.sleep(0.1)
    desk.cancel(stopped)
    assert stopped.ended_at and desk.line.n_running() == 1
    messages = listen(desk, order)
    assert "models are loading" in messages[0]["notice"] and messages[0]["run"] == order.id
    assert messages[-1]["end"]["finish_reason"] == "eos"
    assert len(engine.runs) == 1


def test_a_full_line_refuses_or_makes_room_and_says_so(slow: FakeEngine) -> None:
    desk = desk_of(slow, n_places=1, capacity=2)
    orders = [desk.ask(start_long, f"page {i}", "192.0.2.1") for i in range(3)]
    with pytest.raises(LineFullError):
        desk.ask(start, "page 3", "192.0.2.1")
    desk.ask(start, "elsewhere", "198.51.100.1")
    assert "have had fewer turns come first" in listen(desk, orders[2])[0]["notice"]


@pytest.mark.parametrize(
    "request_", [None, 7, "x", [], {}, {"run": 1, "base": 0}, {"run": "a", "base": True}, {"run": "a", "base": "0"},
                 {"run": "a", "base": -1}, {"run": "a", "base": 10**9}, {"run": ["a"], "base": 0}]
)  # fmt: skip
def test_whatever_a_browser_asks_for_is_answered(slow: FakeEngine, request_: object) -> None:
    assert last(at_once(lambda asked: missing_part(desk_of(slow), asked)), request_)["error"]


def ended_order(n_events: int, at: float) -> Order:
    order = Order(start)  # type: ignore[arg-type]
    order.ended_at, order.n_bytes = at, EVENT_BYTES * n_events
    return order


def test_what_is_kept_is_bounded_in_number_bytes_and_time() -> None:
    now = 1000.0
    registry = RunRegistry(n_kept=10, n_bytes=40 * EVENT_BYTES, kept_s=60, clock=lambda: now)
    live = Order(start)  # type: ignore[arg-type]
    registry.add(live)
    orders = [ended_order(1, now - 20 + i) for i in range(15)]
    for order in orders:
        registry.add(order)
    assert [registry.get(order.id) is not None for order in orders] == [False] * 5 + [True] * 10
    registry.add(ended_order(38, now))
    assert registry.n_bytes <= 40 * EVENT_BYTES and registry.get(orders[-1].id) is not None
    now += 61
    registry.tidy()
    assert len(registry) == 1 and registry.get(live.id) is live, "what goes on is never forgotten"


def test_what_is_kept_for_long_is_a_fraction_of_it_and_still_the_whole_run(slow: FakeEngine) -> None:
    desk = desk_of(slow)
    order = desk.ask(start, "page", "")
    until(lambda: order.ended_at)
    whole, message = order.trace, missing_part(desk, {"run": order.id, "base": 0})
    late = RunRegistry(clock=lambda: time.monotonic() + 10)
    late.add(order)
    late.tidy()
    assert order.trace == whole and order.trace is not whole
    assert missing_part(desk, {"run": order.id, "base": 0}) == message


def test_kept_runs_take_no_more_than_they_say_and_little_without_readers() -> None:
    # The least of three: threads that other tests left in this process allocate too.
    packed, fresh, said_fresh, said = min(_bytes_of_kept_runs() for _ in range(3))
    assert fresh < said_fresh and packed < min(said, fresh / 4)


def _bytes_of_kept_runs() -> tuple[int, int, int, int]:
    """What 8 finished runs take once they are packed and before, and what the registry says of both."""
    now = time.monotonic()
    registry = RunRegistry(clock=lambda: now)
    text = json.dumps(recorded())
    trace = RoutingTrace.from_json(text)
    tracemalloc.start()
    began = tracemalloc.get_traced_memory()[0]
    for _ in range(8):
        order = Order(start)  # type: ignore[arg-type]
        order.end(trace=replace(trace, events=RoutingTrace.from_json(text).events))
        registry.add(order)
    fresh, said_fresh = tracemalloc.get_traced_memory()[0] - began, registry.n_bytes
    now += 10
    registry.tidy()
    packed = tracemalloc.get_traced_memory()[0] - began
    tracemalloc.stop()
    return packed, fresh, said_fresh, registry.n_bytes
