"""Attention of a few new tokens over a cache in which nothing but tensors says how long the text is.

So a pass can be captured once and replayed at any length. A pass may be padded: the padding's keys and values go to
spare rows, which no attention reads, so the cache holds what it would hold without. Knows nothing about weights or
graphs. Called by `seat`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from citer_core.models.kv_cache import Attend, KVCache

# From the new tokens' positions [W] and the rows [W] where their keys and values go, all different, both int64 on the
# device, to the attention of their pass.
StaticAttention = Callable[[Tensor, Tensor], Attend]


def masked_attention(cache: KVCache, room: int) -> StaticAttention:
    """The library's attention over the first `room` positions of the cache's present memory, later ones masked.

    Keeps no reference to the cache.
    """
    n_q, n_kv, dim = cache.heads
    group = cache.heads.group
    layers = [(layer.rows, layer.keys.narrow(2, 0, room), layer.values.narrow(2, 0, room)) for layer in cache.layers()]
    mask_at = _masks(layers[0][0], room)

    def at(positions: Tensor, places: Tensor) -> Attend:
        mask = mask_at(positions)
        n_new = positions.shape[0]

        def attend(layer: int, qkv: Tensor) -> Tensor:
            rows, keys, values = layers[layer]
            rows.index_copy_(0, places, qkv.narrow(1, n_q, 2 * n_kv))
            query = qkv.narrow(1, 0, n_q).view(n_new, n_kv, group, dim).permute(1, 2, 0, 3)
            mixed = F.scaled_dot_product_attention(query, keys, values, attn_mask=mask)
            return mixed.permute(2, 0, 1, 3).reshape(n_new, -1)

        return attend

    return at


def product_attention(cache: KVCache, room: int) -> StaticAttention:
    """The same by two batched products, with a softmax in float32 between them.

    All heads of a group and all new tokens are rows of one product, so each key is read once, and the products spread
    over the positions. Scores are rounded to the weights' dtype, as in transformers' plain attention.
    """
    n_q, n_kv, dim = cache.heads
    group = cache.heads.group
    layers = [
        (layer.rows, layer.rows[:room, :n_kv].permute(1, 2, 0), layer.rows[:room, n_kv:].transpose(0, 1))
        for layer in cache.layers()
    ]
    mask_at = _masks(layers[0][0].new_empty((), dtype=torch.float32), room)
    scale = dim**-0.5

    def at(positions: Tensor, places: Tensor) -> Attend:
        mask = mask_at(positions)
        n_new = positions.shape[0]

        def attend(layer: int, qkv: Tensor) -> Tensor:
            rows, keys, values = layers[layer]
            rows.index_copy_(0, places, qkv.narrow(1, n_q, 2 * n_kv))
            query = qkv.narrow(1, 0, n_q).view(n_new, n_kv, group, dim).permute(1, 2, 0, 3)
            scores = torch.bmm(query.reshape(n_kv, group * n_new, dim), keys).view(n_kv, group, n_new, room)
            weights = torch.softmax(scores.float() * scale + mask, dim=-1).to(qkv.dtype)
            mixed = torch.bmm(weights.view(n_kv, group * n_new, room), values).view(n_kv, group, n_new, dim)
            return mixed.permute(2, 0, 1, 3).reshape(n_new, -1)

        return attend

    return at


STATIC_ATTENTIONS: dict[str, Callable[[KVCache, int], StaticAttention]] = {
    "masked": masked_attention,
    "products": product_attention,
}


def _masks(like: Tensor, room: int) -> Callable[[Tensor], Tensor]:
    """From positions [W] to [W, room]: 0 where a query at that position may look, else -inf."""
    rows = torch.arange(room, device=like.device)
    hidden, seen = (like.new_full((), value) for value in (-math.inf, 0.0))
    return lambda positions: torch.where(rows > positions[:, None], hidden, seen)
