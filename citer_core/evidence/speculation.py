"""Speculative decoding beside routing: the part `speculative`.

Every problem of the test is answered by it once; and some of them one after another in every way, because seconds are
comparable only where no answers share a pass. Knows nothing about training.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from citer_core.decode_settings import Others
from citer_core.engine import Engine
from citer_core.evaluation.run_book import KeptRun
from citer_core.evidence.accuracy import WHOLE, tally
from citer_core.evidence.plan import EvidencePlan
from citer_core.row_file import RowFile
from citer_core.speculation import SpeculativePass
from citer_core.tasks.problem_set import ProblemSet
from citer_core.tasks.problems import Problem
from citer_core.types import DecodeSettings, WithResult
from citer_core.workload import Passes, Workload

TimedWay = tuple[str, float, Others]
DraftedRun = tuple[KeptRun, int, int]  # one answer, and how many tokens were drafted for it and kept
SPECULATIVE, LABEL = "speculative", "Speculative decoding"


def workload_of(passes: Sequence[SpeculativePass], n_prompt: int) -> Workload:
    """The passes behind one text, as `Workload.of` has those of a routed one."""
    slm = [(n_fed, one.context_len + n_before) for one in passes for n_before, n_fed in enumerate(one.slm_tokens_fed)]
    llm = [(one.llm_tokens_fed, one.context_len + len(one.drafted)) for one in passes]
    n_tokens = sum(len(one.token_ids) for one in passes)
    alone = [(1 if i else n_prompt, n_prompt + i) for i in range(n_tokens)]
    return Workload(n_tokens, Passes.of(slm), Passes.of(llm), Passes.of(alone))


def speculate(engine: Engine, problem: Problem, max_new_tokens: int) -> DraftedRun:
    """Answers one problem; LLM tokens are those that the SLM had not drafted."""
    for _ in (steps := WithResult(engine.speculate(problem, max_new_tokens=max_new_tokens))):
        pass
    trace = steps.result
    llm_seconds = sum(one.llm_s for one in trace.passes)
    run = KeptRun(
        low=0.0,
        high=0.0,
        is_right=bool(trace.answer and trace.answer.is_correct),
        n_tokens=len(trace.token_ids),
        n_llm_tokens=len(trace.token_ids) - trace.n_accepted,
        is_cut=trace.finish_reason == "length",
        seconds=llm_seconds + sum(one.slm_s for one in trace.passes),
        llm_seconds=llm_seconds,
        work=workload_of(trace.passes, trace.prompt.n_tokens),
    )
    return run, trace.n_drafted, trace.n_accepted


def speculated(
    engine: Engine, asked: ProblemSet, path: Path, plan: EvidencePlan, say: Callable[[str], None] = lambda _: None
) -> list[DraftedRun]:
    """One answer per problem, in order; those that are in the file are not written again.

    Raises:
        DatasetError: the file is another pair's or cannot be written.
    """
    kinds = {"run": list, "n_drafted": int, "n_accepted": int}
    with RowFile(path, {"max_new_tokens": plan.max_new_tokens, "problems": asked.name}, kinds) as file:
        file.bind({"pair_revision": engine.pair_info.revision})
        for i, problem in enumerate(asked.problems):
            if str(i) not in file.rows:
                run, n_drafted, n_accepted = speculate(engine, problem, plan.max_new_tokens)
                file.append({"id": str(i), "run": run.to_row(), "n_drafted": n_drafted, "n_accepted": n_accepted})
            if (i + 1) % 100 == 0:
                say(f"{asked.name}: {i + 1} of {len(asked.problems)} answers by speculative decoding")
        rows = [file.rows[str(i)] for i in range(len(asked.problems))]
    return [(KeptRun.of_row(row["run"]), row["n_drafted"], row["n_accepted"]) for row in rows]


def described(runs: Sequence[DraftedRun]) -> dict[str, Any]:
    """All answers of one format, as the stored part has them."""
    drafted = {"n_drafted": sum(n for _, n, _ in runs), "n_accepted": sum(n for _, _, n in runs)}
    return drafted | tally([run for run, _, _ in runs], ("n", *WHOLE))


def one_by_one(
    engine: Engine, problems: Sequence[Problem], ways: Sequence[TimedWay], plan: EvidencePlan
) -> list[dict[str, Any]]:
    """Rows of seconds: each problem answered alone in every way, one way after another, so that all have the same luck.

    Args:
        engine: with the routers of `ways`.
        problems: some of a format.
        ways: router, tau and other settings of each that is timed beside speculative decoding; `always-slm` and
            `always-llm` stand for either model alone.
        plan: how is decoded.
    """
    runs: dict[tuple[str, float | None, Others], list[KeptRun]] = {way: [] for way in ((SPECULATIVE, None, ()), *ways)}
    for problem in problems:
        for way, made in runs.items():
            made.append(_answered(engine, problem, *way, plan))
    return [
        {
            "router": name,
            "threshold": tau,
            **({"settings": dict(others)} if others else {}),
            **tally(made, ("n", "n_right", "n_tokens", "n_llm_tokens", "seconds", "llm_seconds")),
        }
        for (name, tau, others), made in runs.items()
    ]


def _answered(
    engine: Engine, problem: Problem, name: str, tau: float | None, others: Others, plan: EvidencePlan
) -> KeptRun:
    if tau is None:
        return speculate(engine, problem, plan.max_new_tokens)[0]
    named: dict[str, Any] = {"threshold": tau, "max_new_tokens": plan.max_new_tokens, **dict(others)}
    settings = DecodeSettings(**named)
    run = engine.start(problem, router=name, settings=settings)
    for _ in run:
        pass
    return KeptRun.of(run.trace())
