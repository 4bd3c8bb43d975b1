"""`LoginLimit`: few guesses of a password in a minute, from one address and in all.

Gradio compares passwords in constant time and takes any number of guesses. Knows no password.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque

from starlette.types import ASGIApp, Receive, Scope, Send

from citer_core.web.refusal import address_of, refuse, route_path

WINDOW_S = 60.0
FROM_ONE, IN_ALL = 10, 100
MAX_ADDRESSES = 10_000
PAUSE_S = 0.3
TOO_MANY = "Too many attempts to log in: wait a minute, then try again."


class LoginLimit:
    """Middleware; counts every attempt, right or wrong.

    Args:
        app: what is asked.
        pause_s: before each attempt; tests have their own.
    """

    def __init__(self, app: ASGIApp, *, pause_s: float = PAUSE_S) -> None:
        self._app, self._pause_s = app, pause_s
        self._by_address: OrderedDict[str, deque[float]] = OrderedDict()
        self._all: deque[float] = deque()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Counts an attempt to log in."""
        if scope["method"] == "POST" and route_path(scope).rstrip("/") == "/login":
            if not self._may_try(address_of(scope)):
                await refuse(scope, receive, send, 429, TOO_MANY)
                return
            await asyncio.sleep(self._pause_s)
        await self._app(scope, receive, send)

    def _may_try(self, address: str) -> bool:
        now = time.monotonic()
        own = self._by_address.setdefault(address, deque())
        self._by_address.move_to_end(address)
        while len(self._by_address) > MAX_ADDRESSES:
            self._by_address.popitem(last=False)
        for tries in (own, self._all):
            while tries and now - tries[0] > WINDOW_S:
                tries.popleft()
        if len(own) >= FROM_ONE or len(self._all) >= IN_ALL:
            return False
        own.append(now)
        self._all.append(now)
        return True
