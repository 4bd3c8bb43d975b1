"""`ProfileJobs`: the measurements that are running, by the page that asked, so that Stop and a closed page end them.

Knows nothing about components or models.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator


class ProfileJobs:
    """One running measurement per page at most; another one ends it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[str, threading.Event] = {}

    @contextlib.contextmanager
    def running(self, session: str) -> Iterator[threading.Event]:
        """An event for as long as the measurement runs; it is set when it should end, at its next step."""
        stopped = threading.Event()
        self.stop(session)
        with self._lock:
            self._running[session] = stopped
        try:
            yield stopped
        finally:
            with self._lock:
                if self._running.get(session) is stopped:
                    del self._running[session]

    def stop(self, session: str) -> None:
        """Ends the measurement of a page, if there is one; from any thread."""
        with self._lock:
            stopped = self._running.get(session)
        if stopped is not None:
            stopped.set()
