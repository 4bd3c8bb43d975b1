"""`LabelJobs`: the analyses of the Labels tab by id, for the roll-outs of their tokens, and who asked for them.

A session has one analysis at a time: the next one, or closing the page, cancels it. Bounded, as pages stay open for
weeks. Knows no models.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from citer_core.ui.labels.kept_texts import KeptText

KEPT_JOBS = 512  # those of bundled problems share their texts, so that a job is a few hundred bytes
MOST_BYTES = 24_000_000  # of the texts that are a job's own


@dataclass(eq=False)
class LabelJob:
    """One analysis.

    Attributes:
        session: of the page that asked.
        id: unguessable, and therefore the permission to roll out its tokens.
        texts: grows while it runs.
        is_shared: the texts are not its own but everybody's.
        pair, pair_revision: which read it; set when the models are there.
    """

    session: str
    id: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    texts: Sequence[KeptText] = ()
    is_shared: bool = False
    pair: str = ""
    pair_revision: str = ""
    _cancelled: threading.Event = field(default_factory=threading.Event)
    _told: list[Callable[[], None]] = field(default_factory=list)

    def cancel(self) -> None:
        """Ends it at its next step; from any thread."""
        self._cancelled.set()
        told, self._told = self._told, []  # they hold what a kept job has no more use for
        for callback in told:
            callback()

    def when_cancelled(self, callback: Callable[[], None]) -> None:
        """Has `callback` called when it is cancelled; from any thread."""
        self._told.append(callback)

    def is_cancelled(self) -> bool:
        """Asked between steps."""
        return self._cancelled.is_set()

    @property
    def n_bytes(self) -> int:
        """About what it alone takes in memory."""
        return 0 if self.is_shared else sum(text.n_bytes for text in self.texts)

    def token(self, index: int) -> tuple[KeptText, int] | None:
        """The text and the position in it of token `index` of all texts in order; None where there is none."""
        for text in self.texts:
            if 0 <= index < text.n_tokens:
                return text, index
            index -= text.n_tokens
        return None


class LabelJobs:
    """The latest jobs of all sessions; the oldest make room.

    Args:
        n_kept: jobs at most.
        most_bytes: of all jobs' own texts together.
    """

    def __init__(self, n_kept: int = KEPT_JOBS, most_bytes: int = MOST_BYTES) -> None:
        self._n_kept, self._most_bytes = n_kept, most_bytes
        self._lock = threading.Lock()
        self._jobs: OrderedDict[str, LabelJob] = OrderedDict()

    def begin(self, session: str) -> LabelJob:
        """A new job; those of the same page end."""
        self.cancel_session(session)
        job = LabelJob(session)
        with self._lock:
            self._jobs[job.id] = job
            while len(self._jobs) > self._n_kept:
                self._jobs.popitem(last=False)
            sizes = {kept.id: n_bytes for kept in self._jobs.values() if (n_bytes := kept.n_bytes)}
            for oldest in list(sizes):
                if sum(sizes.values()) <= self._most_bytes:
                    break
                del self._jobs[oldest], sizes[oldest]
        return job

    @contextlib.contextmanager
    def rolling_out(self, session: str) -> Iterator[LabelJob]:
        """A job beside the page's analysis, for as long as it runs."""
        job = LabelJob(session)
        with self._lock:
            self._jobs[job.id] = job
        try:
            yield job
        finally:
            with self._lock:
                self._jobs.pop(job.id, None)

    def get(self, job_id: object) -> LabelJob | None:
        """The job of that id, if it is still kept."""
        with self._lock:
            return self._jobs.get(job_id) if isinstance(job_id, str) else None

    def cancel_session(self, session: str) -> None:
        """Ends a page's jobs; the results of finished ones stay."""
        with self._lock:
            jobs = [job for job in self._jobs.values() if session and job.session == session]
        for job in jobs:
            job.cancel()
