"""Many sequences at once: in batches of a data set, and as runs of visitors who share a decoder. Called by `steps`."""

from __future__ import annotations

from typing import Any

from citer_core.engine import Engine
from citer_core.measuring.pipeline_benchmark import class_benchmark
from citer_core.measuring.report.bench import Case
from citer_core.measuring.report.budget import Turn
from citer_core.measuring.rounds import timed
from citer_core.models.batch import greedy_completions
from citer_core.routing.decode import decode_batch
from citer_core.tasks.problems import problem_from_text

SHARE = 0.2


def measure_batches(case: Case, turn: Turn) -> dict[str, Any]:
    """Tokens per second of batches, routed and by the LLM alone."""
    plan = case.plan
    sizes = (plan.batches[0], *plan.batches)  # the first once more before, not counted
    rows = [_batch(case, size) for size in turn.each(sizes, least=2)]
    return {"dtype": plan.dtype, "asked_share": SHARE, "n_new": plan.n_written, "rows": rows[1:]}


def _batch(case: Case, size: int) -> dict[str, Any]:
    pair, prompts, router, settings = case.pair, case.prompts(size), case.script(SHARE), case.settings
    n_new = settings.max_new_tokens
    routed_s, done = timed(lambda: list(decode_batch(pair, router, prompts, settings, batch_size=size)))
    llm_s, alone = timed(
        lambda: list(
            greedy_completions(pair.local_llm, prompts, eos_ids=frozenset(), max_new_tokens=n_new, batch_size=size)
        )
    )
    n_tokens = sum(len(one.steps) for one in done)
    return {
        "batch_size": size,
        "n_tokens": n_tokens,
        "llm_share": sum(one.n_llm_tokens for one in done) / n_tokens,
        "routed_tokens_per_s": n_tokens / routed_s,
        "llm_tokens_per_s": sum(len(ids) for _, ids in alone) / llm_s,
        "speedup_over_llm": llm_s / routed_s,
    }


def measure_runs(case: Case, turn: Turn) -> dict[str, Any]:
    """Runs of several visitors at once on one device: all of them in one pass, or, with graphs, one after another."""
    router = case.script(SHARE)
    engine = Engine(case.pair, {router.name: router})
    rows = [_at_once(case, engine, n_at_once) for n_at_once in turn.each(case.plan.n_at_once)]
    return {"dtype": case.plan.dtype, "rows": rows}


def _at_once(case: Case, engine: Engine, n_at_once: int) -> dict[str, Any]:
    texts = [" ".join(f"t{token}" for token in prompt) for prompt in case.prompts(n_at_once)]
    found = class_benchmark(
        engine,
        [problem_from_text(text, "open") for text in texts],
        n_sessions=n_at_once,
        n_runs=1,
        max_new_tokens=case.settings.max_new_tokens,
        n_rounds=1,
    )
    return {
        "n_at_once": n_at_once,
        "tokens_per_s": found["n_tokens"] / found["shared_s"] if found["shared_s"] else None,
        "first_token_s": found["first_token_s"],
        "whole_run_s": found["whole_run_s"],
        "n_failed": found["n_failed"],
        "same_tokens_as_batch": found["same_tokens"],
    }
