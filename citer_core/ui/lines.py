"""`Lines`: where visitors of one server wait, one line for runs and one for the longer jobs. Counts for `/healthz`."""

from __future__ import annotations

from dataclasses import dataclass

from citer_core.config import AppConfig
from citer_core.serving.line import WaitingLine

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
