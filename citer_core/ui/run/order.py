"""`Order`: a run that was asked for, from the waiting line to its end, with or without a reader; and
`RunRegistry`: the orders of all sessions by id, for a reload, for the repair of a gap, and for Stop.

A page may go away and come back, or look at it twice: an order does not depend on it. It has its id, which is the run's
too, before there is a run. What has ended is bounded in number, in bytes and in time, because a page can be left open
for weeks. Called by `desk`, which moves an order on, and `stream`, which shows it. Knows no gradio.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import threading
import time
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from citer_core.errors import CiterError
from citer_core.trace import RoutingTrace, event_from_dict, event_to_dict
from citer_core.types import TokenEvent, settled

if TYPE_CHECKING:
    from citer_core.engine import Engine
    from citer_core.run import Run
    from citer_core.serving.line import Ticket


RUN_BYTES, EVENT_BYTES = 8_000, 2_500  # of a kept run, and of each event with both models' candidates, about

Start = Callable[["Engine"], "Run"]


class Order:
    """What is known of it; any thread may look.

    Attributes:
        id: unguessable, and therefore the permission to see and to stop it.
        start: makes the run, once there are an engine and a place.
        request_id: of who asked; None in a direct call.
        began_at: when it was asked for, and from its first step on, when that was.
        ticket: its place in the line; None until it has one.
        is_cancelled: it is to end.
        head: the trace without events; None until the run has begun.
        error: why there never was a run; None where there is one, or may be yet.
        why_early: why the run ended early, in words for a person; None where it did not.
        n_bytes: about how much it keeps, once it has ended.
        ended_at: by the monotonic clock; None while it goes on. What came of it is known by then.
        seen_at: when a page last read it.
    """

    def __init__(self, start: Start, request_id: str | None = None) -> None:
        self.request_id = request_id
        self.began_at = time.monotonic()
        self.id = secrets.token_urlsafe(16)
        self.start = start
        self.ticket: Ticket | None = None
        self.is_cancelled = False
        self.run: Run | None = None
        self.head: dict[str, Any] | None = None
        self._trace: RoutingTrace | None = None  # without events
        self._told: Sequence[TokenEvent] = ()  # until they are packed
        self._packed: bytes | None = None
        self.error: CiterError | None = None
        self.why_early: str | None = None
        self.ended_at: float | None = None
        self.n_bytes = 0
        self.seen_at = time.monotonic()
        self._lock = threading.Lock()
        self._n_watching = 0
        self._watchers: list[Callable[[], None]] = []

    def seen(self) -> None:
        """It has a reader now."""
        self.seen_at = time.monotonic()

    @contextlib.contextmanager
    def watched(self, callback: Callable[[], None]) -> Iterator[None]:
        """It has a reader for as long as this lasts, and `callback` is called whenever there is news."""
        stop = self.on_change(callback)
        with self._lock:
            self._n_watching += 1
        try:
            yield
        finally:
            stop()
            with self._lock:
                self._n_watching -= 1
            self.seen()

    def left_s(self) -> float:
        """For how many seconds it has had no reader."""
        return 0.0 if self._n_watching else time.monotonic() - self.seen_at

    def on_change(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Has `callback` called whenever there is news, from any thread; returns what ends that."""
        with self._lock:
            self._watchers = [*self._watchers, callback]

        def stop() -> None:
            with self._lock:
                self._watchers = [other for other in self._watchers if other is not callback]

        return stop

    def changed(self) -> None:
        """There is news."""
        for watcher in self._watchers:
            watcher()

    @property
    def trace(self) -> RoutingTrace | None:
        """The whole run with the verdict on its answer; None until it has ended. Read anew where it is packed."""
        return None if self._trace is None else replace(self._trace, events=settled(self._all_told()))

    def _all_told(self) -> Sequence[TokenEvent]:
        told, packed = self._told, self._packed  # in this order: `pack` sets the second first
        if packed is None:
            return told
        return tuple(map(event_from_dict, json.loads(zlib.decompress(packed))))

    def pack(self) -> None:
        """Keeps what has ended in an eighth of its bytes; a look at its events takes milliseconds from then on."""
        if self._trace is None or self._packed is not None:
            return
        packed = zlib.compress(json.dumps([event_to_dict(event) for event in self._told]).encode(), 1)
        self._packed = packed
        self._told = ()
        self.n_bytes = RUN_BYTES + len(packed)

    def events_since(self, base: int) -> Sequence[TokenEvent]:
        """What the run told from place `base` on; none where it has not begun."""
        run = self.run
        if self._trace is not None:
            return self._all_told()[base:]
        return run.events_since(base) if run is not None else ()

    def summary(self) -> dict[str, Any]:
        """How it ended: `finish_reason`, `answer`, `error`; nothing is computed here."""
        trace = self._trace
        found = None if trace is None or trace.answer is None else asdict(trace.answer)
        reason = "error" if trace is None else trace.finish_reason
        return {"finish_reason": reason or "error", "answer": found, "error": self.why_early}

    def begin(self, run: Run) -> None:
        """The run is there; nothing of it is written yet."""
        run.id = self.id
        self.head = {name: value for name, value in run.trace().to_dict().items() if name != "events"}
        self.began_at = time.monotonic()
        self.run = run

    def end(
        self,
        *,
        trace: RoutingTrace | None = None,
        told: Sequence[TokenEvent] | None = None,
        error: CiterError | None = None,
        why: str | None = None,
    ) -> None:
        """What came of it, and all that it told if the trace has not all; `error` where there never was a run, `why`
        where it ended early.
        """
        if told is None:
            told = trace.events if trace else ()
        with self._lock:
            if self.ended_at is not None:
                return
            self._trace, self.error, self.why_early = trace and replace(trace, events=()), error, why
            self._told = told
            self.n_bytes = RUN_BYTES + EVENT_BYTES * len(told)
            self.run = None
            self.ended_at = time.monotonic()
        self.changed()


KEPT_RUNS = 512

KEPT_BYTES = 64_000_000

KEPT_S = 300.0

FRESH_S = 3.0  # who follows a run, or asked for it, reads its end by then


class RunRegistry:
    """The latest orders of all sessions; an id is unguessable and therefore the permission to see the run.

    Args:
        n_kept, n_bytes, kept_s: bounds of what has ended: number, bytes, seconds. What goes on is always kept; the
            waiting line bounds it.
        clock: gives seconds; tests have their own.
    """

    def __init__(
        self,
        n_kept: int = KEPT_RUNS,
        n_bytes: int = KEPT_BYTES,
        kept_s: float = KEPT_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._n_kept, self._n_bytes, self._kept_s, self._clock = n_kept, n_bytes, kept_s, clock
        self._lock = threading.Lock()
        self._orders: OrderedDict[str, Order] = OrderedDict()

    def add(self, order: Order) -> None:
        """Keeps it."""
        with self._lock:
            self._orders[order.id] = order
            self._tidy()

    def get(self, order_id: object) -> Order | None:
        """The order of that id, if it is still kept."""
        with self._lock:
            return self._orders.get(order_id) if isinstance(order_id, str) else None

    def tidy(self) -> None:
        """Forgets what is too old, or too much, and packs what is read seldom from now on."""
        packed_by = self._clock() - FRESH_S
        with self._lock:
            self._tidy()
            ended = [order for order in self._orders.values() if order.ended_at is not None]
        for order in ended:
            if order.ended_at is not None and order.ended_at < packed_by:
                order.pack()

    def live(self) -> list[Order]:
        """Those that go on."""
        with self._lock:
            return [order for order in self._orders.values() if order.ended_at is None]

    @property
    def n_bytes(self) -> int:
        """Of what has ended."""
        with self._lock:
            return sum(order.n_bytes for order in self._orders.values() if order.ended_at is not None)

    def __len__(self) -> int:
        return len(self._orders)

    def _tidy(self) -> None:
        ended = sorted((order.ended_at, order.id) for order in self._orders.values() if order.ended_at is not None)
        n_bytes = sum(self._orders[order_id].n_bytes for _, order_id in ended)
        n_kept, oldest = len(ended), self._clock() - self._kept_s
        for ended_at, order_id in ended:
            if n_kept <= self._n_kept and n_bytes <= self._n_bytes and ended_at >= oldest:
                break
            n_bytes -= self._orders.pop(order_id).n_bytes
            n_kept -= 1
