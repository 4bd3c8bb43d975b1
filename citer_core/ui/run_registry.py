"""`RunRegistry`: recent runs by id, for the repair of a gap and for Stop; and which browser session started them.

Bounded, because a page can be left open for weeks. Knows a run only by its id, its trace and that it can be cancelled.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from citer_core.run import Run

KEPT_RUNS = 64


class HasSession(Protocol):
    """What we need of a `gr.Request`."""

    session_hash: str | None


def session_of(request: HasSession | None) -> str:
    """The browser session of a request; "" where it has none, as in a direct call."""
    return (request.session_hash or "") if request is not None else ""


class RunRegistry:
    """The latest runs of all sessions; an id is unguessable and therefore the permission to see the run."""

    def __init__(self, n_kept: int = KEPT_RUNS) -> None:
        self._n_kept = n_kept
        self._lock = threading.Lock()
        self._runs: OrderedDict[str, tuple[Run, str]] = OrderedDict()

    def add(self, run: Run, session: str) -> None:
        """Keeps `run` for `session`; the oldest finished run makes room, a live one never does."""
        with self._lock:
            self._runs[run.id] = (run, session)
            ended = [key for key, (kept, _) in self._runs.items() if kept.finish_reason is not None]
            for key in ended[: max(0, len(self._runs) - self._n_kept)]:
                del self._runs[key]

    def get(self, run_id: str) -> Run | None:
        """The run of that id, if it is still kept."""
        with self._lock:
            entry = self._runs.get(run_id)
        return entry[0] if entry else None

    def cancel_session(self, session: str) -> None:
        """Ends every live run of a session: its page was closed."""
        with self._lock:
            live = [run for run, owner in self._runs.values() if owner == session and run.finish_reason is None]
        for run in live:
            run.cancel()
