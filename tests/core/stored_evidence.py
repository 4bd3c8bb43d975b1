"""Parts of the evidence with made-up answers, whose numbers are known."""

from __future__ import annotations

import json
import random
from dataclasses import asdict, replace

from citer_core.cost import QWEN2_1_5B, QWEN2_72B
from citer_core.evaluation.metrics import pack
from citer_core.evidence.look_back import grid, rules, ways
from citer_core.evidence.plan import EvidencePlan
from citer_core.evidence.stored import StoredPart, plan_numbers
from citer_core.workload import Passes, Workload

N = 40
# Right answers of N, per router and share.
RIGHT = {
    ("always-slm", None): 16,
    ("always-llm", None): 38,
    ("decisive", None): 39,
    ("citer", 0.05): 20,
    ("citer", 0.1): 24,
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
    return _part("accuracy", {"math": entry, "mc": entry}, **changes)


def _part(name, content, **changes):
    return StoredPart(
        **{
            "part": name,
            "title": "A pair",
            "pair": "embedded",
            "pair_revision": "abc",
            "dtype": "float32",
            "slm": asdict(QWEN2_1_5B),
            "llm": asdict(QWEN2_72B),
            "date": "2026-11-22",
            "hardware": "a processor",
            "command": f"python -m citer_core evidence --parts {name}",
            "code_version": "0.1.0",
            "plan": plan_numbers(EvidencePlan(n_test=N)),
            "seconds": 1.0,
            "content": content,
        }
        | changes
    )


PASSES = {"n_passes": 10, "n_new": 20, "n_context": 400, "n_attended": 300.0}
NOTHING = {"n_passes": 0, "n_new": 0, "n_context": 0, "n_attended": 0.0}


def bits(n_right, n=N):
    return pack([i < n_right for i in range(n)])


def every_part():
    """All parts of one set, by name."""
    branches = {
        **dict.fromkeys(("n_tokens", "n", "n_same_token", "n_undecided"), 0),
        **{f"slm_{a}_llm_{b}": 0 for a in ("right", "wrong") for b in ("right", "wrong")},
    }
    cases = {str(k): branches | {"n_decided": 20, "n_right": n} for k, n in ((1, 20), (2, 15), (3, 10))}
    labels = {
        f"published-{k}": {"n_compared": None if k == 1 else 50, "n_flips": [None, 20, 5][k - 1]} for k in (1, 2, 3)
    }
    flips = {"n_problems": 10, "n_right": 8, "n_tokens": 300, "n_llm_tokens": 30, "router": "citer-2", "threshold": 0.5}
    quarter = {
        "seed": None,
        "share_wanted": None,
        "threshold": 0.5,
        **dict.fromkeys(("by_question", "by_answer"), [(9, 1)] * 4),
    }
    timed = [
        ("speculative", None, 2.0, 1.0), ("always-slm", 0.0, 1.0, 0.0), ("always-llm", 1.0, 9.0, 8.0),
        ("citer-2", 0.5, 3.0, 1.0), ("max-probability", 0.5, 2.5, 1.0),
    ]  # fmt: skip
    work = Workload(
        1000, Passes(1000, 1400, 90000, 90000.0), Passes(50, 1100, 4500, 50000.0), Passes(1000, 1400, 90000, 90000.0)
    )
    drafted = {
        "n": N, "right": bits(38), "n_tokens": 1000, "n_cut": 0, "n_drafted": 1000, "n_accepted": 900,
        "seconds": 5.0, "llm_seconds": 2.0, "work": asdict(work),
        "one_by_one": [
            {"router": name, "threshold": tau, "n": 10, "n_right": 9, "n_tokens": 250, "n_llm_tokens": 25,
             "seconds": seconds, "llm_seconds": llm}
            for name, tau, seconds, llm in timed
        ],
    }  # fmt: skip
    looked = [
        {"router": way.router, "label": way.label, "settings": dict(way.others), "n_params": 0, "n_tokens": 1000,
         "n_llm_tokens": 20, "n_cut": 0, "seconds": 3.0, "llm_seconds": 1.0, "right": bits(37),
         "work": asdict(replace(work, llm=Passes(30, 1100, 2700, 30000.0)))}
        for way in (*ways(), *grid())
    ]  # fmt: skip
    looked_back = {"n": N, "points": looked[: len(ways())], "n_grid": 20, "grid": [
        point | {"right": bits(min(20, k), 20)} for k, point in enumerate(looked[len(ways()) :])
    ]}  # fmt: skip
    ruled = [
        looked[0] | {"label": way.label, "settings": dict(way.others), "threshold": way.tau, "right": bits(20 + k)}
        for k, way in enumerate(rules())
    ]
    truths = {
        "n": N,
        "labels": [
            {"truth": truth, "n_problems": 100, "n_tokens": 6000, "seconds": 20.0} for truth in ("gold", "llm", "walk")
        ],
        "points": [
            {"truth": truth, "n_labelled": size, "seed": seed, "share_wanted": share, "threshold": 0.5,
             "right": bits(n + size // 50), "n_tokens": 1000, "n_llm_tokens": 50}
            for truth, n in (("gold", 30), ("llm", 31), ("walk", 10)) for size in (50, 100) for seed in (0, 1)
            for share in (0.02, 0.05)
        ],
    }  # fmt: skip
    contents = {
        "routers": {
            "cases": {kind: {"n_tokens": 1000, "shares": (0.8, 0.05, 0.15)} for kind in ("math", "mc")},
            "rounds": [
                {"labels": name, "policy": "slm", "threshold": 0.0, "n_rolled_out": 60, "n_prefer_slm": 40, **row}
                for name, row in labels.items()
            ],
            "routers": [
                {"router": f"citer-{k}", "kind": "citer", "labels": f"published-{k}", "seed": 0, "auc": 0.8 + k / 100,
                 "auc_max_probability": 0.7, "ece": 0.01, "validation_loss": 0.1, "n_tokens": 900}
                for k in (1, 2)
            ],
            "outcomes": dict.fromkeys(("both_right", "slm_only", "llm_only", "neither"), 5),
            "seconds": {"label published-1": 10.0},
        },
        "shortcut": {
            kind: {policy: {"threshold": 0.5, "n_examples": 30, "cases": cases} for policy in ("llm", "routed")}
            for kind in ("math", "mc")
        },
        "misjudged": {
            kind: flips | {"to_slm": {"n": 20, "n_lost": 5, "n_won": 0}, "to_llm": {"n": 80, "n_lost": 1, "n_won": 4}}
            for kind in ("math", "mc")
        },
        "transfer": [
            {"router": "citer", "trained_on": of, "tested_on": on, "share_wanted": 0.1, "threshold": 0.5, "n": N,
             "right": bits(30 if of in (on, "both") else 10), "n_tokens": 1000, "n_llm_tokens": 100}
            for on in ("math", "mc") for of in ("both", "math", "mc")
        ],
        "overhead": {
            "routers": [{"router": "citer", "n_params": 10, "ms": 0.04, "mb": 0.1, "mflop": 0.1}],
            "slm_step_ms": 0.8, "llm_step_ms": 2.0, "n_cached": 120,
            "switch": [{"n_skipped": n, "kept_ms": 1.0 + n, "again_ms": 9.0} for n in (0, 7)],
        },
        "length": {
            kind: {"n": N, "question_of": "0123" * 10, "answer_of": "0123" * 10, "question_bounds": [5, 6, 9],
                   "answer_bounds": [20, 30, 40],
                   "points": [quarter | {"router": "always-llm", "label": "LLM", "right": bits(38)}]}
            for kind in ("math", "mc")
        },
        "speculative": {"math": drafted, "mc": drafted},
        "look_back": {"math": looked_back, "mc": looked_back},
        "rules": {kind: {"n": N, "points": ruled} for kind in ("math", "mc")},
        "truths": {"math": truths, "mc": truths},
        "setup": {
            "n_labelled": 400, "share_wanted": 0.1,
            "labels": [
                {"labels": f"published-{k}", "n_problems": 100, "seconds": 2.0, "slm": PASSES, "llm": NOTHING}
                for k in (1, 2)
            ],
            "training": [
                {"router": name, "seconds": 5.0, "n_params": 10, "n_epochs": 3, "flops": 4e12, "n_bytes": 3e9}
                for name in ("citer", "citer-2")
            ],
            "tuning": [
                {"router": name, "n_answers": 80, "seconds": 1.0, "slm": NOTHING, "llm": PASSES}
                for name in ("max-probability", "citer-2")
            ],
            "roads": {"max-probability": [], "citer-2": ["published-1", "published-2"]},
        },
    }  # fmt: skip
    return {"accuracy": accuracy_part()} | {name: _part(name, content) for name, content in contents.items()}


def evaluated(router: str, share: float, right: list[bool], is_kept: bool = True) -> str:
    """A row of `evaluate --points`."""
    row = {
        "router": router, "threshold": 0.4, "accuracy": {"n": len(right), "n_correct": sum(right)}, "n_tokens": 100,
        "llm_token_share": share, "n_bytes": 8e9, "flops": 4e12, "bytes_share": 0.5, "measured_s": 4.0,
        "date": "2026-11-24", "hardware": "A processor",
    }  # fmt: skip
    return json.dumps(row | ({"right": pack(right)} if is_kept else {})) + "\n"
