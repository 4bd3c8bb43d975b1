"""`SlotCache`: keys and values of many sequences at once, each of its own length, and the attention over them.

A pass takes some of the sequences, each with its own number of new tokens. What can be prepared once per pass or once
per cache is: a small model spends its time between products. Knows nothing about weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise

import torch
from torch import Tensor
from torch.nn import functional as F

from citer_core.models.kv_cache import Attend, Heads, capacity_for, causal_mask, whole_rows
from citer_core.models.transfer import is_away, lists_to_device

# Up to so many new tokens a sequence shares one padded attention with others on a device, where each call costs its
# launch. On a CPU the padding costs more than the calls, and only sequences with a single new token go together.
MAX_PADDED = 16
BAND = 64  # new tokens up to which the mask after a cached text is read from a table

# From (layer, query, key and value heads side by side [N, H_q + 2 * H_kv, D]) to mixed values [n, H_kv, group, D] of
# the n packed tokens of one part of a pass.
_Mix = Callable[[int, Tensor], Tensor]


class SlotCache:
    """Keys and values of S independent sequences, [L, S, capacity, 2 * H_kv, D], each of its own length.

    What lies behind a slot's length is junk of earlier sequences or of padding; no query ever sees it.

    Attributes:
        lengths: cached positions of each slot.
    """

    def __init__(self, n_slots: int, n_layers: int, heads: Heads, like: Tensor) -> None:
        self._n_layers, self._heads, self._like = n_layers, heads, like
        self._most_padded = MAX_PADDED if is_away(like) else 1
        self._gathered = like.new_empty(0)
        self.lengths = [0] * n_slots
        self._capacity = 0
        self._store = like.new_empty(n_layers, n_slots, 0, 2 * heads.n_kv, heads.dim)
        self._resize(0)

    def clear(self, slot: int) -> None:
        """Makes room for another sequence."""
        self.lengths[slot] = 0

    @torch.inference_mode()
    def copy_beginning(self, source: int, target: int, n_tokens: int) -> None:
        """Puts a sequence of the first `n_tokens` positions of one slot's memory into another slot, or the same."""
        if source != target:
            self._store[:, target, :n_tokens] = self._store[:, source, :n_tokens]
        self.lengths[target] = n_tokens

    def extend(self, slots: Sequence[int], n_new: Sequence[int]) -> Attend:
        """Makes room for more positions of some sequences and gives the attention of the pass that fills them.

        Tokens come packed, one sequence after another. Sequences with few new tokens attend together, padded to one
        width; each longer one attends by itself, because padding others to its size would cost more.

        Args:
            slots: of the sequences, all different, those with fewest new tokens first.
            n_new: how many tokens each of them adds, in ascending order.
        """
        assert list(n_new) == sorted(n_new), "sequences with fewer new tokens come first"
        starts = [self.lengths[slot] for slot in slots]
        ends = [start + n for start, n in zip(starts, n_new, strict=True)]
        self._reserve(max(ends))
        for slot, end in zip(slots, ends, strict=True):
            self.lengths[slot] = end
        n_q, n_kv, dim = self._heads
        capacity, n_tokens = self._capacity, sum(n_new)
        n_single, n_padded = (sum(n <= most for n in n_new) for most in (1, self._most_padded))
        bounds = (0, n_single, *range(n_padded, len(slots) + 1))
        spans = [slice(first, last) for first, last in pairwise(bounds) if last > first]
        sizes = [sum(n_new[span]) for span in spans]  # in packed tokens
        lists: list[Sequence[int]] = [
            [slot * capacity + p for slot, s, e in zip(slots, starts, ends, strict=True) for p in range(s, e)]
        ]
        for span in spans:
            if span.stop - span.start > 1:
                lists += [slots[span], *_padding(starts[span], n_new[span], capacity)]
        place, *indices = lists_to_device(lists, self._like.device)
        parts, first = list[_Mix](), 0
        for span, size in zip(spans, sizes, strict=True):
            if span.stop - span.start > 1:
                parts.append(self._together(first, slots[span], ends[span], n_new[span], indices[:4]))
                del indices[:4]
            else:
                parts.append(self._alone(first, slots[span.start], starts[span.start], n_new[span.start]))
            first += size
        rows, n_written = self._rows, 2 * n_kv * dim
        n_row = n_q * dim + n_written
        # The same memory for every layer: what a layer mixes is used up before the next one does.
        mixed = self._like.new_empty(n_tokens, n_kv, n_q // n_kv, dim)
        results, flat = mixed.split(sizes), mixed.view(n_tokens, -1)

        def attend(layer: int, qkv: Tensor) -> Tensor:
            written = qkv.as_strided((n_tokens, n_written), (n_row, 1), qkv.storage_offset() + n_q * dim)
            rows[layer].index_copy_(0, place, written)
            if len(parts) == 1:
                return parts[0](layer, qkv).reshape(n_tokens, n_q * dim)
            for result, mix in zip(results, parts, strict=True):
                result.copy_(mix(layer, qkv))
            return flat

        return attend

    def _alone(self, first: int, slot: int, start: int, n_new: int) -> _Mix:
        """The attention of one sequence, whose tokens begin at `first`; nothing is copied."""
        n_q, n_kv, dim = self._heads
        group, n_row, n_seen = self._heads.group, (n_q + 2 * n_kv) * dim, 2 * n_kv * dim
        # One strided view each: as a chain of selections and transpositions they took as long as the attention.
        size = (self._n_layers, n_kv, group, start + n_new, dim)
        stride = (self._store.stride(0), dim, 0, n_seen, 1)  # a group's heads read the same keys
        at = slot * self._capacity * n_seen
        keys, values = (self._store.as_strided(size, stride, at + skip).unbind() for skip in (0, n_kv * dim))
        query_size, query_stride = (n_kv, group, n_new, dim), (group * dim, dim, n_row, 1)
        is_causal = n_new > 1 and start == 0
        mask = None if n_new == 1 or is_causal else self._mask(start, n_new)

        def mix(layer: int, qkv: Tensor) -> Tensor:
            query = qkv.as_strided(query_size, query_stride, qkv.storage_offset() + first * n_row)
            seen = keys[layer], values[layer]
            mixed = F.scaled_dot_product_attention(query, *seen, attn_mask=mask, is_causal=is_causal)
            return mixed.permute(2, 0, 1, 3)

        return mix

    def _together(
        self, first: int, slots: Sequence[int], ends: Sequence[int], n_new: Sequence[int], indices: Sequence[Tensor]
    ) -> _Mix:
        """The attention of several sequences, padded to the longest.

        Args:
            first: where their tokens begin among the packed ones.
            slots, ends, n_new: of these sequences; their lengths with the new tokens.
            indices: `slots` and what `_padding` gives, on the device.
        """
        rows, unseen, pad, unpad = indices
        n_q, n_kv, dim = self._heads
        group, batch, width, n_tokens = self._heads.group, len(slots), max(n_new), sum(n_new)
        mask = self._unseen.narrow(1, 0, whole_rows(max(ends))).index_select(0, unseen).view(batch, 1, width, -1)
        of_layers = self._store.narrow(2, 0, max(ends))
        lowest = slots[0]
        gathered: Tensor | None = None
        if list(slots) == list(range(lowest, lowest + batch)):
            both = of_layers.narrow(1, lowest, batch)  # neighbours are read where they lie
        else:
            gathered = self._gather_buffer(batch, max(ends))
            both = gathered.expand(self._n_layers, -1, -1, -1, -1)
        heads = both.transpose(2, 3)  # [L, B, 2 * H_kv, end, D]
        layers, keys, values = (t.unbind() for t in (of_layers, heads.narrow(2, 0, n_kv), heads.narrow(2, n_kv, n_kv)))

        def both_of(layer: int) -> tuple[Tensor, Tensor]:
            if gathered is not None:
                torch.index_select(layers[layer], 0, rows, out=gathered)
            return keys[layer], values[layer]

        if width > 1:
            mask = mask.repeat(1, 1, group, 1)  # the heads of one group go in as more queries of one head
        mask = mask.narrow(3, 0, max(ends))
        if width == 1:
            sizes = (batch, n_kv, group, dim), ((n_q + 2 * n_kv) * dim, group * dim, dim, 1)
            at = first * (n_q + 2 * n_kv) * dim

            def mix_single(layer: int, qkv: Tensor) -> Tensor:
                query = qkv.as_strided(*sizes, qkv.storage_offset() + at)
                return F.scaled_dot_product_attention(query, *both_of(layer), attn_mask=mask)

            return mix_single

        def mix(layer: int, qkv: Tensor) -> Tensor:
            query = qkv.narrow(0, first, n_tokens).narrow(1, 0, n_q)
            padded = query.index_select(0, pad).view(batch, width, n_kv, group, dim)
            grouped = padded.permute(0, 2, 3, 1, 4).reshape(batch, n_kv, group * width, dim)
            mixed = F.scaled_dot_product_attention(grouped, *both_of(layer), attn_mask=mask)
            mixed = mixed.view(batch, n_kv, group, width, dim).permute(0, 3, 1, 2, 4).flatten(0, 1)
            return mixed.index_select(0, unpad)

        return mix

    def _gather_buffer(self, batch: int, end: int) -> Tensor:
        """[B, end, 2 * H_kv, D] to copy scattered keys and values into, the same memory for every layer and pass."""
        shape = (batch, end, 2 * self._heads.n_kv, self._heads.dim)
        if math.prod(shape) > self._gathered.numel():
            self._gathered = self._like.new_empty(math.prod((len(self.lengths), self._capacity, *shape[2:])))
        return self._gathered[: math.prod(shape)].view(shape)

    def _mask(self, start: int, n_new: int) -> Tensor:
        """[n_new, start + n_new]: 0 where a query may look, else -inf."""
        if n_new > BAND or is_away(self._like):  # a part of the table begins where a GPU cannot read it
            return causal_mask(self._like, n_new, start)
        return self._band[:n_new, self._capacity - start : self._capacity + n_new]

    def _reserve(self, needed: int) -> None:
        """Room for `needed` positions in every slot; grows by doubling."""
        if needed > self._capacity:
            self._resize(capacity_for(needed))

    def _resize(self, capacity: int) -> None:
        """Makes the memory for `capacity` positions in every slot, and what is prepared for that many."""
        n_kv, dim = self._heads.n_kv, self._heads.dim
        store = self._like.new_zeros(self._n_layers, len(self.lengths), capacity, 2 * n_kv, dim)
        store[:, :, : self._capacity] = self._store
        self._store, self._capacity = store, capacity
        self._rows = [layer.view(-1, 2 * n_kv * dim) for layer in store]  # of each layer, as they are written
        self._band = causal_mask(self._like, BAND, capacity)  # its first rows and last columns are every shorter mask
        # [capacity, capacity]: row r sees all but the last r positions. Each row is the one before, a place further on.
        numbers = torch.cat((store.new_zeros(capacity), store.new_full((capacity,), -math.inf)))
        self._unseen = numbers.as_strided((capacity, capacity), (1, 1))


def _padding(starts: Sequence[int], n_new: Sequence[int], capacity: int) -> tuple[list[int], list[int], list[int]]:
    """How sequences are padded to one width, by repeating the last token of each.

    Returns:
        For each place of the padded form, how many of `capacity` positions it does not see; and where it is taken from
        in the packed form, and the other way round, both empty for single tokens.
    """
    width = max(n_new)
    if width == 1:
        return [capacity - 1 - start for start in starts], [], []
    ends = list(accumulate(n_new))
    pad = [min(end - n + t, end - 1) for end, n in zip(ends, n_new, strict=True) for t in range(width)]
    unpad = [row * width + t for row, n in enumerate(n_new) for t in range(n)]
    unseen = [
        capacity - 1 - start - min(t, n - 1) for start, n in zip(starts, n_new, strict=True) for t in range(width)
    ]
    return unseen, pad, unpad
