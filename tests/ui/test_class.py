"""A class in front of one server: no visitor is refused, no run is lost, each knows its place."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from citer_core.trace import RoutingTrace
from tests.fakes import FakeEngine
from tests.loops import run_async
from tests.ui.class_load import a_class, a_run, figures, listen, request_for
from tests.ui.serving import Served

pytestmark = pytest.mark.ui
N_PLACES = 6
TAU = 0.7


def words(question: str) -> str:
    """What the scripted engine writes."""
    return f" An answer to {question}" + " with some more words" * 4


def wait_idle(served: Served) -> None:
    """Until no run of another test goes on."""
    end = time.monotonic() + 10
    while any(run.finish_reason is None for run in served.engine.runs):
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture(scope="module")
def room(make_server: Callable[..., Served]) -> Served:
    """A server for a class, with an engine that takes its time."""
    served = make_server(
        FakeEngine(lambda p: " word" * 4000 if "endless" in p.question else words(p.question), delay_s=0.01),
        n_concurrent_runs=N_PLACES,
    )
    served.desk.grace_s = 1.0
    served.may_load.set()
    assert served.slot.wait(30) is not None
    return served


@pytest.fixture
def quiet(room: Served) -> Iterator[Served]:
    """The same; what a test left going is ended."""
    yield room
    for run in room.engine.runs:
        run.cancel()
    wait_idle(room)


def test_a_class_is_served_whole_and_in_order_slow_readers_too(quiet: Served) -> None:
    questions = [f"question {i}" for i in range(75)]
    runs = run_async(a_class(quiet.url, questions, n_sessions=15, n_runs=5, threshold=TAU, n_slow=2))
    assert len(runs) == 75
    assert [run.faults for run in runs if run.faults] == []
    assert [run.notices for run in runs if run.notices] == []
    for run in runs:
        assert run.text == words(run.question) and run.end is not None and run.end["finish_reason"] == "eos"
    assert len({run.run_id for run in runs}) == 75


def test_all_who_wait_know_their_place_and_a_full_line_says_so_calmly(make_server: Callable[..., Served]) -> None:
    """200 pages at once before two places: each hears where it stands; where only some fit, the rest hears that."""
    served = make_server(FakeEngine(" word" * 4000, delay_s=0.02), n_queued_runs=200)
    served.may_load.set()
    assert served.slot.wait(30) is not None

    async def crowd(n_pages: int) -> tuple[Counter[int], list[str]]:
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
        async with httpx.AsyncClient(base_url=served.url, timeout=60, limits=limits) as client:
            asked = request_for("?", threshold=TAU, max_new_tokens=4096)

            async def page(number: int) -> dict[str, Any]:
                async for message in listen(client, f"crowd-{number:04}", "run", asked):
                    if message.get("notice") != "":
                        return message
                raise AssertionError("nothing was said")

            said = await asyncio.gather(*(page(number) for number in range(n_pages)))
            places = Counter(one["place"] for one in said if "place" in one)
            return places, [one["notice"] for one in said if one.get("level") == "error"]

    places, refused = run_async(crowd(206))
    for run in served.engine.runs:
        run.cancel()
    # They hear of it at different moments, between which none left: so every place is told, and none twice.
    assert places == Counter(range(1, 201))
    assert len(refused) == 4 and all("200 runs are waiting already" in text for text in refused)


def test_callers_without_a_session_do_not_end_each_other(quiet: Served) -> None:
    """`/call` without a session hash: each is a visitor of its own, in the line and when one of them goes away."""

    async def call(client: httpx.AsyncClient, question: str) -> str:
        body = {"question": question, "data_type": "open"}
        answer = await client.post("gradio_api/call/v2/route_trace", json=body)
        return str(answer.json()["event_id"])

    async def both() -> RoutingTrace:
        async with httpx.AsyncClient(base_url=quiet.url, timeout=60) as client:
            stays, goes = await call(client, "I stay."), await call(client, "endless, and I go")
            async with client.stream("GET", f"gradio_api/call/route_trace/{goes}") as stream:
                async for _ in stream.aiter_lines():
                    break
            text = (await client.get(f"gradio_api/call/route_trace/{stays}")).text
            data = [line[5:] for line in text.splitlines() if line.startswith("data:")][-1]
            return RoutingTrace.from_json(json.loads(data)[0])

    trace = run_async(both())
    assert trace.finish_reason == "eos" and "I stay." in trace.completion
    mine = [run for run in quiet.engine.runs if "I stay" in run.problem.question]
    assert [run.finish_reason for run in mine] == ["eos"]


def test_many_calls_of_one_page_gain_nothing(quiet: Served) -> None:
    """60 runs asked for at once, by pages that go away: no more go on than there are places, and all of them end."""

    async def storm() -> int:
        most = 0
        limits = httpx.Limits(max_connections=None)
        asked = request_for("endless", threshold=TAU, max_new_tokens=4096)
        async with httpx.AsyncClient(base_url=quiet.url, timeout=30, limits=limits) as client:

            async def read(number: int) -> None:
                async for _ in listen(client, f"storm-{number % 2:04}", "run", asked):
                    pass

            calls = [asyncio.create_task(read(number)) for number in range(60)]
            for _ in range(100):
                await asyncio.sleep(0.02)
                most = max(most, sum(run.finish_reason is None for run in quiet.engine.runs))
            for call in calls:
                call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)
        return most

    assert 0 < run_async(storm()) <= N_PLACES
    # Their runs have no reader, so they end by themselves.
    end = time.monotonic() + 15
    while any(run.finish_reason is None for run in quiet.engine.runs):
        assert time.monotonic() < end, "they go on without a reader"
        time.sleep(0.05)


def test_measuring_holds_up_no_run(quiet: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """20 pages ask for a measurement: there is one, all of them see it, and runs go on beside it."""
    begun: list[int] = []

    def endless(*_: Any, **__: Any) -> Any:
        begun.append(1)
        for number in itertools.count():
            time.sleep(0.02)
            yield type("Progress", (), {"done": 0.5, "doing": f"round {number}"})

    monkeypatch.setattr("citer_core.measuring.profile.profile_pair", endless)

    async def ask() -> int:
        async with httpx.AsyncClient(base_url=quiet.url, timeout=30) as client:

            async def measuring(number: int) -> bool:
                async for message in listen(client, f"measure-{number:04}", "measure"):
                    if "progress" in message:
                        return True
                return False

            seen = sum(await asyncio.gather(*(measuring(number) for number in range(20))))
            run = await a_run(client, "beside-it", "beside it", request_for("beside it", threshold=TAU))
            assert run.end is not None and not run.faults  # the measurement has not ended, and never would
            return seen

    assert run_async(ask()) == 20 and len(begun) == 1


@pytest.mark.slow
def test_fifty_pages_with_five_runs_each_on_the_bundled_pair(
    make_server: Callable[..., Served], capsys: pytest.CaptureFixture[str]
) -> None:
    """The class of 50 at full size; prints what it took as one line of JSON."""
    from citer_core.engine import Engine
    from citer_core.tasks.datasets import bundled_rows
    from citer_core.types import DecodeSettings

    class Bundled:
        runs = ()

        def load(self) -> Engine:
            return Engine.load()

    served = make_server(Bundled(), n_concurrent_runs=16)  # type: ignore[arg-type]
    served.may_load.set()
    engine = served.slot.wait(60)
    assert engine is not None
    problems = [row.problem for row in bundled_rows("math")][:200]
    questions = [problem.question for problem in problems]
    run_async(a_class(served.url, questions[:4], n_sessions=4, n_runs=1, threshold=0.93))
    began = time.monotonic()
    runs = run_async(a_class(served.url, questions, n_sessions=50, n_runs=5, threshold=0.93))
    report = figures(runs, time.monotonic() - began)
    began = time.monotonic()
    batched = [problems[i % len(problems)] for i in range(250)]
    settings = DecodeSettings(threshold=0.93, max_new_tokens=256)
    alone = dict(engine.run_batch(batched, settings=settings, batch_size=16))
    report["batch_seconds"] = round(time.monotonic() - began, 2)
    with capsys.disabled():
        print(json.dumps(report))
    assert report["refused"] == report["failed"] == report["lost_doubled_or_reordered"] == 0
    assert [run.text for run in runs] == [alone[i].completion for i in range(250)]
