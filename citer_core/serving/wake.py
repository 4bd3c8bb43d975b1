"""`Wake`: lets a coroutine sleep until another thread has something for it, without a thread of its own.

Knows nothing about what is waited for. Called by the page's asynchronous handlers.
"""

from __future__ import annotations

import asyncio
import contextlib


class Wake:
    """Call it from any thread, `wait` for it in the event loop that it was made in."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()
        self._is_told = False

    def __call__(self) -> None:
        """Ends the sleep, or the next one; cheap where that was said already."""
        if self._is_told:
            return
        self._is_told = True
        with contextlib.suppress(RuntimeError):  # the loop is closed: nothing sleeps there any more
            self._loop.call_soon_threadsafe(self._event.set)

    async def wait(self, timeout_s: float) -> bool:
        """Sleeps until it is called, for `timeout_s` at most; whether it was called.

        What changed has to be looked at after this returns: another call may come at any moment from then on.
        """
        try:
            async with asyncio.timeout(timeout_s):
                await self._event.wait()
        except TimeoutError:
            return False
        self._event.clear()
        self._is_told = False  # last, so that no call is lost between the two
        return True
