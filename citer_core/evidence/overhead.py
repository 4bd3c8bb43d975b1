"""What a router and a change of the model cost beside the models' own passes: the part `overhead`.

Measured one token at a time, medians. Knows nothing about problems.
"""

from __future__ import annotations

import statistics
from typing import Any

import torch
from torch import Tensor

from citer_core.cost import ROUTER_BYTES_PER_PARAM
from citer_core.engine import Engine
from citer_core.measuring.device_probe import seconds_of
from citer_core.models.reader import Reader
from citer_core.routing.router import Router, RouterFeatures

N_CACHED = 120
SKIPPED = (0, 1, 3, 7, 15, 31, 63)
N_TIMES = 30


@torch.inference_mode()
def measure_overhead(engine: Engine, n_times: int = N_TIMES) -> dict[str, Any]:
    """The content of the part.

    Args:
        engine: pair and routers; those that read the LLM everywhere are left out.
        n_times: repetitions of each measurement.
    """
    pair = engine.pair
    ids = [1 + i % (pair.vocab_size - 1) for i in range(N_CACHED + max(SKIPPED) + 2)]
    slm = Reader(pair.slm)
    slm.read([ids[:N_CACHED]])
    reading = slm.read([ids[: N_CACHED + 1]])
    routers = []
    for name in engine.router_names:
        router = engine.router(name)
        if router.reads_llm or name.startswith("always"):
            continue

        def ask(router: Router = router) -> Tensor:
            # The softmax that uncertainties are read from belongs to the router that needs it.
            return router.confidence(RouterFeatures(reading.hidden, reading.logits))

        n = router.n_params
        ms = round(1000 * seconds_of(ask, n_times), 4)
        size = {"mb": n * ROUTER_BYTES_PER_PARAM / 1e6, "mflop": 2 * n / 1e6}
        routers.append({"router": name, "n_params": n, "ms": ms, **size})
    llm = Reader(pair.local_llm)
    llm.read([ids[:N_CACHED]])
    again = Reader(pair.local_llm, reuses=False)

    def step_ms(lm: Reader, n_new: int) -> float:
        def measured() -> float:
            if lm is not again:
                lm.truncate(0, N_CACHED)
            return 1000 * lm.read([ids[: N_CACHED + n_new]]).seconds

        measured()  # the first one pays for what is made once
        return round(statistics.median(measured() for _ in range(n_times)), 4)

    return {
        "routers": routers,
        "n_cached": N_CACHED,
        "slm_step_ms": step_ms(slm, 1),
        "llm_step_ms": step_ms(llm, 1),
        "switch": [
            {"n_skipped": n, "kept_ms": step_ms(llm, n + 1), "again_ms": step_ms(again, n + 1)} for n in SKIPPED
        ],
    }
