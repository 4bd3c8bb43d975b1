"""A class at once: many small runs submitted together to one `SharedDecoder`, beside `run_batch` over the same.

Both in one process and in turns, because a shared machine wanders. Says whether both wrote the same texts. Knows
nothing about pages: gradio and the network come on top. Called by `bench --what class`.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from citer_core.engine import Engine
from citer_core.measuring.pipeline_benchmark import about
from citer_core.run import Run
from citer_core.serving.shared_decoder import SharedDecoder
from citer_core.system_memory import resident_bytes
from citer_core.tasks.problems import Problem
from citer_core.types import DecodeSettings

LONGEST_S = 600.0  # for one run


@dataclass(slots=True)
class _Watch:
    """When a run was submitted, had its first token and ended."""

    run: Run
    submitted_s: float = 0.0
    first_s: float | None = None
    ended_s: float | None = None

    def changed(self) -> None:
        now = time.perf_counter()
        if self.run.finish_reason is not None:
            self.ended_s = now
        elif self.first_s is None:
            self.first_s = now


def class_benchmark(
    engine: Engine,
    problems: Sequence[Problem],
    *,
    n_sessions: int = 50,
    n_runs: int = 5,
    threshold: float | None = None,
    max_new_tokens: int = 150,
    n_slots: int = 32,
    batch_size: int = 16,
    n_rounds: int = 3,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Wall time of `n_sessions` x `n_runs` runs at once, beside the same ones as `route` decodes a data set.

    Args:
        engine: pair and router.
        problems: at least one; they come again where there are fewer than runs.
        n_sessions, n_runs: size of the class. Every session's runs are submitted before the first of them ends.
        threshold: tau; None takes what the router recommends.
        max_new_tokens: of each run.
        n_slots: of the decoder.
        batch_size: of `run_batch`.
        n_rounds: each way is measured so often, in turns, after a round that is not counted; medians are given.
        tell: told what each round came to.

    Returns:
        Wall seconds of both ways and their ratio, round by round the smallest and the largest, p50 and p95 of the wait
        for the first token and for the end in the shared decoder, its resident memory, and whether texts were the same.
    """
    tau = engine.default_threshold() if threshold is None else threshold
    settings = DecodeSettings(threshold=tau, max_new_tokens=max_new_tokens)
    asked = [problems[number % len(problems)] for number in range(n_sessions * n_runs)]
    decoder = SharedDecoder(engine, n_slots=n_slots)
    shared_s, batch_s, watched = list[float](), list[float](), list[_Watch]()
    same, n_tokens = True, 0
    try:
        for round_number in range(n_rounds + 1):
            start = time.perf_counter()
            traces = dict(engine.run_batch(asked, settings=settings, batch_size=batch_size))
            batched = time.perf_counter() - start
            watches = _together(decoder, [engine.start(problem, settings=settings) for problem in asked])
            ids = [[event.token_id for event in watch.run.events_since(0)] for watch in watches]
            same = same and all([e.token_id for e in traces[i].events] == own for i, own in enumerate(ids))
            if round_number == 0:
                continue
            n_tokens = sum(map(len, ids))
            batch_s.append(batched)
            shared_s.append(max(watch.ended_s or 0.0 for watch in watches) - watches[0].submitted_s)
            watched += watches
            tell(f"round {round_number} of {n_rounds}: shared {shared_s[-1]:.2f} s, run_batch {batched:.2f} s")
    finally:
        decoder.close()
    ratios = [ours / theirs for ours, theirs in zip(shared_s, batch_s, strict=True)]
    first = [watch.first_s - watch.submitted_s for watch in watched if watch.first_s is not None]
    whole = [watch.ended_s - watch.submitted_s for watch in watched if watch.ended_s is not None]
    resident = resident_bytes()
    return about(engine.pair, "python -m citer_core bench --what class") | {
        "router": engine.default_router,
        "threshold": tau,
        "n_sessions": n_sessions,
        "n_runs_each": n_runs,
        "n_tokens": n_tokens,
        "max_new_tokens": max_new_tokens,
        "n_slots": n_slots,
        "batch_size": batch_size,
        "n_rounds": n_rounds,
        "shared_s": round(statistics.median(shared_s), 2),
        "run_batch_s": round(statistics.median(batch_s), 2),
        "ratio": round(statistics.median(ratios), 2),
        "ratio_range": [round(min(ratios), 2), round(max(ratios), 2)],
        "first_token_s": _spread(first),
        "whole_run_s": _spread(whole),
        "resident_mb": None if resident is None else round(resident / 1e6),
        "n_failed": sum(watch.run.finish_reason not in ("eos", "length") for watch in watched),
        "same_tokens": same,
    }


def _together(decoder: SharedDecoder, runs: Sequence[Run]) -> list[_Watch]:
    """Submits all of them at once and waits for the last."""
    watches = [_Watch(run) for run in runs]
    for watch in watches:
        watch.run.on_change(watch.changed)
    for watch in watches:
        watch.submitted_s = time.perf_counter()
        decoder.submit(watch.run)
    for watch in watches:
        watch.run.wait(watch.run.settings.max_new_tokens, LONGEST_S)  # more than it can have: it waits for the end
    while any(watch.ended_s is None for watch in watches):  # the last are told of their end
        time.sleep(0.001)
    return watches


def _spread(seconds: Sequence[float]) -> dict[str, float]:
    ordered = sorted(seconds)
    return {
        name: round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 3)
        for name, share in (("p50", 0.5), ("p95", 0.95), ("max", 1.0))
    }
