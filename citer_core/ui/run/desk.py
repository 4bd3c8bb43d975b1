"""`RunDesk`: takes orders for runs, gives each its turn, and ends those that have no reader any more.

One thread makes the runs whose turn has come, another one reads the answers of those that have ended and looks after
the ones that were left; visitors have none. Each that has ended is one line of the log, with the id of the request that
asked; no text of a question or an answer, and of the run's id, which is the permission to see it, only the beginning.
Must not import gradio or torch. Called by the page's handlers and the API.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time
from typing import TYPE_CHECKING

from citer_core.errors import CiterError, LineFullError, SettingError, StoppedError
from citer_core.serving.line import LOST, WaitingLine
from citer_core.trace import RoutingTrace
from citer_core.ui.messages import UNEXPECTED
from citer_core.ui.pair.engine_slot import EngineSlot, Lease
from citer_core.ui.run.order import Order, RunRegistry, Start

if TYPE_CHECKING:
    from citer_core.run import Run


logger = logging.getLogger(__name__)

SHOWN_CHARS = 6


def log_run(run_id: str, trace: RoutingTrace, seconds: float, request_id: str | None) -> None:
    """Logs a run that has ended, however it did.

    Args:
        run_id: of the run.
        trace: the whole run.
        seconds: since its first step.
        request_id: of the request; None in a direct call.
    """
    fields = {
        "run": run_id[:SHOWN_CHARS],
        "finish": trace.finish_reason,
        "tokens": trace.n_tokens,
        "llm_tokens": sum(event.source == "llm" for event in trace.events),
        "seconds": round(seconds, 3),
        "request_id": request_id,
    }
    logger.info("run", extra={"fields": fields})


GRACE_S = 20.0  # a page that is reloaded, or whose network is gone for a moment, finds its run again

LOOK_S = 1.0

WAIT_S = 0.25

STOPPED = "Stopped before its first token."


class RunDesk:
    """Where runs are asked for.

    Args:
        slot: of the engine.
        line: who is next.
        registry: where an order is found by its id.
        grace_s: how long an order goes on without a reader.
    """

    def __init__(self, slot: EngineSlot, line: WaitingLine, registry: RunRegistry, *, grace_s: float = GRACE_S) -> None:
        self.line, self.registry, self.grace_s = line, registry, grace_s
        self._slot = slot
        self._starting: queue.SimpleQueue[Order] = queue.SimpleQueue()
        self._ending: queue.SimpleQueue[tuple[Order, Run]] = queue.SimpleQueue()
        self.is_loading = False  # runs have their turn and wait for the models
        self._lock = threading.Lock()
        self._has_threads = False
        self._farewell = ""

    def ask(self, start: Start, session: str, address: str, request_id: str | None = None) -> Order:
        """Takes an order; it goes on by itself until it ends, is cancelled, or has had no reader for a while.

        Args:
            start: makes the run from the engine, in a thread of the desk; may raise `CiterError`.
            session, address: whose it is, for the line.
            request_id: of who asked, for the log.

        Raises:
            LineFullError: see `WaitingLine.join`.
            StoppedError: the process is about to end.
        """
        if self._farewell:
            raise StoppedError(self._farewell)
        self._run_threads()
        order = Order(start, request_id)

        def moved() -> None:
            ticket = order.ticket
            if ticket is not None and ticket.is_going:
                self._starting.put(order)
            elif ticket is not None and ticket.state == "lost":
                order.end(error=LineFullError(LOST))

        order.ticket = self.line.join(session, address, on_change=moved)
        self.registry.add(order)
        moved()  # its turn may have come before it had its ticket
        return order

    def cancel(self, order: Order) -> None:
        """Ends an order before its next token, or takes it out of the line; more calls do nothing."""
        order.is_cancelled = True
        self._end_early(order, STOPPED)

    def _end_early(self, order: Order, why: str) -> None:
        run = order.run
        if run is not None:
            run.cancel()
        elif order.ended_at is None:
            order.end(error=StoppedError(why))
            if order.ticket is not None:
                order.ticket.leave()

    @property
    def n_live(self) -> int:
        """Orders that have not ended yet."""
        return len(self.registry.live())

    def end_all(self, why: str) -> int:
        """Ends every live order, and refuses each that is still to come: the process is about to end.

        Args:
            why: in words for the readers of such runs.

        Returns:
            How many were live.
        """
        self._farewell = why
        live = self.registry.live()
        for order in live:
            order.is_cancelled, order.why_early = True, why
            self._end_early(order, why)
        return len(live)

    # ------------------------------------------------------------ in the threads of the desk

    def _run_threads(self) -> None:
        with self._lock:
            if not self._has_threads:
                self._has_threads = True
                for name, work in (("start", self._start_all), ("end", self._end_all)):
                    threading.Thread(target=work, name=f"run-desk-{name}", daemon=True).start()

    def _start_all(self) -> None:
        while True:
            order = self._starting.get()
            if order.head is not None or order.ended_at is not None:
                continue  # put here twice, or stopped meanwhile
            lease = self._slot.lease()
            try:
                self._start(order, lease)
            except CiterError as error:
                self._drop(order, lease, error)
            except Exception:
                logger.exception("a run could not be started")
                self._drop(order, lease, SettingError(UNEXPECTED))
            del order, lease  # which would keep an engine until the next one comes

    def _start(self, order: Order, lease: Lease) -> None:
        engine = lease.wait(0)
        try:
            while engine is None:
                if order.ended_at is not None:
                    return
                self.is_loading = True
                engine = lease.wait(WAIT_S)
        finally:
            self.is_loading = False
        run = order.start(engine)
        order.begin(run)
        decoder = lease.decoder()
        once = threading.Lock()

        def moved() -> None:
            order.changed()
            if run.finish_reason is not None and once.acquire(blocking=False):
                lease.release()
                assert order.ticket is not None, "it has had its turn"
                order.ticket.leave()
                self._ending.put((order, run))

        run.on_change(moved)
        decoder.submit(run)
        if order.is_cancelled:
            run.cancel()

    def _drop(self, order: Order, lease: Lease, error: CiterError) -> None:
        lease.release()
        order.end(error=error)
        if order.ticket is not None:
            order.ticket.leave()

    def _end_all(self) -> None:
        while True:
            with contextlib.suppress(queue.Empty):
                self._end(*self._ending.get(timeout=LOOK_S))
            for order in self.registry.live():
                if order.left_s() > self.grace_s:
                    self.cancel(order)
            self.registry.tidy()

    def _end(self, order: Order, run: Run) -> None:
        try:
            trace = run.trace()  # with the verdict on its answer, which is looked for here and never again
        except Exception:
            logger.exception("the end of run %s could not be read", order.id[:6])
            order.end(error=SettingError(UNEXPECTED))
            return
        log_run(order.id, trace, time.monotonic() - order.began_at, order.request_id)
        why = (run.error or UNEXPECTED) if run.finish_reason == "error" else order.why_early
        order.end(trace=trace, told=run.events_since(0), why=why)
