"""The runs of many visitors in one decoder: each is the run alone; what fails fails alone; idle, it keeps nothing."""

from __future__ import annotations

import dataclasses
import gc
import random
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

from citer_core.engine import Engine
from citer_core.errors import ServerError
from citer_core.fork import Fork
from citer_core.models.reader import Reader
from citer_core.routing.routers import training_free_routers
from citer_core.serving import shared_decoder
from citer_core.serving.shared_decoder import CLOSED, OUT_OF_MEMORY, SharedDecoder
from citer_core.tasks.problems import problem_from_text
from citer_core.types import DecodeSettings
from tests.core.examples import remote
from tests.core.test_batch_decode import assert_same, ending, free
from tests.sampling import few_or_all

WAIT_S = 60.0
ROUTERS = ("max-probability", "random", "bidirectional-entropy", "disagreement", "margin")


@pytest.fixture(scope="module")
def pair(tiny_pair):
    return ending(tiny_pair)


@pytest.fixture
def engine(pair):
    return Engine(pair, training_free_routers())


@pytest.fixture
def shared(engine):
    decoder = SharedDecoder(engine, n_slots=6)
    yield decoder
    decoder.close()


def problem(number):
    return problem_from_text(f"What is {number} and {number}?" + " more" * (number % 7), "open")


def drawn(engine, seed, n):
    """Pairs of the same run twice: one to decode here, one to submit."""
    draw, made = random.Random(seed), []
    for number in range(n):
        settings = DecodeSettings(
            draw.choice([0.0, 0.4, 0.6, 1.0]), draw.randint(1, 20), draw.choice([0.0, 0.9]), seed=draw.randint(0, 9)
        )
        router, fork = draw.choice(ROUTERS), None
        if number % 4 == 3:
            events = list(engine.start(problem(number), router="random", settings=settings))[:-1]
            source = draw.choice([None, "slm", "llm"])
            fork = Fork(tuple(events[: draw.randint(0, len(events))]), source)
        made.append([engine.start(problem(number), router=router, settings=settings, fork=fork) for _ in range(2)])
    return made


def ended(run):
    assert run.wait(1 << 30, WAIT_S), "it did not end"
    return run


def same(one, other):
    assert_same([(one.events_since(0), one.finish_reason)], [(other.events_since(0), other.finish_reason)])


@pytest.mark.parametrize("n_runs", few_or_all(16, 60))
def test_many_runs_at_once_are_runs_alone(engine, shared, n_runs):
    """With a watcher at every change: no event is lost, doubled or out of order."""
    runs, seen = drawn(engine, 1, n_runs), {}
    for alone, together in runs:
        list(alone)
        told = seen[together] = []
        together.on_change(lambda run=together, told=told: told.extend(run.events_since(len(told))))
    for _, together in runs:
        shared.submit(together)
    for alone, together in runs:
        same(ended(together), alone)
        assert together.error is None and together.pair is None and together.router is None
    for together, told in seen.items():
        assert told == together.events_since(0) == list(together.trace().events)
    assert shared.n_live == 0 and shared.n_free == 6


@pytest.mark.parametrize("n_runs", few_or_all(15, 40))
def test_runs_that_come_and_are_cancelled_at_random_from_many_threads(engine, shared, n_runs):
    runs, draw = drawn(engine, 2, n_runs), random.Random(2)
    expected = [(list(alone), alone.finish_reason) for alone, _ in runs]
    cancelled = set(draw.sample(range(n_runs), n_runs // 5))

    def visitor(numbers):
        for number in numbers:
            time.sleep(draw.random() / 200)
            shared.submit(runs[number][1])
            if number in cancelled:
                time.sleep(draw.random() / 100)
                runs[number][1].cancel()

    with ThreadPoolExecutor(5) as pool:
        list(pool.map(visitor, (range(first, n_runs, 5) for first in range(5))))
    for number, (_, run) in enumerate(runs):
        ended(run)
        if run.finish_reason == "cancelled":
            assert number in cancelled
            ids = [e.token_id for e in run.events_since(0)]
            assert ids == [e.token_id for e in expected[number][0]][: len(ids)]
        else:
            assert_same([(run.events_since(0), run.finish_reason)], [expected[number]])


def test_a_run_on_zero_gpu_is_decoded_elsewhere(engine):
    alone = engine.start(problem(1), settings=DecodeSettings(0.5, 9))
    list(alone)
    decoder = SharedDecoder(engine.on_zero_gpu())
    run = engine.start(problem(1), settings=DecodeSettings(0.5, 9))
    assert run.remote is not None
    decoder.submit(run)
    same(ended(run), alone)
    deadline = time.monotonic() + WAIT_S
    while decoder.n_live and time.monotonic() < deadline:
        time.sleep(0.01)
    assert decoder.n_live == 0
    decoder.close()


# --- what fails


def test_a_bad_prompt_ends_its_own_run(engine, shared):
    long = engine.start(problem_from_text("word " * 3000, "open"), settings=DecodeSettings(0.5, 4))
    good = engine.start(problem(1), settings=DecodeSettings(0.5, 4))
    shared.submit(long)
    shared.submit(good)
    assert ended(long).finish_reason == "error" and "Shorten it" in long.error
    assert ended(good).finish_reason in ("eos", "length")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (RuntimeError("a bug"), shared_decoder.UNEXPECTED),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"), OUT_OF_MEMORY),
    ],
)
def test_a_pass_that_fails_ends_its_runs_and_the_next_ones_are_whole(engine, shared, monkeypatch, caplog, error, words):
    runs = [engine.start(problem(n), settings=DecodeSettings(0.4, 20)) for n in range(4)]
    alone = engine.start(problem(5), settings=DecodeSettings(0.4, 20))
    list(alone)
    catch_up, passes = Reader.read, []

    def failing(self, texts, slots, *more):
        passes.append(1)
        if len(passes) == 6:
            raise error
        return catch_up(self, texts, slots, *more)

    with monkeypatch.context() as patch:
        patch.setattr(Reader, "read", failing)
        for run in runs:
            shared.submit(run)
        for run in runs:
            ended(run)
    failed = [run for run in runs if run.finish_reason == "error"]
    assert failed and {run.error for run in failed} == {words}
    assert sum("a pass failed" in record.message for record in caplog.records) == 1
    again = engine.start(problem(5), settings=DecodeSettings(0.4, 20))
    shared.submit(again)
    same(ended(again), alone)


def test_a_listener_that_fails_is_not_called_again_and_does_no_harm(engine, shared, caplog):
    run = engine.start(problem(1), settings=DecodeSettings(1.0, 8))
    calls = []

    def broken():
        calls.append(1)
        raise ValueError("of a listener")

    run.on_change(broken)
    shared.submit(run)
    assert ended(run).finish_reason in ("eos", "length") and len(calls) == 1
    assert sum("is told nothing more" in record.message for record in caplog.records) == 1


def test_a_lost_server_ends_those_that_wait_for_it(tiny_pair, server):
    engine = Engine(remote(free(tiny_pair), server), training_free_routers())
    decoder = SharedDecoder(engine)
    server.die_after = 3
    by_llm = engine.start(problem(1), router="max-probability", settings=DecodeSettings(1.0, 30))
    by_slm = engine.start(problem(2), router="max-probability", settings=DecodeSettings(0.0, 30))
    decoder.submit(by_llm)
    decoder.submit(by_slm)
    assert ended(by_slm).finish_reason == "length"
    assert ended(by_llm).finish_reason == "error" and "start it again" in by_llm.error
    with pytest.raises(ServerError):
        list(engine.start(problem(1), router="max-probability", settings=DecodeSettings(1.0, 3)))
    decoder.close()


# --- idle, closed, bounded


def test_an_idle_decoder_sleeps_and_keeps_neither_caches_nor_models(tiny_pair, monkeypatch):
    monkeypatch.setattr(shared_decoder, "IDLE_S", 0.05)
    engine = Engine(free(tiny_pair), training_free_routers())
    decoder = SharedDecoder(engine)
    run = engine.start(problem(1), settings=DecodeSettings(0.5, 5))
    decoder.submit(run)
    ended(run)
    thread = decoder._thread
    clock = time.pthread_getcpuclockid(thread.ident)
    deadline, spent = time.monotonic() + WAIT_S, 1.0
    while decoder._lanes is not None or spent > 0.01:  # giving the memory back takes it a moment after the lanes went
        assert time.monotonic() < deadline, "it never slept"
        before = time.clock_gettime(clock)
        time.sleep(0.3)
        spent = time.clock_gettime(clock) - before
    again = engine.start(problem(1), settings=DecodeSettings(0.5, 5))  # it wakes up
    decoder.submit(again)
    same(ended(again), run)
    gone = weakref.ref(engine)
    del engine
    gc.collect()
    assert gone() is None
    thread.join(WAIT_S)
    assert not thread.is_alive()


def test_close_ends_what_is_under_way_and_what_waits(engine):
    endless = Engine(free(engine.pair), training_free_routers())
    runs = [endless.start(problem(n), settings=DecodeSettings(1.0, 200)) for n in range(3)]
    decoder = SharedDecoder(endless, n_slots=1)
    for run in runs:
        decoder.submit(run)
    assert runs[0].wait(2, WAIT_S)
    decoder.close()
    decoder.close()
    assert runs[0].finish_reason == "cancelled" and runs[0].n_events >= 3
    assert [(run.finish_reason, run.error) for run in runs[1:]] == [("error", CLOSED)] * 2
    late = endless.start(problem(1), settings=DecodeSettings(1.0, 5))
    decoder.submit(late)
    assert (late.finish_reason, late.error) == ("error", CLOSED)


def test_one_that_is_cancelled_while_it_waits_never_begins(engine):
    endless = Engine(free(engine.pair), training_free_routers())
    decoder = SharedDecoder(endless, n_slots=1)
    first, second = [endless.start(problem(n), settings=DecodeSettings(1.0, 100)) for n in range(2)]
    decoder.submit(first)
    decoder.submit(second)
    second.cancel()
    assert ended(second).finish_reason == "cancelled" and second.n_events == 0
    first.cancel()
    ended(first)
    decoder.close()


def test_long_texts_have_fewer_slots_so_that_the_caches_stay_bounded(engine, monkeypatch):
    """Caches double at a power of two: a text of 300 tokens has room for 512 in every slot."""
    pair = free(engine.pair)
    per_token = pair.info.slm.kv_bytes_per_token + pair.info.llm.kv_bytes_per_token
    monkeypatch.setattr(shared_decoder, "MOST_CACHE_BYTES", 4 * 256 * per_token)
    long_engine = Engine(pair, training_free_routers())
    decoder = SharedDecoder(long_engine, n_slots=8)
    n_live = []

    def run_of(n):
        run = long_engine.start(problem(n), settings=DecodeSettings(0.5, 300 if n in (1, 2, 3) else 20))
        run.on_change(lambda: n_live.append(decoder._lanes.n_live if decoder._lanes else 0))
        return run

    runs = [run_of(n) for n in range(8)]
    for run in runs:
        decoder.submit(run)
    assert [ended(run).finish_reason for run in runs] == ["length"] * 8
    assert 2 <= max(n_live) <= 4
    decoder.close()


def test_a_run_decodes_once(engine, shared):
    run = engine.start(problem(1), settings=DecodeSettings(0.5, 3))
    shared.submit(run)
    with pytest.raises(AssertionError, match="once"):
        shared.submit(run)
    with pytest.raises(AssertionError, match="once"):
        list(run)
    ended(run)


def test_waiting_for_a_run(engine):
    run = engine.start(problem(1), settings=DecodeSettings(1.0, 6))
    changes = []
    forget = run.on_change(lambda: changes.append((run.n_events, run.finish_reason)))
    assert not run.wait(0, 0.01) and run.events_since(0) == []
    events = iter(run)
    first = next(events)
    assert run.wait(0, 0.0) and not run.wait(1, 0.01) and run.events_since(0) == [first]
    rest = list(events)
    assert run.events_since(1) == rest and run.wait(1 << 30, 0.0) and run.n_events == 1 + len(rest)
    assert changes == [*((n, None) for n in range(1, run.n_events + 1)), (run.n_events, run.finish_reason)]
    forget()
    forget()
    assert dataclasses.replace(run.trace(), events=()).finish_reason == run.finish_reason
