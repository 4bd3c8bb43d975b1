"""A coroutine that sleeps until a thread calls: no call is lost, and many calls are one wake-up."""

from __future__ import annotations

import threading

from citer_core.serving.wake import Wake
from tests.loops import run_async


def test_no_news_is_lost_between_a_thread_and_a_sleeper() -> None:
    n_news = 20_000
    written: list[int] = []

    async def read() -> tuple[list[int], int]:
        wake, seen, n_waits = Wake(), [], 0

        def write() -> None:
            for number in range(n_news):
                written.append(number)
                wake()

        thread = threading.Thread(target=write)
        thread.start()
        while len(seen) < n_news:
            assert await wake.wait(10), "news came and no waiter was woken"
            n_waits += 1
            seen += written[len(seen) :]
        thread.join()
        return seen, n_waits

    seen, n_waits = run_async(read())
    assert seen == list(range(n_news)) and n_waits < n_news


def test_a_call_before_the_sleep_ends_it_and_silence_times_out() -> None:
    async def check() -> list[bool]:
        wake = Wake()
        wake()
        return [await wake.wait(5), await wake.wait(0.01)]

    assert run_async(check()) == [True, False]


def test_a_call_after_the_loop_is_closed_is_harmless() -> None:
    async def make() -> Wake:
        return Wake()

    run_async(make())()
