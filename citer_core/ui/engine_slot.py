"""`EngineSlot`: the place where the engine will be, filled in the background so that the page opens at once.

Must not import torch: the loader that it is given does, in its own thread. Knows nothing about components.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from citer_core.errors import CiterError, ModelFileError

if TYPE_CHECKING:
    from citer_core.engine import Engine

logger = logging.getLogger(__name__)
FAILED = "The models could not be loaded. The recorded runs still work; the server's log says what went wrong."


class EngineSlot:
    """Loads one engine, once; any thread may look at it or wait for it."""

    def __init__(self, load: Callable[[], Engine]) -> None:
        self._load = load
        self._started = threading.Lock()
        self._settled = threading.Event()
        self._engine: Engine | None = None
        self._error: CiterError | None = None

    def start(self) -> None:
        """Begins to load in the background; further calls do nothing."""
        if self._started.acquire(blocking=False):
            threading.Thread(target=self._fill, name="engine-loader", daemon=True).start()

    def fill(self) -> None:
        """Loads here and now, for a host that wants the models before anything is served."""
        if self._started.acquire(blocking=False):
            self._fill()

    def _fill(self) -> None:
        began = time.perf_counter()
        try:
            self._engine = self._load()
            logger.info("ready to generate after %.1f s of loading", time.perf_counter() - began)
        except CiterError as error:
            logger.error("%s", error)
            self._error = error
        except Exception:
            # Whatever it was, the page must keep answering, and the cause belongs in the log, not on the page.
            logger.exception("the engine could not be loaded")
            self._error = ModelFileError(FAILED)
        finally:
            self._settled.set()

    def wait(self, timeout_s: float) -> Engine | None:
        """The engine, or None where it is still loading after `timeout_s`.

        Raises:
            CiterError: it could not be loaded.
        """
        self._settled.wait(timeout_s)
        if self._error is not None:
            raise self._error
        return self._engine

    def status(self) -> dict[str, Any]:
        """What the page's badge shows, as JSON: `state` is `loading`, `ready` or `failed`."""
        if self._error is not None:
            return {"state": "failed", "message": str(self._error)}
        engine = self._engine
        if engine is None:
            return {"state": "loading", "message": "Loading the models"}
        info = engine.pair_info
        return {
            "state": "ready",
            "pair": info.name,
            "device": info.device,
            "dtype": info.dtype,
            "message": f"{info.device.upper()}, {info.dtype}",
            "default_router": engine.default_router,
            "thresholds": {name: engine.default_threshold(name) for name in engine.router_names},
            "problems": [str(problem) for problem in engine.problems],
        }
