"""`Measurement`: one quick profile of this device at a time for the whole server; all who ask see the same one.

It takes most of the device for a minute, so no second one may start: who asks meanwhile follows the one that is
going on, and who asks within some minutes gets its result, once. It ends early when the last page that follows it is
gone. Runs and other jobs go on beside it. Knows no models.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator

from citer_core.serving.wake import Wake
from citer_core.ui.messages import Message

KEPT_S = 600.0

KEEP_S = 5.0

EVERY_S = 0.1

MOST_FOLLOWERS = 200

# Steps of a measurement; the argument says whether it should end.
Measure = Callable[[Callable[[], bool]], Iterator[Message]]


class TooManyError(Exception):
    """More follow it than are allowed."""


class Measurement:
    """The measurement that goes on, or was the last.

    Args:
        measure: makes the steps; the last one is the result where it has a "profile".
        of: what is measured; a result of something else is not handed out.
        kept_s: how long a result is handed out again.
    """

    def __init__(self, measure: Measure, of: Callable[[], object], kept_s: float = KEPT_S) -> None:
        self._measure, self._of, self._kept_s = measure, of, kept_s
        self._lock = threading.Lock()
        self._followers: dict[str, Wake] = {}
        self._going: threading.Event | None = None  # set: it should end
        self._thread: threading.Thread | None = None
        self._latest: Message | None = None
        self._number = 0
        self._result: tuple[Message, object, float] | None = None
        self._given_to: set[str] = set()

    def recent(self, session: str) -> tuple[Message, float] | None:
        """A result that is new enough and that this page has not seen, and how many seconds old it is."""
        with self._lock:
            if self._result is None or session in self._given_to:
                return None
            message, of, at = self._result
            age_s = time.monotonic() - at
            if age_s > self._kept_s or of != self._of():
                return None
            self._given_to.add(session)
            return message, age_s

    async def follow(self, session: str) -> AsyncGenerator[Message, None]:
        """Begins one, or joins the one that goes on; its steps as far as a page needs them: the latest one.

        Raises:
            TooManyError: too many follow it.
        """
        wake, shown = Wake(), -1
        self._join(session, wake)
        try:
            while True:
                with self._lock:
                    going, message, number = self._going, self._latest, self._number
                if message is not None and number != shown:
                    shown = number
                    yield message
                if going is None:
                    return
                if self._followers.get(session) is not wake:
                    return  # the same page asked again
                await asyncio.sleep(EVERY_S)  # the latest step is enough
                if not await wake.wait(KEEP_S):
                    shown = -1  # a message is where gradio notices that a page is gone
        finally:
            self._leave(session, wake)

    def _join(self, session: str, wake: Wake) -> None:
        with self._lock:
            if len(self._followers) >= MOST_FOLLOWERS and session not in self._followers:
                raise TooManyError
            before = self._followers.get(session)
            self._followers[session] = wake
            if self._going is None or self._going.is_set():
                self._going, self._latest = threading.Event(), None
                arguments = (self._going, self._thread)
                self._thread = threading.Thread(target=self._work, args=arguments, name="measurement", daemon=True)
                self._thread.start()
        if before is not None:
            before()

    def _leave(self, session: str, wake: Wake) -> None:
        with self._lock:
            if self._followers.get(session) is wake:
                del self._followers[session]
            if not self._followers and self._going is not None:
                self._going.set()

    def _work(self, ended: threading.Event, before: threading.Thread | None) -> None:
        if before is not None:
            before.join()  # it was stopped, and is at its last step
        del before
        of = self._of()
        try:
            for message in self._measure(ended.is_set):
                if "profile" in message:
                    with self._lock:
                        self._result = (message, of, time.monotonic())
                        self._given_to = set(self._followers)
                self._tell(ended, message)
        finally:
            self._tell(ended, None)

    def _tell(self, ended: threading.Event, message: Message | None) -> None:
        """A step, or None at the end."""
        with self._lock:
            if self._going is not ended:
                return  # this one has no followers any more
            if message is None:
                self._going = None
            else:
                self._latest, self._number = message, self._number + 1
            followers = list(self._followers.values())
        for wake in followers:
            wake()
