"""Labels that were made, not measured: a truth that a router can find, for tests of training."""

from __future__ import annotations

import torch

from citer_core.labelling.labels import UNKNOWN, Labels


def synthetic_labels(n_questions=60, n_tokens=12, noise=0.0, seed=1):
    """The first number of a token's state says whom to prefer; the second of the prompt's, whether the SLM is right.

    Every question has one unknown token of case 3.
    """
    g = torch.Generator().manual_seed(seed)
    n = n_questions * n_tokens
    hidden = torch.randn(n, 8, generator=g)
    score = hidden[:, 0] + noise * torch.randn(n, generator=g)
    label = (score > 0).to(torch.int8)
    case = torch.where(label == 1, 1, 2).to(torch.int8)
    position = torch.arange(n_tokens, dtype=torch.int32).repeat(n_questions)
    case[position == n_tokens - 1] = 3
    label[position == n_tokens - 1] = UNKNOWN
    p_slm, p_llm = (0.05 + 0.9 * torch.sigmoid(sign * 3 * score) for sign in (1, -1))
    certainty = torch.rand(n, generator=g)
    nothing = torch.full_like(label, UNKNOWN)
    first = hidden.view(n_questions, n_tokens, 8)[:, 0, 1]
    return Labels(
        hidden=hidden,
        case=case,
        label=label,
        question=torch.arange(n_questions, dtype=torch.int32).repeat_interleave(n_tokens),
        position=position,
        max_probability=0.1 + 0.9 * certainty,
        margin=certainty,
        entropy=3 * (1 - certainty),
        slm_log_prob=p_slm.log(),
        llm_log_prob=p_llm.log(),
        slm_is_correct=(first > 0).to(torch.int8).repeat_interleave(n_tokens),
        slm_branch=nothing,
        llm_branch=nothing,
    )
