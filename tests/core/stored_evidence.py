"""Parts of the evidence with made-up answers, whose numbers are known."""

from __future__ import annotations

import random
from dataclasses import asdict

from citer_core.cost import QWEN2_1_5B, QWEN2_72B
from citer_core.evidence.plan import EvidencePlan
from citer_core.evidence.statistics import pack
from citer_core.evidence.stored import StoredPart, plan_numbers
from citer_core.workload import Passes, Workload

N = 40
# Right answers of N, per router and share.
RIGHT = {
    ("always-slm", None): 16,
    ("always-llm", None): 38,
    ("decisive", None): 39,
    ("citer-1", 0.05): 20,
    ("citer-1", 0.1): 24,
    ("citer-2", 0.05): 26,
    ("citer-2", 0.1): 30,
    ("max-probability", 0.05): 22,
    ("max-probability", 0.1): 36,
}


def point(router, share, n_right, seed=None):
    order = list(range(N))
    random.Random(0).shuffle(order)
    chosen = set(order[:n_right])
    n_llm = {"always-llm": 1000, "decisive": 15}.get(router, round(1000 * (share or 0)))
    work = Workload(1000, Passes(1000, 1400, 90000, 90000.0), Passes(n_llm, n_llm, 90 * n_llm, 90.0 * n_llm))
    return {
        "router": router,
        "label": router.capitalize(),
        "revision": "",
        "seed": seed,
        "is_shipped": router == "max-probability",
        "n_params": 100 if seed is not None else 0,
        "share_wanted": share,
        "threshold": {"always-slm": 0.0, "always-llm": 1.0}.get(router, 0.5),
        "right": pack([i in chosen for i in range(N)]),
        "n_tokens": 1000,
        "n_llm_tokens": n_llm,
        "n_cut": 1,
        "seconds": 2.0,
        "llm_seconds": 1.5,
        "work": asdict(Workload(1000, work.slm, work.llm, Passes(1000, 1400, 90000, 90000.0))),
        "by_length": [(250, n_llm // 4)] * 4,
    }


def accuracy_part(**changes):
    entry = {
        "n": N,
        "n_tuning": 10,
        "length_of": "0123" * (N // 4),
        "length_bounds": [20, 30, 40],
        "points": [
            point(router, share, n_right, 0 if router.startswith("citer") else None)
            for (router, share), n_right in RIGHT.items()
        ],
    }
    return StoredPart(
        **{
            "part": "accuracy",
            "title": "A pair",
            "pair": "embedded",
            "pair_revision": "abc",
            "dtype": "float32",
            "slm": asdict(QWEN2_1_5B),
            "llm": asdict(QWEN2_72B),
            "date": "2026-11-22",
            "hardware": "a processor",
            "command": "python -m citer_core evidence --parts accuracy",
            "code_version": "0.1.0",
            "plan": plan_numbers(EvidencePlan(n_test=N)),
            "seconds": 1.0,
            "content": {"math": entry, "mc": entry},
        }
        | changes
    )
