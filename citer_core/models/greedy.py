"""Rows of many logits: the greedy token of each, the most probable ones, and the rows some at a time.

Logits of 200 texts over a vocabulary of 150,000 are 120 MB in float32, and so is every array made of them, in pages
that the system clears first. In parts their statistics take a third of the time or less, because what a CPU computes on
the way to a few numbers of each stays in its cache. Knows nothing about models or routing.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from citer_core.models.transfer import is_away

READ_AT_ONCE = 2**20  # numbers
MANY_TOKENS = 16_384  # from which the most probable ones are looked for in two steps on a CPU
STRETCH = 256


def greedy_tokens(logits: Tensor) -> Tensor:
    """[...] int64, the tokens of the greatest of [..., V] logits, the lowest id at a tie.

    On a CPU they are found through NumPy, which takes a sixteenth of torch's time for 16 rows of 1,536 in float32, and
    in bfloat16 a quarter for 32 rows of 151,936, the change to float32 included.
    """
    if is_away(logits):
        return logits.argmax(-1)
    if logits.ndim != 2:
        return torch.from_numpy(np.asarray(logits.float().numpy().argmax(-1)))
    return torch.cat([torch.from_numpy(part.float().numpy().argmax(-1)) for part in row_parts(logits)])


def row_parts(rows: Tensor) -> tuple[Tensor, ...]:
    """[B, V] numbers as parts of some rows each; all of them in one where they are few, or not on a CPU.

    No part is a single row where there are more, because torch adds up one row in another order than several.
    """
    n_at_once = max(2, READ_AT_ONCE // max(1, rows.shape[-1]))  # at least; less than twice as many
    n_parts = 1 if is_away(rows) else len(rows) // n_at_once
    return rows.tensor_split(n_parts) if n_parts > 1 else (rows,)


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
