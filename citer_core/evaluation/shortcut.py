"""How right the shortcut is: both models' tokens are tried at some tokens of every case, and both ways rolled out.

The shortcut prefers a model by one token. Here each of the two tokens is put behind the true prefix, one policy goes on
from both, and the answers decide: the SLM is to be preferred where its branch is right, because it is cheaper; else
the LLM where its own is; where both fail the rollouts do not say. Knows nothing about files.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

from citer_core.evaluation.metrics import wilson_interval
from citer_core.labelling.labels import LabelSettings, label_examples
from citer_core.labelling.rollouts import Policy, preferred_source, roll_out_branches
from citer_core.labelling.teacher_forcing import Example
from citer_core.models.pair import ModelPair


def compare_branches(
    pair: ModelPair, examples: Sequence[Example], policy: Policy, n_per_case: int, seed: int = 0
) -> dict[str, Any]:
    """Tries both branches at up to `n_per_case` tokens of each case, drawn at random over all examples.

    Args:
        pair: the two models.
        examples: with ground truth.
        policy: who goes on from both branches, and who settles the labels of case 3; with the LLM alone they are the
            published ones of iteration 1.
        n_per_case: tokens.
        seed: of the draw.

    Returns:
        Per case: how many were drawn, decided and right, with a 95% Wilson interval, and all four combinations.
    """
    rules = {"max_new_tokens": policy.max_new_tokens, "batch_size": policy.batch_size}
    labelled_by = Policy.slm_alone(**rules) if policy.is_llm_alone else policy
    labels, forced = label_examples(pair, examples, LabelSettings(labelled_by))
    rng = random.Random(f"branches:{seed}")
    report: dict[str, Any] = {
        "policy": {"router": policy.router.name, "threshold": policy.threshold},
        "n_examples": len(examples),
        "seed": seed,
        "cases": {},
    }
    for case in (1, 2, 3):
        tokens = (labels.case == case).nonzero().flatten().tolist()
        drawn = sorted(rng.sample(tokens, min(n_per_case, len(tokens))))
        places = [(int(labels.question[t]), int(labels.position[t])) for t in drawn]
        pairs = [(int(forced[q].slm_ids[p]), int(forced[q].llm_ids[p])) for q, p in places]
        results = roll_out_branches(pair, examples, places, pairs, policy, forced)
        branches = [
            (slm.is_correct, llm.is_correct, int(labels.label[t])) for t, (slm, llm) in zip(drawn, results, strict=True)
        ]
        report["cases"][str(case)] = _summary(branches, len(tokens), sum(a == b for a, b in pairs))
    return report


def _summary(branches: Sequence[tuple[bool, bool, int]], n_tokens: int, n_same: int) -> dict[str, Any]:
    """Of whether the SLM's and the LLM's branch ended right, and the shortcut's label, 1 for the SLM."""
    preferred = [
        (preferred_source(slm_is_correct=slm, llm_is_correct=llm), bool(label)) for slm, llm, label in branches
    ]
    decided = [(source == "slm", label) for source, label in preferred if source is not None]
    n_right = sum(is_slm == label for is_slm, label in decided)
    both = Counter((slm, llm) for slm, llm, _ in branches)
    return {
        "n_tokens": n_tokens,
        "n": len(branches),
        "n_same_token": n_same,
        "n_decided": len(decided),
        "n_undecided": len(branches) - len(decided),
        "n_right": n_right,
        "share_right": round(n_right / len(decided), 4) if decided else 0.0,
        "interval_95": [round(x, 4) for x in wilson_interval(n_right, len(decided))],
        "n_label_fails_where_the_other_does_not": sum(slm != llm and slm != label for slm, llm, label in branches),
        **{
            f"slm_{'right' if slm else 'wrong'}_llm_{'right' if llm else 'wrong'}": both[slm, llm]
            for slm in (True, False)
            for llm in (True, False)
        },
    }
