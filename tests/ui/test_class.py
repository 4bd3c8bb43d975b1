"""A class in front of one server: no visitor is refused, no run is lost, each knows its place."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.fakes import FakeEngine
from tests.loops import run_async
from tests.ui.class_load import a_class, a_run, listen, request_for
from tests.ui.serving import Served

pytestmark = pytest.mark.ui
N_PLACES = 6
TAU = 0.7


def words(question: str) -> str:
    """What the scripted engine writes."""
    return f" An answer to {question}" + " with some more words" * 4


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


def test_a_class_is_served_whole_and_in_order_slow_readers_too(room: Served) -> None:
    questions = [f"question {i}" for i in range(24)]
    runs = run_async(a_class(room.url, questions, n_sessions=8, n_runs=3, threshold=TAU, n_slow=2))
    assert len(runs) == 24
    assert [run.faults for run in runs if run.faults] == []
    assert [run.notices for run in runs if run.notices] == []
    for run in runs:
        assert run.text == words(run.question) and run.end is not None and run.end["finish_reason"] == "eos"
    assert len({run.run_id for run in runs}) == 24


def test_all_who_wait_know_their_place_and_a_full_line_says_so_calmly(make_server: Callable[..., Served]) -> None:
    """40 pages at once before two places: each hears where it stands; where only some fit, the rest hears that."""
    served = make_server(FakeEngine(" word" * 4000, delay_s=0.02), n_queued_runs=40)
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

    places, refused = run_async(crowd(46))
    for run in served.engine.runs:
        run.cancel()
    # They hear of it at different moments, between which none left: so every place is told, and none twice.
    assert places == Counter(range(1, 41))
    assert len(refused) == 4 and all("40 runs are waiting already" in text for text in refused)


def test_measuring_holds_up_no_run(room: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five pages ask for a measurement: there is one, all of them see it, and runs go on beside it."""
    begun: list[int] = []

    def endless(*_: Any, **__: Any) -> Any:
        begun.append(1)
        for number in itertools.count():
            time.sleep(0.02)
            yield type("Progress", (), {"done": 0.5, "doing": f"round {number}"})

    monkeypatch.setattr("citer_core.measuring.profile.profile_pair", endless)

    async def ask() -> int:
        async with httpx.AsyncClient(base_url=room.url, timeout=30) as client:

            async def measuring(number: int) -> bool:
                async for message in listen(client, f"measure-{number:04}", "measure"):
                    if "progress" in message:
                        return True
                return False

            seen = sum(await asyncio.gather(*(measuring(number) for number in range(5))))
            run = await a_run(client, "beside-it", "beside it", request_for("beside it", threshold=TAU))
            assert run.end is not None and not run.faults  # the measurement has not ended, and never would
            return seen

    assert run_async(ask()) == 5 and len(begun) == 1


@pytest.mark.slow
def test_fifty_pages_with_five_runs_each_on_the_bundled_pair(make_server: Callable[..., Served]) -> None:
    """The class of 50 at full size."""
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
    runs = run_async(a_class(served.url, questions, n_sessions=50, n_runs=5, threshold=0.93))
    assert [run.notices + run.faults for run in runs if run.notices or run.faults] == []
    batched = [problems[i % len(problems)] for i in range(250)]
    settings = DecodeSettings(threshold=0.93, max_new_tokens=256)
    alone = dict(engine.run_batch(batched, settings=settings, batch_size=16))
    assert [run.text for run in runs] == [alone[i].completion for i in range(250)]
