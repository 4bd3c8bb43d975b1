"""Many sequences at once: in batches of a data set, and as runs of visitors who share one decoder.

Called by `order`.
"""

from __future__ import annotations

import time
from typing import Any

from citer_core.measuring.class_benchmark import class_benchmark
from citer_core.measuring.report.bench import Bench
from citer_core.measuring.report.budget import Turn
from citer_core.measuring.report.paths import DecodePath, paths_for
from citer_core.measuring.report.shapes import prompts_of
from citer_core.models.batch import greedy_completions
from citer_core.routing.decode import decode_batch
from citer_core.tasks.problems import problem_from_text
from citer_core.types import DecodeSettings

SHARE = 0.2
_NO_EOS: frozenset[int] = frozenset()


def measure_batches(bench: Bench, turn: Turn) -> dict[str, Any]:
    """Tokens per second of batches, routed and by the LLM alone, the first pair of the plan."""
    shape, plan = bench.plan.shapes[0], bench.plan
    pair = bench.shaped(shape, paths_for(str(bench.device))[0])
    settings = DecodeSettings(threshold=0.5, max_new_tokens=plan.n_written)
    rows = []
    for number, size in enumerate((plan.batches[0], *plan.batches)):  # the first once more before, not counted
        if number > 1 and turn.is_over():
            break
        prompts = prompts_of(pair, size, plan.n_prompt)
        router = bench.spread(pair, SHARE, plan.n_written)
        start = time.perf_counter()
        done = list(decode_batch(pair, router, prompts, settings, batch_size=size))
        routed_s, start = time.perf_counter() - start, time.perf_counter()
        alone = list(
            greedy_completions(pair.local_llm, prompts, eos_ids=_NO_EOS, max_new_tokens=plan.n_written, batch_size=size)
        )
        llm_s = time.perf_counter() - start
        n_tokens = sum(len(one.steps) for one in done)
        if number:
            rows.append(
                {
                    "batch_size": size,
                    "n_tokens": n_tokens,
                    "llm_share": sum(one.n_llm_tokens for one in done) / n_tokens,
                    "routed_tokens_per_s": n_tokens / routed_s,
                    "llm_tokens_per_s": sum(len(ids) for _, ids in alone) / llm_s,
                    "speedup_over_llm": llm_s / routed_s,
                }
            )
    return {"pair": shape.name, "dtype": plan.dtype, "asked_share": SHARE, "n_new": plan.n_written, "rows": rows}


def measure_runs(bench: Bench, path: DecodePath, turn: Turn) -> dict[str, Any]:
    """Runs of several visitors at once on one device: all of them in one pass, or, with graphs, one after another."""
    shape, plan = bench.plan.shapes[0], bench.plan
    pair = bench.shaped(shape, path)
    engine = bench.engine(pair, bench.spread(pair, SHARE, plan.n_written))
    rows = []
    for number, n_at_once in enumerate(plan.n_at_once):
        if number and turn.is_over():
            break
        problems = [
            problem_from_text(" ".join(f"t{token}" for token in prompt), "open")
            for prompt in prompts_of(pair, n_at_once, plan.n_prompt)
        ]
        found = class_benchmark(
            engine, problems, n_sessions=n_at_once, n_runs=1, max_new_tokens=plan.n_written, n_rounds=1
        )
        rows.append(
            {
                "n_at_once": n_at_once,
                "tokens_per_s": found["n_tokens"] / found["shared_s"] if found["shared_s"] else None,
                "first_token_s": found["first_token_s"],
                "whole_run_s": found["whole_run_s"],
                "n_failed": found["n_failed"],
                "same_tokens_as_batch": found["same_tokens"],
            }
        )
    return {"pair": shape.name, "path": path.name, "note": path.note, "dtype": plan.dtype, "rows": rows}
