"""How much is asked: `RateLimit`: few requests of one kind in a minute, from one address and in all; `PageTraffic`: has
long work wait for the page's requests.

Gradio takes any number of guesses of a password, and each heartbeat that ends holds its loop for about 10 ms. Opening
the page takes some eighty small requests: while another thread imports torch, each of them waits several times for the
interpreter, and the first recorded run comes a third later; so the import waits for a gap, within reason. Knows no
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


QUIET_S = 0.1  # without a request, and a page that was being opened is open, or its reader's network is slow

PATIENCE_S = 1.2  # in all: a page that many ask for all the time must get its models too

STEP_S = 0.01


class PageTraffic:
    """When the page was last asked for something.

    Args:
        quiet_s, patience_s: see above; tests have their own.
    """

    def __init__(self, *, quiet_s: float = QUIET_S, patience_s: float = PATIENCE_S) -> None:
        self._quiet_s, self._patience_s = quiet_s, patience_s
        self._last_request = float("-inf")

    def watch(self, app: ASGIApp) -> ASGIApp:
        """The same application, whose requests are noticed."""

        async def watched(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http":
                self._last_request = time.monotonic()
            await app(scope, receive, send)

        return watched

    def let_pass(self) -> None:
        """Returns when there is no traffic, or no patience left; for one thread."""
        while self._patience_s > 0.0 and time.monotonic() - self._last_request < self._quiet_s:
            time.sleep(STEP_S)
            self._patience_s -= STEP_S
