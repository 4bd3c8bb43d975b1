"""What one forward pass takes: SLM, LLM and router, by tokens fed, by context and by the way of decoding.

Called by `order`.
"""

from __future__ import annotations

from typing import Any

from citer_core.cost import ModelSpec
from citer_core.errors import CiterError
from citer_core.measuring.device_probe import pass_times
from citer_core.measuring.profile import small_parts
from citer_core.measuring.report.bench import Bench
from citer_core.measuring.report.budget import Turn
from citer_core.measuring.report.paths import DecodePath
from citer_core.measuring.report.shapes import PairShape
from citer_core.measuring.step_cost import PassTime, fit_step_cost


def measure_passes(bench: Bench, shape: PairShape, path: DecodePath, turn: Turn) -> dict[str, Any]:
    """Milliseconds of passes, and the share of the copy bandwidth that the bytes of each keep busy."""
    pair, plan = bench.shaped(shape, path), bench.plan
    models = {"slm": pair.slm, "llm": pair.local_llm}
    times: dict[str, list[PassTime]] = {}
    n_rounds = 0
    for so_far in pass_times(models, plan.n_new, plan.contexts, plan.n_rounds, n_warm_up=plan.n_warm_up):
        times, n_rounds = so_far, n_rounds + 1
        if turn.is_over():
            break
    router_s, candidates_s = small_parts(pair, bench.router(pair), plan.n_rounds)
    return {
        "pair": shape.name,
        "path": path.name,
        "note": path.note,
        "dtype": plan.dtype,
        "is_replayed": [pair.slm.is_replayed, pair.local_llm.is_replayed],
        "n_rounds": n_rounds,
        "copy_bytes_per_s": bench.bandwidth,
        "slm": _rows(pair.info.slm, times["slm"], bench.bandwidth),
        "llm": _rows(pair.info.llm, times["llm"], bench.bandwidth),
        "router_ms": 1000 * router_s,
        "candidates_ms": 1000 * candidates_s,
    }


def _rows(spec: ModelSpec, times: list[PassTime], bandwidth: float) -> dict[str, Any]:
    rows = [
        {
            "n_new": one.n_new,
            "n_cached": one.n_cached,
            "ms": 1000 * one.seconds,
            "bandwidth_share": spec.forward_bytes(one.n_new, one.n_cached) / one.seconds / bandwidth,
        }
        for one in times
    ]
    try:
        fit = fit_step_cost(times)
    except CiterError:  # too few of them
        return {"name": spec.name, "weight_bytes": spec.weight_bytes, "passes": rows}
    fitted = {
        "fixed_ms": 1000 * fit.fixed_s,
        "ms_per_token": 1000 * fit.per_token_s,
        "ms_per_1000_of_context": 1e6 * fit.per_context_s,
        "error": fit.error,
    }
    return {"name": spec.name, "weight_bytes": spec.weight_bytes, "passes": rows, "fit": fitted}
