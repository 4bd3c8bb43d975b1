"""`EngineSlot`: the place where the engine is, filled in the background so that the page opens at once; and `Lease`.

A run holds a lease on the engine while it computes. Another engine may take its place at any time (`switch`): who
holds a lease goes on with the engine that it has, and the old one is freed when the last of them is done. Must not
import torch: the loader that it is given does, in its own thread. Knows no pair by name.
"""

from __future__ import annotations

import logging
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from citer_core.errors import CiterError, ModelFileError, ServerError
from citer_core.system_memory import MEMORY_FULL, MemoryKeeper, give_back, is_out_of_memory

if TYPE_CHECKING:
    from citer_core.engine import Engine
    from citer_core.serving.shared_decoder import SharedDecoder

logger = logging.getLogger(__name__)
FAILED = "The models could not be loaded. The recorded runs still work; the server's log says what went wrong."
NO_ROOM = f"There was not enough memory: {MEMORY_FULL}"
# Between the end of a lease and the last reference to the engine lie a few lines of its holder.
GONE_TRIES, GONE_S = 20, 0.25
RETRY_S = 10.0
N_RUNS = 32


@dataclass(eq=False)
class Tenancy:
    """One engine's time in the slot.

    Attributes:
        engine: None once it is to be freed.
        decoder: of the runs of all visitors; made for the first of them.
        n_leases: who computes with it.
        unused: set while there is no lease.
    """

    engine: Engine | None
    decoder: SharedDecoder | None = None
    n_leases: int = 0
    unused: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.unused.set()


class Lease(AbstractContextManager["Lease"]):
    """The permission to compute with an engine: a context manager, at whose end the engine may be freed.

    with slot.lease() as lease:
        while (engine := lease.wait(0.25)) is None:
            ...  # say that it is loading
    """

    def __init__(self, slot: EngineSlot) -> None:
        self._slot = slot
        self._tenancy: Tenancy | None = None

    def wait(self, timeout_s: float) -> Engine | None:
        """The engine, the same at every call once it was given; None where there is none after `timeout_s`.

        Raises:
            CiterError: it could not be loaded.
        """
        if self._tenancy is None:
            self._tenancy = self._slot._take(timeout_s)
        return self._tenancy.engine if self._tenancy else None

    def decoder(self) -> SharedDecoder:
        """Where this engine decodes the runs of all visitors; only after `wait` gave an engine."""
        assert self._tenancy is not None, "there is an engine first"
        return self._slot._decoder_of(self._tenancy)

    def release(self) -> None:
        """Ends the lease; more calls do nothing. From any thread."""
        tenancy, self._tenancy = self._tenancy, None
        if tenancy is not None:
            self._slot._give_back(tenancy)

    def __exit__(self, *_: object) -> None:
        self.release()


class EngineSlot:
    """Holds one engine; any thread may look at it, wait for it or hold a lease on it.

    Args:
        load: makes the first engine.
        retry_s: between two tries, where the LLM's server is not there.
        n_runs: how many runs an engine decodes together.
        keeper: is told who computes; None keeps nothing in mind.
    """

    def __init__(
        self,
        load: Callable[[], Engine],
        *,
        retry_s: float = RETRY_S,
        n_runs: int = N_RUNS,
        keeper: MemoryKeeper | None = None,
    ) -> None:
        self._n_runs = n_runs
        self._load: Callable[[], Engine] | None = load
        self._retry_s, self._keeper = retry_s, keeper
        self._started = threading.Lock()
        self._changed = threading.Condition()
        self._tenancy: Tenancy | None = None
        self._error: CiterError | None = None
        self._will_retry = False
        self._closed_for = ""
        self._generation = 0

    def start(self) -> None:
        """Begins to load in the background; further calls do nothing.

        Where the LLM's server is not there, it is tried again until it is: it may still be starting, as this one is.
        """
        if self._started.acquire(blocking=False):
            threading.Thread(target=self._fill, kwargs={"may_retry": True}, name="engine-loader", daemon=True).start()

    def fill(self) -> None:
        """Loads here and now, for a host that wants the models before anything is served."""
        if self._started.acquire(blocking=False):
            self._fill(may_retry=False)

    def _fill(self, *, may_retry: bool) -> None:
        try:
            while (engine := self._loaded(may_retry=may_retry)) is None:
                time.sleep(self._retry_s)
            self.put(engine)
        except CiterError as error:
            logger.error("%s", error)
            self.fail(error)
        except Exception as error:
            # Whatever it was, the page must keep answering, and the cause belongs in the log, not on the page.
            logger.exception("the engine could not be loaded")
            self.fail(ModelFileError(f"{FAILED} {NO_ROOM}" if is_out_of_memory(error) else FAILED))
        finally:
            self._load = None  # which may hold what it loaded

    def _loaded(self, *, may_retry: bool) -> Engine | None:
        """The engine; None where it was not to be had and is to be tried again."""
        assert self._load is not None, "it is filled once"
        began = time.perf_counter()
        try:
            engine = self._load()
        except ServerError as error:
            if not may_retry:
                raise
            logger.warning("%s Trying again in %g s.", error, self._retry_s)
            self.fail(ServerError(f"{error} This page looks for it every {self._retry_s:g} seconds."), will_retry=True)
            return None
        logger.info("ready to generate after %.1f s of loading", time.perf_counter() - began)
        return engine

    # ------------------------------------------------------------ those who compute

    def lease(self) -> Lease:
        """Taken before computing."""
        return Lease(self)

    def wait(self, timeout_s: float) -> Engine | None:
        """The engine for a look at it, or None where it is still loading after `timeout_s`; to compute, take a lease.

        Raises:
            CiterError: it could not be loaded.
        """
        with self.lease() as lease:
            return lease.wait(timeout_s)

    def _take(self, timeout_s: float) -> Tenancy | None:
        with self._changed:
            self._changed.wait_for(lambda: self._is_open() or self._error is not None, timeout_s)
            if self._is_open():
                assert self._tenancy is not None
                self._tenancy.n_leases += 1
                self._tenancy.unused.clear()
                if self._keeper is not None:
                    self._keeper.begin()
                return self._tenancy
            if self._error is not None:
                raise self._error
            return None

    def _give_back(self, tenancy: Tenancy) -> None:
        with self._changed:
            tenancy.n_leases -= 1
            if tenancy.n_leases == 0:
                tenancy.unused.set()
        if self._keeper is not None:
            self._keeper.end()

    def _decoder_of(self, tenancy: Tenancy) -> SharedDecoder:
        with self._changed:
            if tenancy.decoder is None:
                assert tenancy.engine is not None, "a lease keeps the engine"
                tenancy.decoder = tenancy.engine.open_decoder(self._n_runs)
            return tenancy.decoder

    def _is_open(self) -> bool:
        return self._tenancy is not None and not self._closed_for

    # ------------------------------------------------------------ those who change the engine

    def put(self, engine: Engine) -> Tenancy | None:
        """Makes `engine` the one that new leases get.

        Returns:
            The one before, where there was one, for `retire`.
        """
        with self._changed:
            before, self._tenancy = self._tenancy, Tenancy(engine)
            self._error, self._will_retry, self._closed_for = None, False, ""
            self._generation += 1
            self._changed.notify_all()
        return before

    def fail(self, error: CiterError, *, will_retry: bool = False) -> None:
        """There is no engine, and this is why; perhaps there will be one by itself."""
        with self._changed:
            self._error, self._will_retry, self._closed_for = error, will_retry, ""
            self._changed.notify_all()

    def close(self, why: str) -> Tenancy | None:
        """Gives no new leases until `open`, `put` or `fail`; those that are held go on.

        Args:
            why: what the page says meanwhile.

        Returns:
            The engine that is there, if any.
        """
        with self._changed:
            self._closed_for = why
            return self._tenancy

    def open(self) -> None:
        """Gives leases again."""
        with self._changed:
            self._closed_for = ""
            self._changed.notify_all()

    def take_out(self) -> None:
        """Frees the engine, which must have no lease any more; returns when its memory has come back."""
        with self._changed:
            tenancy, self._tenancy = self._tenancy, None
        if tenancy is not None:
            _free(tenancy)

    def retire(self, tenancy: Tenancy | None) -> None:
        """Frees a replaced engine once its last lease has ended, in the background; returns at once."""
        if tenancy is not None:
            threading.Thread(target=_free, args=(tenancy,), name="engine-reaper", daemon=True).start()

    # ------------------------------------------------------------ those who look

    @property
    def has_engine(self) -> bool:
        """Whether one is there, though it may give no leases now."""
        return self._tenancy is not None

    @property
    def n_leases(self) -> int:
        """Who computes with the present engine."""
        with self._changed:
            return self._tenancy.n_leases if self._tenancy else 0

    def status(self) -> dict[str, Any]:
        """What the page's badge shows, as JSON: `state` is `loading`, `ready` or `failed`.

        `generation` counts the engines that there were: another number means another pair.
        """
        with self._changed:
            engine, error, closed_for = (
                self._tenancy.engine if self._tenancy else None,
                self._error,
                self._closed_for,
            )
            generation, will_retry = self._generation, self._will_retry
        if error is not None:
            return {"state": "failed", "message": str(error), "will_retry": will_retry, "generation": generation}
        if engine is None or closed_for:
            return {"state": "loading", "message": closed_for or "Loading the models", "generation": generation}
        info = engine.pair_info
        return {
            "state": "ready",
            "generation": generation,
            "pair": info.name,
            "revision": info.revision,
            "device": info.device,
            "dtype": info.dtype,
            "message": f"{info.device.upper()}, {info.dtype}" + ("" if engine.llm_is_here else "; LLM on a server"),
            "llm_is_here": engine.llm_is_here,
            "default_router": engine.default_router,
            "thresholds": {name: engine.default_threshold(name) for name in engine.router_names},
            "is_chat": info.prompt_form != "plain",
            "problems": [str(problem) for problem in engine.problems],
        }


def _free(tenancy: Tenancy) -> None:
    """Waits for the last lease, lets the engine go, and gives its memory back."""
    tenancy.unused.wait()
    decoder, tenancy.decoder = tenancy.decoder, None
    if decoder is not None:
        decoder.close()
    del decoder
    engine, tenancy.engine = tenancy.engine, None
    if engine is None:
        return
    gone = threading.Event()
    weakref.finalize(engine, gone.set).atexit = False
    name = engine.pair_info.name
    del engine
    for _ in range(GONE_TRIES):
        give_back()  # models are full of cycles, so that only a collection ends them
        if gone.wait(GONE_S):
            break
    else:
        logger.warning("%s is still referred to by something, and keeps its memory", name)
    give_back()
    logger.info("%s was freed", name)
