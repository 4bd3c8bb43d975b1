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
from collections import OrderedDict
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
        self.state: State = "waiting"
        self.went_at = 0.0
        self._line, self._on_change = line, on_change

    @property
    def is_going(self) -> bool:
        """Whether it may compute."""
        return self.state == "going"

    @property
    def place(self) -> int:
        """1 for the next one; 0 for one that does not wait."""
        return self._line._place(self)

    @property
    def expected_s(self) -> float | None:
        """Seconds until its turn, as far as the latest visitors tell; None while none has been served yet."""
        return self._line._expected_s(self)

    def leave(self) -> None:
        """Frees the place, whether it is going or waiting; more calls do nothing. From any thread."""
        self._line._leave(self)


class _Share:
    """What an address or a session has of the line: how many are going, and since when it waits for its next turn."""

    __slots__ = ("n_going", "since", "waiting")

    def __init__(self, since: int) -> None:
        self.n_going, self.since = 0, since
        self.waiting: list[Ticket] = []  # of a session, oldest first


class _Address(_Share):
    """An address with its sessions."""

    __slots__ = ("sessions",)

    def __init__(self, since: int) -> None:
        super().__init__(since)
        self.sessions: OrderedDict[str, _Share] = OrderedDict()

    def ordered(self) -> list[Ticket]:
        """Who waits at this address, in the order of their turns."""
        ranked = [
            (session.n_going + ahead, session.since, ticket)
            for session in self.sessions.values()
            for ahead, ticket in enumerate(session.waiting)
        ]
        return [ticket for _, _, ticket in sorted(ranked, key=lambda entry: entry[:2])]


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
        self._addresses: OrderedDict[str, _Address] = OrderedDict()
        self._turns = itertools.count()
        self._order: list[Ticket] | None = []  # None: to be made again
        self._places: dict[Ticket, int] = {}
        self._n_going = 0
        self._n_waiting = 0
        self._n_served = 0
        self._served_s: float | None = None

    def n_running(self) -> int:
        """How many compute now."""
        return self._n_going

    def n_waiting(self) -> int:
        """How many wait for their turn."""
        return self._n_waiting

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
            share = self._share(ticket)
            if share.n_going + len(share.waiting) >= self.per_session:
                raise LineFullError(
                    f"{self.per_session} {self.noun} of this page are going or waiting already: wait for one of them "
                    "or stop one, and ask again."
                )
            share.waiting.append(ticket)
            self._n_waiting += 1
            self._order = None
            changed = self._let_go()
            if self._n_waiting > self.capacity:
                last = self._ordered()[-1]
                self._remove(last)
                last.state = "lost"
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

    # ------------------------------------------------------------ those who wait

    def _place(self, ticket: Ticket) -> int:
        with self._lock:
            if ticket.state != "waiting":
                return 0
            self._ordered()
            return self._places[ticket]

    def _expected_s(self, ticket: Ticket) -> float | None:
        with self._lock:
            if ticket.state != "waiting" or self._served_s is None:
                return None if ticket.state == "waiting" else 0.0
            self._ordered()
            by_line = self._places[ticket] * self._served_s / self.n_places
            share = self._share(ticket)
            by_own = (share.n_going + share.waiting.index(ticket)) * self._served_s
            return max(by_line, by_own)

    def _leave(self, ticket: Ticket) -> None:
        with self._lock:
            if ticket.state == "waiting":
                self._remove(ticket)
            elif ticket.state == "going":
                seconds = self._clock() - ticket.went_at
                self._n_served += 1
                known = self._served_s or 0.0
                self._served_s = known + max(NEWEST_PART, 1 / self._n_served) * (seconds - known)
                self._n_going -= 1
                address = self._addresses[ticket.address]
                for share in (address, address.sessions[ticket.session]):
                    share.n_going -= 1
                    share.since = next(self._turns)
                self._tidy(ticket)
                self._order = None
            if ticket.state != "lost":
                ticket.state = "left"
            changed = self._let_go()
        for other in changed:
            other._on_change()

    # ------------------------------------------------------------ with the lock held

    def _share(self, ticket: Ticket) -> _Share:
        """The session's; made where it is new."""
        address = self._addresses.get(ticket.address)
        if address is None:
            address = self._addresses[ticket.address] = _Address(next(self._turns))
        share = address.sessions.get(ticket.session)
        if share is None:
            share = address.sessions[ticket.session] = _Share(next(self._turns))
        return share

    def _remove(self, ticket: Ticket) -> None:
        self._share(ticket).waiting.remove(ticket)
        self._n_waiting -= 1
        self._order = None
        self._tidy(ticket)

    def _tidy(self, ticket: Ticket) -> None:
        """Forgets a session and an address that have nothing any more."""
        address = self._addresses[ticket.address]
        share = address.sessions[ticket.session]
        if not share.waiting and not share.n_going:
            del address.sessions[ticket.session]
        if not address.sessions:
            del self._addresses[ticket.address]

    def _ordered(self) -> list[Ticket]:
        """Who waits, the next one first."""
        if self._order is None:
            ranked = [
                (address.n_going + ahead, address.since, ticket)
                for address in self._addresses.values()
                for ahead, ticket in enumerate(address.ordered())
            ]
            self._order = [ticket for _, _, ticket in sorted(ranked, key=lambda entry: entry[:2])]
            self._places = {ticket: place for place, ticket in enumerate(self._order, start=1)}
        return self._order

    def _let_go(self) -> list[Ticket]:
        """Gives free places away; returns whose turn has come."""
        gone: list[Ticket] = []
        while self._n_going < self.n_places and self._n_waiting:
            ticket = next((one for one in self._ordered() if not self._share(one).n_going), None)
            if ticket is None:
                break  # only sessions wait that have one going
            address = self._addresses[ticket.address]
            share = address.sessions[ticket.session]
            share.waiting.remove(ticket)
            self._n_waiting -= 1
            self._n_going += 1
            for one in (address, share):
                one.n_going += 1
                one.since = next(self._turns)
            ticket.state, ticket.went_at = "going", self._clock()
            self._order = None
            gone.append(ticket)
        return gone
