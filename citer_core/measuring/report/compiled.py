"""Does `torch.compile` pay? The step of one token under it, beside what the other ways of decoding take.

Compiling takes minutes, so this comes last. Called by `order`.
"""

from __future__ import annotations

import time
from typing import Any

from citer_core.measuring.device_probe import pass_times
from citer_core.measuring.report.bench import Bench
from citer_core.measuring.report.budget import Turn
from citer_core.measuring.report.paths import compiled_path, paths_for

CONTEXT = 64


def measure_compiled(bench: Bench, _turn: Turn) -> dict[str, Any]:
    """Milliseconds of a pass of one token in each way, and how long it took to make it ready."""
    shape, plan = bench.plan.shapes[0], bench.plan
    rows = []
    for path in (*paths_for(str(bench.device)), compiled_path(str(bench.device))):
        start = time.perf_counter()
        pair = bench.shaped(shape, path)
        made_s, start = time.perf_counter() - start, time.perf_counter()
        models = {"slm": pair.slm, "llm": pair.local_llm}
        *_, times = pass_times(models, (1,), (CONTEXT,), plan.n_rounds, n_warm_up=plan.n_warm_up)
        rows.append(
            {
                "path": path.name,
                "note": path.note,
                "is_replayed": [pair.slm.is_replayed, pair.local_llm.is_replayed],
                "ms": {name: 1000 * one.seconds for name, (one,) in times.items()},
                "made_s": made_s,
                "measured_s": time.perf_counter() - start,
            }
        )
    return {"pair": shape.name, "dtype": plan.dtype, "n_cached": CONTEXT, "rows": rows}
