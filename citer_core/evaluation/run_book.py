"""`RunBook`: what a router writes at any tau, decoded once for all taus that decide alike.

A run at one tau says for which others it would be the same: those that no confidence of it lies between. So the search
for a tau and the points on a curve share most of their runs; and different routers share the texts that they come to
(`memory`). One row of the file per router, problems and tau that was decoded; the rows of a run that was killed
are there again.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from citer_core.decode_settings import Others, in_words
from citer_core.engine import Engine
from citer_core.evaluation.accuracy import Accuracy, OperatingPoint, search_threshold
from citer_core.gate.fields import MAX_NUMBER
from citer_core.routing.memory import Memory
from citer_core.routing.stored import StoredRouter
from citer_core.row_file import RowFile
from citer_core.tasks.problem_set import ProblemSet
from citer_core.tasks.problems import Problem
from citer_core.trace import RoutingTrace
from citer_core.types import DecodeSettings, prefers_llm
from citer_core.workload import Passes, Workload

_PASSES = tuple(field.name for field in fields(Passes))
# Problems of one memory for each that shares a pass, because most of them are on their way through what is known; and
# memories that are kept: those of the tuning problems, which a search for a tau comes back to again and again.
TOGETHER, KEPT_MEMORIES = 2, 4
TOLERANCE, N_STEPS = 0.003, 14  # of a search for a tau: how near is near enough, and the taus that are tried


@dataclass(frozen=True, slots=True)
class KeptRun:
    """One answer.

    Attributes:
        low, high: the run is the same for every tau above `low` and up to `high`, but not at 1; both are 1 at tau = 1.
        is_right, n_tokens, n_llm_tokens: of the answer.
        is_cut: the limit of tokens ended it.
        seconds: in both models and the router, measured; of passes that several answers shared, its part, and a text
            that an earlier answer had come to counts what it took then.
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
        seen = [event.slm_confidence for event in trace.events]
        seen += [token.slm_confidence for event in trace.events for token in event.discarded]
        low, high = bounds_of(seen, trace.settings.threshold)
        return cls(
            low=low,
            high=high,
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


def bounds_of(confidences: Sequence[float], tau: float) -> tuple[float, float]:
    """Between which taus, the first excluded, a run with these confidences is the same; both are 1 at tau = 1."""
    if tau >= 1:
        return 1.0, 1.0
    below = [one for one in confidences if prefers_llm(one, tau)]
    above = [one for one in confidences if not prefers_llm(one, tau)]
    return max(below, default=-1.0), min(above, default=1.0)


class RunBook:
    """All runs of one engine, on disk as they end.

    Args:
        engine: pair and routers.
        path: of the file of rows.
        max_new_tokens, batch_size: of decoding.
        identity: what else decides what is decoded; JSON values.
        shares_texts: whether runs share what they come to. One point alone is faster without it.

    Raises:
        DatasetError: the file is another pair's or cannot be written.
    """

    def __init__(
        self,
        engine: Engine,
        path: Path,
        *,
        max_new_tokens: int,
        batch_size: int,
        identity: Mapping[str, Any] | None = None,
        shares_texts: bool = True,
    ) -> None:
        self.engine = engine
        self._max_new_tokens, self._batch_size = max_new_tokens, batch_size
        self._file = RowFile(path, {"max_new_tokens": max_new_tokens, **(identity or {})}, {"runs": list})
        self._known: dict[tuple[str, str], dict[int, list[KeptRun]]] = defaultdict(lambda: defaultdict(list))
        self._n_together = TOGETHER * batch_size if shares_texts else MAX_NUMBER
        self._shares_texts = shares_texts
        self._memories: OrderedDict[tuple[str, int, int], Memory] = OrderedDict()
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

    def discard(self) -> None:
        """Removes the file: what it was for is done."""
        self._file.discard()

    def runs(self, router: str, asked: ProblemSet, tau: float, others: Others = ()) -> list[KeptRun]:
        """One run of each problem, in their order; those that are not known are decoded."""
        for numbers in self._parts(asked):
            self._decode(router, asked, tau, numbers, others)
        known = self._known[self._key(router, asked, others)]
        return [next(run for run in known[i] if run.is_of(tau)) for i in range(len(asked.problems))]

    def fill(
        self,
        asked: ProblemSet,
        wanted: Sequence[tuple[str, float] | tuple[str, float, Others]],
        tell: Callable[[range, int], None] = lambda *_: None,
    ) -> None:
        """Decodes what is not known of many routers at a tau each: some problems by all of them, then the next ones.

        Args:
            asked: the problems.
            wanted: (router, tau), and other settings if there are any, of each point.
            tell: told which problems are known at how many points; those before them are known at all.
        """
        for numbers in self._parts(asked):
            for n_points, (router, tau, *others) in enumerate(wanted, 1):
                self._decode(router, asked, tau, numbers, *others)
                tell(numbers, n_points)
            self._memories.pop((asked.name, numbers.start, numbers.stop), None)  # it is not used again

    def _parts(self, asked: ProblemSet) -> Iterator[range]:
        """The problems of one memory each."""
        n = len(asked.problems)
        for first in range(0, n, self._n_together):
            yield range(first, min(first + self._n_together, n))

    def _decode(self, router: str, asked: ProblemSet, tau: float, numbers: range, others: Others = ()) -> None:
        """Decodes what is not known of some problems, and keeps it."""
        key = self._key(router, asked, others)
        known = self._known[key]
        missing = [i for i in numbers if not any(run.is_of(tau) for run in known[i])]
        self.n_decoded += len(missing)
        self.n_reused += len(numbers) - len(missing)
        if missing:
            named: dict[str, Any] = {"threshold": tau, "max_new_tokens": self._max_new_tokens, **dict(others)}
            settings = DecodeSettings(**named)
            self._keep(key, tau, missing, self._decoded(router, asked, settings, numbers, missing))

    def _key(self, router: str, asked: ProblemSet, others: Others) -> tuple[str, str]:
        return " ".join([router, self.engine.router(router).revision, *in_words(others)]), asked.name

    def _keep(self, key: tuple[str, str], tau: float, missing: Sequence[int], runs: Mapping[int, KeptRun]) -> None:
        # Two plans of different sizes may ask for other problems of one name.
        row = {
            "id": f"{key[0]} | {key[1]} | {tau!r} | {missing[0]}-{missing[-1]}",
            "key": list(key),
            "runs": [[i, *runs[i].to_row()] for i in missing],
        }
        self._file.append(row)
        self._learn(row)

    def _decoded(
        self, router: str, asked: ProblemSet, settings: DecodeSettings, numbers: range, missing: Sequence[int]
    ) -> dict[int, KeptRun]:
        """Runs of the problems `missing`, which are some of `numbers`."""
        batch = self.engine.run_batch(
            [asked.problems[i] for i in missing],
            router=router,
            settings=settings,
            batch_size=self._batch_size,
            memory=self._memory(asked, numbers) if self._shares_texts else None,
        )
        return {missing[k]: KeptRun.of(trace) for k, trace in batch}

    def _memory(self, asked: ProblemSet, numbers: range) -> Memory:
        """That of some problems; the one that was used least recently makes room."""
        key = asked.name, numbers.start, numbers.stop
        if key not in self._memories:
            if len(self._memories) == KEPT_MEMORIES:
                self._memories.popitem(last=False)
            self._memories[key] = Memory()
        for other, memory in self._memories.items():
            if other != key:
                memory.let_go_of_caches()
        self._memories.move_to_end(key)
        return self._memories[key]

    def _learn(self, row: Mapping[str, Any]) -> None:
        known = self._known[row["key"][0], row["key"][1]]
        for i, *numbers in row["runs"]:
            known[i].append(KeptRun.of_row(numbers))


def share_of(runs: Sequence[KeptRun]) -> float:
    """LLM tokens over all tokens."""
    return sum(run.n_llm_tokens for run in runs) / max(1, sum(run.n_tokens for run in runs))


def operating_points(
    engine: Engine,
    problems: Sequence[Problem],
    router: str,
    thresholds: Iterable[float],
    *,
    max_new_tokens: int = 256,
    batch_size: int = 32,
) -> Iterator[OperatingPoint]:
    """Runs every problem at every threshold, greedily; yields a point as each threshold is done."""
    for threshold in thresholds:
        settings = DecodeSettings(threshold=threshold, max_new_tokens=max_new_tokens)
        traces = engine.run_batch(problems, router=router, settings=settings, batch_size=batch_size)
        runs = {i: KeptRun.of(trace) for i, trace in traces}
        yield point_of(engine, router, threshold, [runs[i] for i in range(len(problems))])


def point_of(engine: Engine, router: str, tau: float, runs: Sequence[KeptRun]) -> OperatingPoint:
    """What the runs of a router at a tau add up to; costs as if each had run alone."""
    info = engine.pair_info
    work = sum((run.work for run in runs), Workload())
    price = work.price(info.slm, info.llm, engine.router(router).n_params)
    right = tuple(run.is_right for run in runs)
    return OperatingPoint(
        threshold=tau,
        accuracy=Accuracy(len(runs), sum(right)),
        n_tokens=work.n_tokens,
        llm_token_share=share_of(runs),
        n_bytes=price.n_bytes,
        flops=price.flops,
        bytes_share=price.n_bytes / price.llm_only_bytes,
        measured_s=sum(run.seconds for run in runs),
        n_cut=sum(run.is_cut for run in runs),
        workload=work,
        right=right,
    )


def threshold_for(
    book: RunBook, router: str, tuning: ProblemSet, share: float, tolerance: float = TOLERANCE, n_steps: int = N_STEPS
) -> float:
    """The tau at which a router gives about a share of the tuning problems' tokens to the LLM, found by decoding."""
    chosen = book.engine.router(router)
    guess = chosen.threshold_at(share) if isinstance(chosen, StoredRouter) else 0.5
    return search_threshold(
        lambda tau: share_of(book.runs(router, tuning, tau)), share, guess, tolerance=tolerance, n_steps=n_steps
    )
