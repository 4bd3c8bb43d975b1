"""What a router and a change of the model cost beside the models' own passes: the part `overhead`.

Measured one token at a time, medians. Knows nothing about problems.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

from citer_core.cost import ROUTER_BYTES_PER_PARAM
from citer_core.engine import Engine
from citer_core.models.reader import Reader
from citer_core.routing.router import RouterFeatures

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
    features = RouterFeatures(reading.hidden, reading.logits)
    routers = []
    for name in engine.router_names:
        router = engine.router(name)
        if router.reads_llm or name.startswith("always"):
            continue

        def ask(router: Any = router) -> None:
            # The softmax that uncertainties are read from belongs to the router that needs it.
            router.confidence(RouterFeatures(features.hidden, features.logits)).item()

        n = router.n_params
        routers.append(
            {
                "router": name,
                "n_params": n,
                "ms": _median_ms(ask, n_times),
                "mb": n * ROUTER_BYTES_PER_PARAM / 1e6,
                "mflop": 2 * n / 1e6,
            }
        )
    llm = Reader(pair.local_llm)
    llm.read([ids[:N_CACHED]])

    def step(lm: Reader, n_new: int) -> float:
        lm.truncate(0, N_CACHED)
        return lm.read([ids[: N_CACHED + n_new]]).seconds * 1000

    again = Reader(pair.local_llm, reuses=False)

    def kept_ms(n_skipped: int) -> float:
        return _median(lambda: step(llm, n_skipped + 1), n_times)

    def again_ms(n_skipped: int) -> float:
        return _median(lambda: 1000 * again.read([ids[: N_CACHED + n_skipped + 1]]).seconds, n_times)

    return {
        "routers": routers,
        "n_cached": N_CACHED,
        "slm_step_ms": _median(lambda: step(slm, 1), n_times),
        "llm_step_ms": _median(lambda: step(llm, 1), n_times),
        "switch": [{"n_skipped": n, "kept_ms": kept_ms(n), "again_ms": again_ms(n)} for n in SKIPPED],
    }


def _median_ms(work: Callable[[], None], n_times: int) -> float:
    def timed() -> float:
        start = time.perf_counter()
        work()
        return 1000 * (time.perf_counter() - start)

    return _median(timed, n_times)


def _median(measured: Callable[[], float], n_times: int) -> float:
    measured()  # the first one pays for what is made once
    return round(statistics.median(measured() for _ in range(n_times)), 4)
