"""Key/value caches of the fused pass, and the attention over them: of one sequence, and of many at once.

A forward pass opens a cache for its new tokens and gets a function that, layer by layer, stores their keys and values
and mixes what they may see. Small models spend their time between products, so what can be prepared once per pass or
once per cache is. Knows nothing about weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from citer_core.models.transfer import lists_to_device

INITIAL_CAPACITY = 256
# Up to so many new tokens a sequence shares one padded attention with others; a longer one goes by itself.
MAX_PADDED = 16

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


class _LayerCache(NamedTuple):
    """One layer of a cache: where new positions are written, and the same memory as attention reads it."""

    rows: Tensor  # [capacity, 2 * H_kv, D], keys first
    keys: Tensor  # [H_kv, group, capacity, D]: the heads of one group read the same keys
    values: Tensor


class KVCache:
    """Keys and values of one sequence.

    Attributes:
        length: cached positions.
    """

    def __init__(self, n_layers: int, heads: Heads, like: Tensor) -> None:
        self._n_layers, self._heads, self._like = n_layers, heads, like
        self._layers: Sequence[_LayerCache] = ()
        self.length = 0

    def rewind(self, n_tokens: int) -> None:
        """Forgets all but the first `n_tokens` positions."""
        self.length = min(self.length, n_tokens)

    def extend(self, n_new: int) -> Attend:
        """Makes room for `n_new` more positions and gives the attention of the pass that fills them."""
        n_q, n_kv, dim = self._heads
        group = self._heads.group
        start, end = self.length, self.length + n_new
        self.reserve(end)
        self.length = end
        layers = self._layers
        mask = None if n_new == 1 else _causal_mask(self._like, n_new, start)

        def attend(layer: int, qkv: Tensor) -> Tensor:
            rows, keys, values = layers[layer]
            rows.narrow(0, start, n_new).copy_(qkv.narrow(1, n_q, 2 * n_kv))
            query = qkv.narrow(1, 0, n_q).view(n_new, n_kv, group, dim)
            return _attend_one(query, keys.narrow(2, 0, end), values.narrow(2, 0, end), mask)

        return attend

    @property
    def capacity(self) -> int:
        """Positions that there is room for."""
        return len(self._layers[0].rows) if self._layers else 0

    def static_attention(self) -> Callable[[Tensor], Attend]:
        """Attention of a single token in which nothing depends on the length, over the cache's present memory.

        Returns:
            From the new token's position, [1] int64 on the device, to the attention of its pass. Keeps no reference to
            this cache.
        """
        n_q, n_kv, dim = self._heads
        group, layers = self._heads.group, self._layers
        places = torch.arange(self.capacity, device=self._like.device)
        hidden, seen = (self._like.new_full((), value) for value in (-math.inf, 0.0))

        def at(position: Tensor) -> Attend:
            mask = torch.where(places > position, hidden, seen)[None]

            def attend(layer: int, qkv: Tensor) -> Tensor:
                rows, keys, values = layers[layer]
                rows.index_copy_(0, position, qkv.narrow(1, n_q, 2 * n_kv))
                return _attend_one(qkv.narrow(1, 0, n_q).view(1, n_kv, group, dim), keys, values, mask)

            return attend

        return at

    def reserve(self, needed: int) -> None:
        """Makes room for `needed` positions in all; doubles when it is full, so that appending is cheap on average."""
        if self._layers and needed <= len(self._layers[0].rows):
            return
        grown = self._like.new_zeros(self._n_layers, _capacity(needed), 2 * self._heads.n_kv, self._heads.dim)
        for new, old in zip(grown, self._layers, strict=False):  # none at first
            new[: self.length] = old.rows[: self.length]
        # The views are made here, once: in a small model each of them takes as long as a product.
        views = [rows.transpose(0, 1)[:, None].expand(-1, self._heads.group, -1, -1).chunk(2) for rows in grown]
        self._layers = [_LayerCache(rows, keys, values) for rows, (keys, values) in zip(grown, views, strict=True)]


class SlotCache:
    """Keys and values of S independent sequences, [L, S, capacity, 2 * H_kv, D], each of its own length.

    What lies behind a slot's length is junk of earlier sequences or of padding; no query ever sees it.

    Attributes:
        lengths: cached positions of each slot.
    """

    def __init__(self, n_slots: int, n_layers: int, heads: Heads, like: Tensor) -> None:
        self._n_layers, self._heads, self._like = n_layers, heads, like
        self._store: Tensor | None = None
        self.lengths = [0] * n_slots

    def clear(self, slot: int) -> None:
        """Makes room for another sequence."""
        self.lengths[slot] = 0

    def extend(self, slots: Sequence[int], n_new: Sequence[int]) -> Attend:
        """Makes room for more positions of some sequences and gives the attention of the pass that fills them.

        Tokens come packed, one sequence after another. Sequences with few new tokens are padded to one width and
        attend together; each longer one attends by itself, because padding others to its size would cost more.

        Args:
            slots: of the sequences, all different, those with fewest new tokens first.
            n_new: how many tokens each of them adds, in ascending order.
        """
        assert list(n_new) == sorted(n_new), "sequences with fewer new tokens come first"
        starts = [self.lengths[slot] for slot in slots]
        ends = [start + n for start, n in zip(starts, n_new, strict=True)]
        store = self._reserve(max(ends))
        for slot, end in zip(slots, ends, strict=True):
            self.lengths[slot] = end
        n_q, n_kv, _ = self._heads
        n_single = sum(n == 1 for n in n_new)
        n_padded = sum(n <= MAX_PADDED for n in n_new)
        groups = [slice(first, last) for first, last in ((0, n_single), (n_single, n_padded)) if last > first]
        capacity = store.shape[2]
        lists: list[Sequence[int]] = [
            [slot * capacity + p for slot, s, e in zip(slots, starts, ends, strict=True) for p in range(s, e)]
        ]
        for group in groups:
            lists += [starts[group], slots[group], *_padding(n_new[group])]
        place, *indices = lists_to_device(lists, store.device)
        parts: list[tuple[int, Attend]] = []  # how many packed tokens, and how they attend
        for n, group in enumerate(groups):
            attend = self._padded(store, slots[group], starts[group], n_new[group], indices[4 * n : 4 * n + 4])
            parts.append((sum(n_new[group]), attend))
        long = range(n_padded, len(slots))
        parts += [(n_new[row], self._alone(store, slots[row], starts[row], n_new[row])) for row in long]

        def attend_all(layer: int, qkv: Tensor) -> Tensor:
            store[layer].flatten(0, 1).index_copy_(0, place, qkv.narrow(1, n_q, 2 * n_kv))
            query = qkv.narrow(1, 0, n_q)
            if len(parts) == 1:
                return parts[0][1](layer, query)
            mixed, at = [], 0
            for n_tokens, attend in parts:
                mixed.append(attend(layer, query.narrow(0, at, n_tokens)))
                at += n_tokens
            return torch.cat(mixed)

        return attend_all

    def _alone(self, store: Tensor, slot: int, start: int, n_new: int) -> Attend:
        """The attention of one sequence; nothing is copied."""
        _, n_kv, dim = self._heads
        group, end = self._heads.group, start + n_new
        mask = _causal_mask(self._like, n_new, start)

        def attend(layer: int, query: Tensor) -> Tensor:
            both = store[layer, slot, :end].transpose(0, 1)[:, None].expand(-1, group, -1, -1)
            return _attend_one(query.view(n_new, n_kv, group, dim), both[:n_kv], both[n_kv:], mask)

        return attend

    def _padded(
        self,
        store: Tensor,
        slots: Sequence[int],
        starts: Sequence[int],
        n_new: Sequence[int],
        indices: Sequence[Tensor],
    ) -> Attend:
        """The attention of several sequences, padded to the longest.

        Args:
            store: the whole cache.
            slots, starts, n_new: of these sequences.
            indices: `starts`, `slots` and what `_padding` gives, on the device.
        """
        first_seen, rows, pad, unpad = indices
        n_q, n_kv, dim = self._heads
        group, batch, width = self._heads.group, len(slots), max(n_new)
        end = max(start + n for start, n in zip(starts, n_new, strict=True))
        # What a query of padding sees does not matter, as long as it sees something: softmax over nothing is no number.
        last_seen = first_seen[:, None] + torch.arange(width, device=store.device)  # [B, T]
        is_hidden = torch.arange(end, device=store.device) > last_seen[:, :, None]  # [B, T, end]
        mask = store.new_zeros(is_hidden.shape).masked_fill_(is_hidden, -math.inf)
        mask = mask.repeat(1, group, 1)[:, None]  # the heads of one group go in as more queries of one head
        lowest = slots[0]
        are_neighbours = list(slots) == list(
            range(lowest, lowest + batch)
        )  # else their keys have to be copied together

        def both_of(layer: int) -> tuple[Tensor, Tensor]:
            seen = store[layer, :, :end]
            seen = seen.narrow(0, lowest, batch) if are_neighbours else seen.index_select(0, rows)
            both = seen.transpose(1, 2)  # [B, 2 * H_kv, end, D]
            return both.narrow(1, 0, n_kv), both.narrow(1, n_kv, n_kv)

        if width == 1:

            def attend_single(layer: int, query: Tensor) -> Tensor:
                grouped = query.view(batch, n_kv, group, dim)
                mixed = F.scaled_dot_product_attention(grouped, *both_of(layer), attn_mask=mask)
                return mixed.reshape(batch, n_q * dim)

            return attend_single

        def attend(layer: int, query: Tensor) -> Tensor:
            padded = query.index_select(0, pad).view(batch, width, n_kv, group, dim)
            grouped = padded.permute(0, 2, 3, 1, 4).reshape(batch, n_kv, group * width, dim)
            mixed = F.scaled_dot_product_attention(grouped, *both_of(layer), attn_mask=mask)
            mixed = mixed.view(batch, n_q, width, dim).transpose(1, 2).reshape(batch * width, n_q * dim)
            return mixed.index_select(0, unpad)

        return attend

    def _reserve(self, needed: int) -> Tensor:
        """Room for `needed` positions in every slot; grows by doubling."""
        if self._store is None or needed > self._store.shape[2]:
            shape = (self._n_layers, len(self.lengths), _capacity(needed), 2 * self._heads.n_kv, self._heads.dim)
            grown = self._like.new_zeros(shape)
            if self._store is not None:
                grown[:, :, : self._store.shape[2]] = self._store
            self._store = grown
        return self._store


def _attend_one(query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
    """[T, H_q * D] from queries [T, H_kv, group, D] over keys and values [H_kv, group, S, D]: groups as a batch."""
    mixed = F.scaled_dot_product_attention(query.permute(1, 2, 0, 3), keys, values, attn_mask=mask)
    return mixed.permute(2, 0, 1, 3).reshape(len(query), -1)


def _causal_mask(like: Tensor, n_new: int, start: int) -> Tensor:
    """[n_new, start + n_new]: 0 where a query may look, else -inf."""
    return like.new_full((n_new, start + n_new), -math.inf).triu_(start + 1)


def _padding(n_new: Sequence[int]) -> tuple[list[int], list[int]]:
    """Where each place of the padded form is taken from in the packed one, and the other way round; empty for singles.

    Padding repeats a sequence's last token.
    """
    width = max(n_new)
    if width == 1:
        return [], []
    ends = list(accumulate(n_new))
    pad = [min(end - n + t, end - 1) for end, n in zip(ends, n_new, strict=True) for t in range(width)]
    return pad, [row * width + t for row, n in enumerate(n_new) for t in range(n)]


def _capacity(needed: int) -> int:
    return max(INITIAL_CAPACITY, 1 << (needed - 1).bit_length())
