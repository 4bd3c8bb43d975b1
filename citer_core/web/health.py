"""`Health`: the answer of `/healthz`, made of numbers that others give it.

200 while the page can be used, which it can while the models are still loading (recorded runs), and 503 once there is
no pair to generate with and none is on its way. To wait for the models, look at `state`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import citer_core
from citer_core.system_memory import resident_bytes

PATH = "/healthz"
STATES: Mapping[str, str] = {"ready": "ready", "loading": "loading"}


@dataclass(eq=False, slots=True)
class Health:
    """What the process says of itself.

    Attributes:
        engine: the engine's status; `state` is `loading`, `ready` or anything else, `pair` its title where it has one.
        n_running: runs that are being decoded.
        n_waiting: those that wait for their turn.
    """

    engine: Callable[[], Mapping[str, Any]] = lambda: {"state": "ready"}
    n_running: Callable[[], int] = lambda: 0
    n_waiting: Callable[[], int] = lambda: 0
    _began: float = field(default_factory=time.monotonic)

    def to_dict(self) -> dict[str, Any]:
        """`state` (ready, loading or degraded), `version`, `pair` (null where none is loaded), `rss_bytes` (null where
        it is not known), `n_running`, `n_waiting`, `uptime_s`.
        """
        status = self.engine()
        return {
            "state": STATES.get(str(status.get("state")), "degraded"),
            "version": citer_core.__version__,
            "pair": status.get("pair"),
            "rss_bytes": resident_bytes(),
            "n_running": self.n_running(),
            "n_waiting": self.n_waiting(),
            "uptime_s": round(time.monotonic() - self._began, 1),
        }

    def route(self) -> Route:
        """Answers for `/healthz`."""

        async def answer(_: Request) -> Response:
            document = self.to_dict()
            return JSONResponse(document, 503 if document["state"] == "degraded" else 200)

        return Route(PATH, answer)
