"""The most probable tokens of a distribution over a vocabulary of any size. Knows nothing about models."""

from __future__ import annotations

import torch
from torch import Tensor

from citer_core.models.transfer import is_away

MANY_TOKENS = 16_384  # from which they are looked for in two steps on a CPU
STRETCH = 256


def top_tokens(log_probs: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Values [..., k] and ids [..., k] of the k largest of [..., V], the largest first; all V where there are fewer.

    On a CPU it takes seven times as long to find a few numbers among 150,000 as to find the largest of each stretch of
    them; and the k largest are in the k stretches that have the largest maxima.
    """
    n_tokens = log_probs.shape[-1]
    if n_tokens < max(MANY_TOKENS, k * STRETCH) or is_away(log_probs):
        values, ids = log_probs.topk(min(k, n_tokens), dim=-1)
        return values, ids
    n_even = n_tokens // STRETCH * STRETCH
    stretches = log_probs[..., :n_even].unflatten(-1, (-1, STRETCH))
    best = stretches.amax(-1).topk(k, dim=-1).indices[..., None]
    found = stretches.take_along_dim(best, dim=-2).flatten(-2)
    places = (best * STRETCH + torch.arange(STRETCH)).flatten(-2)
    rest = torch.arange(n_even, n_tokens).expand(*log_probs.shape[:-1], -1)
    values, order = torch.cat((found, log_probs[..., n_even:]), dim=-1).topk(k, dim=-1)
    return values, torch.cat((places, rest), dim=-1).take_along_dim(order, dim=-1)
