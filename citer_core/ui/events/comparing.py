"""A live comparison, which ends at its next token where nobody reads on."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field

from starlette.concurrency import run_in_threadpool

from citer_core.ui.compare.asked import read_comparison
from citer_core.ui.compare.live import compared
from citer_core.ui.events.asking import Answers, Visitor
from citer_core.ui.job_line import JobLine
from citer_core.ui.pair.engine_slot import EngineSlot
from citer_core.ui.problem_book import ProblemBook
from citer_core.ui.streaming import Message


@dataclass(eq=False)
class _Job:
    """One live comparison."""

    _cancelled: threading.Event = field(default_factory=threading.Event)
    _told: list[Callable[[], None]] = field(default_factory=list)

    def cancel(self) -> None:
        """See `Cancellable`."""
        self._cancelled.set()
        for callback in self._told:
            callback()

    def when_cancelled(self, callback: Callable[[], None]) -> None:
        """See `Cancellable`."""
        self._told.append(callback)

    def is_cancelled(self) -> bool:
        """Asked between tokens."""
        return self._cancelled.is_set()


def about_comparing(line: JobLine, slot: EngineSlot, book: ProblemBook) -> Mapping[str, Answers]:
    """What may be asked, by name.

    Args:
        line: where comparisons take turns with other jobs.
        slot: of the engine.
        book: the bundled problems, whose answers are known.
    """

    async def compare(body: bytes, visitor: Visitor) -> AsyncIterator[Message | str]:
        asked = await run_in_threadpool(read_comparison, book, body)
        job = _Job()
        try:
            work = line.run(lambda: compared(slot, asked, job.is_cancelled), visitor.tab, visitor.address, job)
            async with aclosing(work) as messages:
                async for message in messages:
                    yield message
        finally:
            job.cancel()  # does nothing to one that has ended

    return {"compare": compare}
