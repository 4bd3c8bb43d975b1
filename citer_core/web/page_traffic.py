"""`PageTraffic`: lets the page's requests go first where a long piece of work shares the interpreter with them.

Opening the page takes some eighty small requests. While another thread imports torch, each of them waits several times
for the interpreter, and the first recorded run comes a third later; so the import waits for a gap, within reason.
"""

from __future__ import annotations

import time

from starlette.types import ASGIApp, Receive, Scope, Send

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
