"""Coroutines and browsers of tests in a thread of their own: the browser of other tests may have a loop in this one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """What a coroutine returns."""
    return in_a_thread(lambda: asyncio.run(work))


def in_a_thread(work: Callable[[], T]) -> T:
    """What a function returns."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()
