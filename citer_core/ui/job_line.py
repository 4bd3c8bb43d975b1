"""`JobLine`: the longer computations that are no runs (labels, roll-outs, probes), a few at a time, each in a thread.

Whoever waits or listens has no thread. What a job writes comes to its page as it is written; a page that goes away ends
its job at its next step. Knows no models.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import Generic, Protocol, TypeVar

from citer_core.errors import LineFullError
from citer_core.serving.line import LOST, Ticket, WaitingLine
from citer_core.serving.wake import Wake
from citer_core.ui.streaming import Message, place_notice

SOON_S, EVERY_S = 0.3, 2.0
Item = TypeVar("Item")


class Cancellable(Protocol):
    """What we need of a job."""

    def cancel(self) -> None:
        """Ends it at its next step."""

    def when_cancelled(self, callback: Callable[[], None]) -> None:
        """Has `callback` called then."""


class JobLine:
    """Jobs over a waiting line."""

    def __init__(self, line: WaitingLine) -> None:
        self.line = line

    async def run(
        self, work: Callable[[], Iterator[Message | str]], session: str, address: str, job: Cancellable | None = None
    ) -> AsyncGenerator[Message | str, None]:
        """Its places in the line, and then what `work` gives.

        Args:
            work: computes in a thread; what it raises is raised here.
            session, address: whose it is, for the line.
            job: cancelled where nobody wants the rest any more, which should make `work` end; where it is cancelled
                before its turn, it leaves the line at once.

        Raises:
            LineFullError: see `WaitingLine.join`.
        """
        wake = Wake()
        ticket = self.line.join(session, address, on_change=wake)
        going: _Job[Message | str] | None = None

        def leave_early() -> None:
            if not ticket.is_going:
                ticket.leave()
                wake()

        if job is not None:
            job.when_cancelled(leave_early)
        try:
            pause = SOON_S
            while not ticket.is_going:
                if ticket.state == "lost":
                    raise LineFullError(LOST)
                if ticket.state == "left":
                    return
                if not await wake.wait(pause):
                    pause = EVERY_S
                    yield place_notice(ticket.place, ticket.expected_s)
            going = _Job(work, ticket, wake)
            while True:
                has_ended = going.has_ended  # before what it wrote: then that is all
                for message in going.take():
                    yield message
                if has_ended:
                    return
                await wake.wait(EVERY_S)
        finally:
            if going is None:
                ticket.leave()
            elif not going.has_ended:
                going.is_wanted = False
                if job is not None:
                    job.cancel()


class _Job(Generic[Item]):
    """One computation in its thread; it gives its place back when it has really ended."""

    def __init__(self, work: Callable[[], Iterator[Item]], ticket: Ticket, wake: Wake) -> None:
        self._work, self._ticket, self._wake = work, ticket, wake
        self._written: list[Item] = []
        self._lock = threading.Lock()
        self._error: BaseException | None = None
        self.has_ended = False
        self.is_wanted = True
        threading.Thread(target=self._compute, name="job", daemon=True).start()

    def take(self) -> list[Item]:
        """What was written since the last call; raises what the work raised."""
        with self._lock:
            written, self._written = self._written, []
        error = self._error
        if not written and error is not None:
            self._error = None  # its frames hold the engine
            raise error
        return written

    def _compute(self) -> None:
        try:
            for item in self._work():
                with self._lock:
                    self._written.append(item)
                self._wake()
                if not self.is_wanted:
                    break
        except BaseException as error:
            self._error = error
        finally:
            self._ticket.leave()
            self.has_ended = True
            self._wake()
