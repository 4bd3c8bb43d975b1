"""`RateLimit`: few requests of one kind in a minute, from one address and in all.

Gradio takes any number of guesses of a password, and each heartbeat that ends holds its loop for about 10 ms. Knows no
password and no session.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import OrderedDict, deque
from dataclasses import dataclass

from starlette.types import ASGIApp, Receive, Scope, Send

from citer_core.web.open_routes import API
from citer_core.web.refusal import address_of, refuse, route_path

WINDOW_S = 60.0
MAX_ADDRESSES = 10_000


@dataclass(frozen=True, slots=True)
class Rate:
    """What is counted, and how many of it there may be in `WINDOW_S`.

    Attributes:
        method, path: of the requests, the path as a pattern.
        from_one, in_all: at most.
        refusal: what is said to others.
        pause_s: before each of them.
    """

    method: str
    path: str
    from_one: int
    in_all: int
    refusal: str
    pause_s: float = 0.0


LOGINS = Rate("POST", "/login/?", 10, 100, "Too many attempts to log in: wait a minute, then try again.", 0.3)
# A class behind one address opens the page at once.
PAGES = Rate(
    "GET", f"{API}/heartbeat/[^/]+", 120, 600, "This page was opened too often: wait a minute, then load it again."
)


class RateLimit:
    """Middleware; counts every such request, whatever comes of it.

    Args:
        app: what is asked.
        rate: see there.
    """

    def __init__(self, app: ASGIApp, rate: Rate) -> None:
        self._app, self._rate, self._path = app, rate, re.compile(rate.path)
        self._by_address: OrderedDict[str, deque[float]] = OrderedDict()
        self._all: deque[float] = deque()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Counts a request of the kind, and refuses it where there were too many."""
        if scope["method"] == self._rate.method and self._path.fullmatch(route_path(scope)):
            if not self._has_room(address_of(scope)):
                await refuse(scope, receive, send, 429, self._rate.refusal)
                return
            await asyncio.sleep(self._rate.pause_s)
        await self._app(scope, receive, send)

    def _has_room(self, address: str) -> bool:
        now = time.monotonic()
        own = self._by_address.setdefault(address, deque())
        self._by_address.move_to_end(address)
        while len(self._by_address) > MAX_ADDRESSES:
            self._by_address.popitem(last=False)
        for times in (own, self._all):
            while times and now - times[0] > WINDOW_S:
                times.popleft()
        if len(own) >= self._rate.from_one or len(self._all) >= self._rate.in_all:
            return False
        own.append(now)
        self._all.append(now)
        return True
