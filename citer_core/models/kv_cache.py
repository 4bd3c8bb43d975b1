"""Key/value caches of the fused pass, and the attention over them: of one sequence, and of many at once.

A forward pass opens a cache for its new tokens and gets a function that, layer by layer, stores their keys and values
and mixes what they may see. Small models spend their time between products, so what can be prepared once per pass or
once per cache is. Knows nothing about weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from torch import Tensor
from torch.nn import functional as F

INITIAL_CAPACITY = 256
ALIGNED = 16  # numbers; see `whole_rows`

# From (layer, query, key and value heads side by side [N, H_q + 2 * H_kv, D]) to mixed values [N, H_q * D].
Attend = Callable[[int, Tensor], Tensor]


class Heads(NamedTuple):
    """Sizes of an attention layer: query heads, key/value heads, numbers per head."""

    n_q: int
    n_kv: int
    dim: int

    @property
    def group(self) -> int:
        """Query heads that read the same keys."""
        return self.n_q // self.n_kv


class LayerCache(NamedTuple):
    """One layer of a cache: where new positions are written, and the same memory as attention reads it."""

    rows: Tensor  # [capacity and spare rows, 2 * H_kv, D], keys first
    keys: Tensor  # [H_kv, group, capacity, D]: the heads of one group read the same keys
    values: Tensor


class KVCache:
    """Keys and values of one sequence.

    Args:
        n_layers, heads: of the model.
        like: a tensor of the dtype and on the device that they are to have.
        n_spare: rows behind those of the positions, for what nobody is to read.

    Attributes:
        length: cached positions.
        layers: the memory of each.
    """

    def __init__(self, n_layers: int, heads: Heads, like: Tensor, n_spare: int = 0) -> None:
        self._n_layers, self._like, self._n_spare = n_layers, like, n_spare
        self.heads = heads
        self.layers: Sequence[LayerCache] = ()
        self.length = 0

    def rewind(self, n_tokens: int) -> int:
        """Forgets all but the first `n_tokens` positions; gives how many are left."""
        self.length = min(self.length, n_tokens)
        return self.length

    def extend(self, n_new: int) -> Attend:
        """Makes room for `n_new` more positions and gives the attention of the pass that fills them."""
        n_q, n_kv, dim = self.heads
        group = self.heads.group
        start, end = self.length, self.length + n_new
        self.reserve(end)
        self.length = end
        layers = self.layers
        is_causal = n_new > 1 and start == 0
        mask = None if n_new == 1 or is_causal else causal_mask(self._like, n_new, start)

        def attend(layer: int, qkv: Tensor) -> Tensor:
            rows, keys, values = layers[layer]
            rows.narrow(0, start, n_new).copy_(qkv.narrow(1, n_q, 2 * n_kv))
            query = qkv.narrow(1, 0, n_q).view(n_new, n_kv, group, dim)
            return _attend_one(query, keys.narrow(2, 0, end), values.narrow(2, 0, end), mask, is_causal=is_causal)

        return attend

    @property
    def capacity(self) -> int:
        """Positions that there is room for."""
        return len(self.layers[0].rows) - self._n_spare if self.layers else 0

    def clear(self) -> None:
        """Forgets everything, and leaves nothing of it in the memory."""
        self.length = 0
        for layer in self.layers:
            layer.rows.zero_()

    def reserve(self, needed: int) -> None:
        """Makes room for `needed` positions in all; doubles when it is full, so that appending is cheap on average."""
        if self.layers and needed <= self.layers[0].rows.shape[0] - self._n_spare:
            return
        capacity = capacity_for(needed)
        n_kv, dim = self.heads.n_kv, self.heads.dim
        grown = self._like.new_zeros(self._n_layers, capacity + self._n_spare, 2 * n_kv, dim)
        for new, old in zip(grown, self.layers, strict=False):  # none at first
            new[: self.length] = old.rows[: self.length]
        # The views are made here, once: in a small model each of them takes as long as a product.
        views = [
            rows[:capacity].transpose(0, 1)[:, None].expand(-1, self.heads.group, -1, -1).chunk(2) for rows in grown
        ]
        self.layers = [LayerCache(rows, keys, values) for rows, (keys, values) in zip(grown, views, strict=True)]


def _attend_one(query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, *, is_causal: bool = False) -> Tensor:
    """[T, H_q * D] from queries [T, H_kv, group, D] over keys and values [H_kv, group, S, D]: groups as a batch."""
    mixed = F.scaled_dot_product_attention(query.permute(1, 2, 0, 3), keys, values, attn_mask=mask, is_causal=is_causal)
    return mixed.permute(2, 0, 1, 3).reshape(query.shape[0], -1)


def causal_mask(like: Tensor, n_new: int, start: int) -> Tensor:
    """[n_new, start + n_new]: 0 where a query may look, else -inf; its rows lie as `whole_rows` has them."""
    end = start + n_new
    return like.new_full((n_new, whole_rows(end)), -math.inf).triu_(start + 1).narrow(1, 0, end)


def whole_rows(n_positions: int) -> int:
    """Numbers from one row of a mask to the next: a GPU's attention reads rows that begin at a multiple of this many.

    Others are copied by torch for every layer, and where the first row begins elsewhere the device stops for good.
    """
    return -(-n_positions // ALIGNED) * ALIGNED


def capacity_for(needed: int) -> int:
    """Positions to make room for when `needed` are: at least twice what was full."""
    return max(INITIAL_CAPACITY, 1 << (needed - 1).bit_length())
