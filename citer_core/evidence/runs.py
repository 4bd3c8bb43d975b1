"""`RunBook`: what a router writes at any tau, decoded once for all taus that decide alike.

A run at one tau says for which others it would be the same: those that no confidence of it lies between. So the search
for a tau and the points on a curve share most of their runs. One row of the file per router, problems and tau that was
decoded; the rows of a run that was killed are there again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from citer_core.engine import Engine
from citer_core.evidence.plan import EvidencePlan, ProblemSet
from citer_core.evidence.statistics import pack
from citer_core.row_file import RowFile
from citer_core.trace import RoutingTrace
from citer_core.types import DecodeSettings, prefers_llm
from citer_core.workload import Passes, Workload

_PASSES = tuple(field.name for field in fields(Passes))


@dataclass(frozen=True, slots=True)
class KeptRun:
    """One answer.

    Attributes:
        low, high: the run is the same for every tau above `low` and up to `high`, but not at 1; both are 1 at tau = 1.
        is_right, n_tokens, n_llm_tokens: of the answer.
        is_cut: the limit of tokens ended it.
        seconds: in both models and the router, measured; of passes that several answers shared, its part.
        llm_seconds: those in the LLM.
        work: its passes.
    """

    low: float
    high: float
    is_right: bool
    n_tokens: int
    n_llm_tokens: int
    is_cut: bool
    seconds: float
    llm_seconds: float
    work: Workload

    @classmethod
    def of(cls, trace: RoutingTrace) -> Self:
        """What is kept of a trace."""
        tau = trace.settings.threshold
        below = [e.slm_confidence for e in trace.events if prefers_llm(e.slm_confidence, tau)]
        above = [e.slm_confidence for e in trace.events if not prefers_llm(e.slm_confidence, tau)]
        return cls(
            low=1.0 if tau >= 1 else max(below, default=-1.0),
            high=1.0 if tau >= 1 else min(above, default=1.0),
            is_right=bool(trace.answer and trace.answer.is_correct),
            n_tokens=trace.n_tokens,
            n_llm_tokens=trace.n_llm_tokens,
            is_cut=trace.finish_reason == "length",
            seconds=trace.measured_s,
            llm_seconds=sum(event.llm_s for event in trace.events),
            work=Workload.of(trace.events),
        )

    def is_of(self, tau: float) -> bool:
        """Whether a run at `tau` would be this one."""
        return self.low == self.high == 1.0 if tau >= 1 else self.low < tau <= self.high

    def to_row(self) -> list[float]:
        """Plain numbers, as few as there are."""
        passes = [getattr(part, name) for part in (self.work.slm, self.work.llm, self.work.alone) for name in _PASSES]
        return [
            self.low, self.high, int(self.is_right), self.n_tokens, self.n_llm_tokens, int(self.is_cut),
            round(self.seconds, 6), round(self.llm_seconds, 6), *passes,
        ]  # fmt: skip

    @classmethod
    def of_row(cls, row: list[Any]) -> Self:
        """Reads `to_row` back."""
        low, high, is_right, n_tokens, n_llm, is_cut, seconds, llm_seconds, *passes = row
        k = len(_PASSES)
        work = Workload(n_tokens, *(Passes(*passes[i * k : (i + 1) * k]) for i in range(3)))
        return cls(low, high, bool(is_right), n_tokens, n_llm, bool(is_cut), seconds, llm_seconds, work)


class RunBook:
    """All runs of one engine, on disk as they end.

    Args:
        engine: pair and routers.
        path: of the file of rows.
        plan: how is decoded.

    Raises:
        DatasetError: the file is another pair's or cannot be written.
    """

    def __init__(self, engine: Engine, path: Path, plan: EvidencePlan) -> None:
        self.engine = engine
        self._plan = plan
        self._file = RowFile(path, {"max_new_tokens": plan.max_new_tokens}, {"runs": list})
        self._known: dict[tuple[str, str], dict[int, list[KeptRun]]] = defaultdict(lambda: defaultdict(list))
        self.n_decoded = self.n_reused = 0
        try:
            self._file.bind({"pair_revision": engine.pair_info.revision})
        except BaseException:
            self.close()
            raise
        for row in self._file.rows.values():
            self._learn(row)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the file."""
        self._file.__exit__(None, None, None)

    def runs(self, router: str, asked: ProblemSet, tau: float) -> list[KeptRun]:
        """One run of each problem, in their order; those that are not known are decoded."""
        key = (f"{router} {self.engine.router(router).revision}", asked.name)
        known = self._known[key]
        found = {i: next((run for run in known[i] if run.is_of(tau)), None) for i in range(len(asked.problems))}
        missing = [i for i, run in found.items() if run is None]
        self.n_decoded += len(missing)
        self.n_reused += len(found) - len(missing)
        if missing:
            settings = DecodeSettings(threshold=tau, max_new_tokens=self._plan.max_new_tokens)
            batch = self.engine.run_batch(
                [asked.problems[i] for i in missing],
                router=router,
                settings=settings,
                batch_size=self._plan.batch_size,
            )
            rows = {missing[k]: KeptRun.of(trace).to_row() for k, trace in batch}
            # Two plans of different sizes may ask for other problems of one name.
            row = {
                "id": f"{key[0]} | {key[1]} | {tau!r} | {missing[0]}-{missing[-1]}",
                "key": list(key),
                "runs": [[i, *rows[i]] for i in missing],
            }
            self._file.append(row)
            self._learn(row)
            found |= {i: next(run for run in known[i] if run.is_of(tau)) for i in missing}
        return [run for run in found.values() if run is not None]

    def _learn(self, row: Mapping[str, Any]) -> None:
        known = self._known[row["key"][0], row["key"][1]]
        for i, *numbers in row["runs"]:
            known[i].append(KeptRun.of_row(numbers))


def share_of(runs: list[KeptRun]) -> float:
    """LLM tokens over all tokens."""
    return sum(run.n_llm_tokens for run in runs) / max(1, sum(run.n_tokens for run in runs))


def tally(runs: Sequence[KeptRun]) -> dict[str, Any]:
    """What the stored parts say of a set of answers: which are right, tokens, cut ones, measured seconds, passes."""
    return {
        "right": pack([run.is_right for run in runs]),
        "n_tokens": sum(run.n_tokens for run in runs),
        "n_cut": sum(run.is_cut for run in runs),
        "seconds": round(sum(run.seconds for run in runs), 3),
        "llm_seconds": round(sum(run.llm_seconds for run in runs), 3),
        "work": work_of(runs),
    }


def work_of(runs: Sequence[KeptRun]) -> dict[str, Any]:
    """The passes of all runs, as `Workload.to_dict` gives them."""
    return asdict(sum((run.work for run in runs), Workload()))
