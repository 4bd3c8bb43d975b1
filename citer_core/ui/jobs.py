"""`JobLine`: the longer computations that are no runs (labels, roll-outs, probes), a few at a time, each in a thread;
`Lines`: where visitors of one server wait, one line for runs and one for these.

Waiting and listening take no thread. What a job writes comes to its page as it is written; a page that goes away ends
its job at its next step. Knows no models but that there is an engine.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from starlette.concurrency import run_in_threadpool

from citer_core.config import AppConfig
from citer_core.errors import LineFullError, SettingError
from citer_core.serving.line import LOST, Ticket, WaitingLine
from citer_core.serving.wake import Wake
from citer_core.ui.asking import Answers, Visitor
from citer_core.ui.messages import Message, notice, place_notice
from citer_core.ui.pair.engine_slot import EngineSlot

if TYPE_CHECKING:
    from citer_core.engine import Engine


JOB_CAPACITY = 300


@dataclass(frozen=True, slots=True)
class Lines:
    """Each offers `n_running()` and `n_waiting()`.

    Attributes:
        runs: Generate, branches and `/route_trace`.
        jobs: labels, roll-outs and probes.
    """

    runs: WaitingLine
    jobs: WaitingLine

    def n_running(self) -> int:
        """How many compute now, in both."""
        return self.runs.n_running() + self.jobs.n_running()

    def n_waiting(self) -> int:
        """How many wait, in both."""
        return self.runs.n_waiting() + self.jobs.n_waiting()

    @classmethod
    def of(cls, config: AppConfig) -> Lines:
        """As many places as the process is set up for."""
        return cls(
            runs=WaitingLine(config.n_concurrent_runs, "runs", capacity=config.n_queued_runs),
            jobs=WaitingLine(config.n_jobs, "jobs", capacity=JOB_CAPACITY, per_session=2),
        )


SOON_S, EVERY_S = 0.3, 2.0

WAIT_S = 0.25  # for the models, before it is said that they are loading

LOADING = "The models are still loading: try again in a moment."

Steps = Iterator[Message | str]

IsEnded = Callable[[], bool]  # asked between steps: whether the rest is unwanted

Asked = TypeVar("Asked")


class JobLine:
    """Jobs over a waiting line.

    Args:
        line: whose turn it is.
        slot: of the engine that they compute with.
    """

    def __init__(self, line: WaitingLine, slot: EngineSlot) -> None:
        self._line, self._slot = line, slot

    def answers(
        self, read: Callable[[bytes], Asked], work: Callable[[Asked, Engine, IsEnded], Steps], *, loading: str = ""
    ) -> Answers:
        """A job for each time that it is asked for.

        Args:
            read: makes of what was asked, in a thread, what `work` is given.
            work, loading: see `run`.
        """

        async def answers(body: bytes, visitor: Visitor) -> AsyncIterator[Message | str]:
            asked = await run_in_threadpool(read, body)
            steps = self.run(partial(work, asked), visitor.tab, visitor.address, loading=loading)
            async with aclosing(steps) as messages:
                async for message in messages:
                    yield message

        return answers

    async def run(
        self, work: Callable[[Engine, IsEnded], Steps], session: str, address: str, *, loading: str = ""
    ) -> AsyncGenerator[Message | str, None]:
        """Its places in the line, and then what `work` gives.

        Args:
            work: computes in a thread; what it raises is raised here.
            session, address: whose it is, for the line.
            loading: what is said while the models are loaded; with nothing to say, it does not wait for them.

        Raises:
            LineFullError: see `WaitingLine.join`.
            SettingError: there are no models yet.
            CiterError: they could not be loaded; see `work`.
        """
        wake, is_ended = Wake(), threading.Event()
        ticket = self._line.join(session, address, on_change=wake)
        going: _Job | None = None
        try:
            pause = SOON_S
            while not ticket.is_going:
                if ticket.state == "lost":
                    raise LineFullError(LOST)
                if not await wake.wait(pause):
                    pause = EVERY_S
                    yield place_notice(ticket.place, ticket.expected_s)
            going = _Job(self._messages(work, loading, is_ended.is_set), ticket, wake, is_ended)
            while True:
                has_ended = going.has_ended  # before what it wrote: then that is all
                for message in going.take():
                    yield message
                if has_ended:
                    return
                await wake.wait(EVERY_S)
        finally:
            is_ended.set()
            if going is None:
                ticket.leave()

    def _messages(
        self, work: Callable[[Engine, IsEnded], Steps], loading: str, is_ended: IsEnded
    ) -> Generator[Message | str, None, None]:
        with self._slot.lease() as lease:
            while (engine := lease.wait(WAIT_S)) is None:
                if not loading:
                    raise SettingError(LOADING)
                if is_ended():
                    return
                yield notice(loading, "wait")
            yield from work(engine, is_ended)


class _Job:
    """One computation in its thread; it gives its place back when it has really ended."""

    def __init__(
        self, messages: Generator[Message | str, None, None], ticket: Ticket, wake: Wake, is_ended: threading.Event
    ) -> None:
        self._ticket, self._wake, self._is_ended = ticket, wake, is_ended
        self._written: list[Message | str] = []
        self._lock = threading.Lock()
        self._error: BaseException | None = None
        self.has_ended = False
        threading.Thread(target=self._compute, args=(messages,), name="job", daemon=True).start()

    def take(self) -> list[Message | str]:
        """What was written since the last call; raises what the work raised."""
        with self._lock:
            written, self._written = self._written, []
        error = self._error
        if not written and error is not None:
            self._error = None  # its frames hold the engine
            raise error
        return written

    def _compute(self, messages: Generator[Message | str, None, None]) -> None:
        try:
            with contextlib.closing(messages):  # which gives the engine back
                for item in messages:
                    with self._lock:
                        self._written.append(item)
                    self._wake()
                    if self._is_ended.is_set():
                        break
        except BaseException as error:
            self._error = error
        finally:
            self._ticket.leave()
            self.has_ended = True
            self._wake()
