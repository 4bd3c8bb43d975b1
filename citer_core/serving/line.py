"""`WaitingLine`: who computes now, who is next, and how long that may take.

    line = WaitingLine(16, "runs")
    ticket = line.join("session", "203.0.113.7", on_change=wake)
    ticket.is_going, ticket.place, ticket.expected_s
    ticket.leave()                      # done, or given up: both free the place at once

A free place goes to the address that has the fewest going, and there to the session that has waited longest since its
last turn; so a hundred invented sessions at one address get no more than one visitor at another. Where the line is
full, a newcomer takes the place of the ticket that would be served last, if that is after it. Threads only: knows no
event loop, no engine and no page. Called by `ui.run.desk` and `ui.jobs`.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Literal

from citer_core.errors import LineFullError

CAPACITY = 300
PER_SESSION = 10  # one going, one in the line, eight behind that one
NEWEST_PART = 0.15  # of the measured seconds, that the latest visitor's have
LOST = "The line is full, and those who have had fewer turns come first: try again in a moment."
State = Literal["waiting", "going", "lost", "left"]


class Ticket:
    """One visitor's place.

    Attributes:
        session, address: whose it is.
        state: `waiting`; `going`, it may compute; `lost`, the line was full and another one took its place; `left`.
    """

    __slots__ = ("_line", "_on_change", "address", "session", "state", "went_at")

    def __init__(self, line: WaitingLine, session: str, address: str, on_change: Callable[[], None]) -> None:
        self.session, self.address = session, address
        self.state: State = "left"
        self.went_at = 0.0
        self._line, self._on_change = line, on_change

    @property
    def owners(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Keys of the two that it counts for: the address, and the session there."""
        return (self.address,), (self.address, self.session)

    @property
    def is_going(self) -> bool:
        """Whether it may compute."""
        return self.state == "going"

    @property
    def place(self) -> int:
        """1 for the next one; 0 for one that does not wait."""
        with self._line._lock:
            return self._line._ordered().get(self, 0)

    @property
    def expected_s(self) -> float | None:
        """Seconds until its turn, as far as the latest visitors tell; None while none has been served yet."""
        line = self._line
        with line._lock:
            if self.state != "waiting" or line._served_s is None:
                return None if self.state == "waiting" else 0.0
            before = line._waiting[: line._waiting.index(self)]
            own = self.owners[1]
            n_before = line._shares[own].n_going + sum(other.owners[1] == own for other in before)
            return max(line._ordered()[self] * line._served_s / line.n_places, n_before * line._served_s)

    def leave(self) -> None:
        """Frees the place, whether it is going or waiting; more calls do nothing. From any thread."""
        with self._line._lock:
            if self.state == "going":
                self._line._count_served(self._line._clock() - self.went_at)
            if self.state in ("waiting", "going"):
                self._line._become(self, "left")
            changed = self._line._let_go()
        for other in changed:
            other._on_change()


class _Share:
    """What an address, or a session at one, has of the line, and since when it waits for its next turn."""

    __slots__ = ("n_going", "n_waiting", "since")

    def __init__(self, since: int) -> None:
        self.n_going, self.n_waiting, self.since = 0, 0, since


class WaitingLine:
    """A bounded, fair line; every method may be called from any thread.

    Args:
        n_places: how many may compute at once, 1 at least.
        noun: what is waited for, in messages: "runs".
        capacity: how many may wait.
        per_session: how many of one session may be going or waiting; one of them goes at a time.
        clock: gives seconds; tests have their own.
    """

    def __init__(
        self,
        n_places: int,
        noun: str = "runs",
        *,
        capacity: int = CAPACITY,
        per_session: int = PER_SESSION,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.n_places, self.noun, self.capacity, self.per_session = n_places, noun, capacity, per_session
        self._clock = clock
        self._lock = threading.Lock()
        self._shares: dict[tuple[str, ...], _Share] = {}  # by `Ticket.owners`
        self._turns = itertools.count()
        self._waiting: list[Ticket] = []  # as they came
        self._places: dict[Ticket, int] | None = None  # None: to be made again
        self._n_going = 0
        self._n_served = 0
        self._served_s: float | None = None

    def n_running(self) -> int:
        """How many compute now."""
        return self._n_going

    def n_waiting(self) -> int:
        """How many wait for their turn."""
        return len(self._waiting)

    def join(self, session: str, address: str = "", on_change: Callable[[], None] = lambda: None) -> Ticket:
        """Takes a place at the end of what is fair.

        Args:
            session: whose turns are shared; callers without one need a name of their own each.
            address: whose sessions share its turns.
            on_change: called when the ticket's turn comes, or when it is lost; from any thread, with no lock held. A
                turn may come before this returns.

        Raises:
            LineFullError: the session has too many already, or the line is full of others who come before it.
        """
        ticket = Ticket(self, session, address, on_change)
        with self._lock:
            share = self._shares.get(ticket.owners[1])
            if share is not None and share.n_going + share.n_waiting >= self.per_session:
                raise LineFullError(
                    f"{self.per_session} {self.noun} of this page are going or waiting already: wait for one of them "
                    "or stop one, and ask again."
                )
            self._become(ticket, "waiting")
            changed = self._let_go()
            if len(self._waiting) > self.capacity:
                last = next(reversed(self._ordered()))
                self._become(last, "lost")
                if last is ticket:
                    raise LineFullError(self._full())
                changed.append(last)
        for other in changed:
            other._on_change()
        return ticket

    def _full(self) -> str:
        seconds = None if self._served_s is None else self.capacity * self._served_s / self.n_places
        wait = "in a few minutes" if seconds is None or seconds > 90 else f"in about {max(5, round(seconds, -1)):.0f} s"
        return f"{self.capacity} {self.noun} are waiting already, and the line holds no more: try again {wait}."

    # ------------------------------------------------------------ with the lock held

    def _count_served(self, seconds: float) -> None:
        self._n_served += 1
        known = self._served_s or 0.0
        self._served_s = known + max(NEWEST_PART, 1 / self._n_served) * (seconds - known)

    def _become(self, ticket: Ticket, state: State) -> None:
        """The one place where a ticket's state changes, and with it all that is counted."""
        went, waited = ((state == kind) - (ticket.state == kind) for kind in ("going", "waiting"))
        for owner in ticket.owners:
            share = self._shares.setdefault(owner, _Share(next(self._turns)))
            share.n_going += went
            share.n_waiting += waited
            if went:
                share.since = next(self._turns)
            if not share.n_going and not share.n_waiting:
                del self._shares[owner]
        self._n_going += went
        if waited:
            (self._waiting.append if waited > 0 else self._waiting.remove)(ticket)
        ticket.state, self._places = state, None

    def _ordered(self) -> dict[Ticket, int]:
        """Who waits, the next one first, with the place in the line."""
        if self._places is None:
            tickets = self._waiting
            for whose in (1, 0):  # sessions take turns at an address, and addresses in the line
                ahead: Counter[tuple[str, ...]] = Counter()
                ranked = []
                for ticket in tickets:
                    owner = ticket.owners[whose]
                    share = self._shares[owner]
                    ranked.append((share.n_going + ahead[owner], share.since, ticket))
                    ahead[owner] += 1
                tickets = [ticket for _, _, ticket in sorted(ranked, key=lambda entry: entry[:2])]
            self._places = {ticket: place for place, ticket in enumerate(tickets, start=1)}
        return self._places

    def _let_go(self) -> list[Ticket]:
        """Gives free places away; returns whose turn has come."""
        gone: list[Ticket] = []
        while self._n_going < self.n_places:
            # A session of which one is going waits for that.
            ticket = next((one for one in self._ordered() if not self._shares[one.owners[1]].n_going), None)
            if ticket is None:
                break
            self._become(ticket, "going")
            ticket.went_at = self._clock()
            gone.append(ticket)
        return gone
