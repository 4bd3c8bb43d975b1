"""`RunRegistry`: the orders of all sessions by id: for a reload, for the repair of a gap, and for Stop.

Bounded in number, in bytes and in time, because a page can be left open for weeks. Knows of an order only its id, when
it ended and about how large it is. Also says whose a request is.
"""

from __future__ import annotations

import ipaddress
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from citer_core.ui.run.order import Order

KEPT_RUNS = 512
KEPT_BYTES = 64_000_000
KEPT_S = 300.0
FRESH_S = 3.0  # who follows a run, or asked for it, reads its end by then


class Caller(Protocol):
    """What we need of a program's request (`gr.Request`)."""

    session_hash: str | None


def session_of(request: Caller | None) -> str:
    """The browser session of a request; one of its own where it has none, so that no two callers ever share one."""
    return (request.session_hash if request is not None else None) or f"nobody-{secrets.token_urlsafe(12)}"


def address_of(request: object) -> str:
    """Where a request comes from, for fairness: an IPv4 address, or an IPv6 network, which is one connection's."""
    client = getattr(request, "client", None)
    host = str(getattr(client, "host", "") or "")
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if address.version == 4:
        return str(address)
    mapped = address.ipv4_mapped
    return str(mapped or ipaddress.ip_network((address, 64), strict=False))


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
