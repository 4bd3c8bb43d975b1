"""`KVCache`: keys and values of one sequence or of many, each of its own length, and the attention over them.

A forward pass opens the cache for its new tokens and gets a function that, layer by layer, stores their keys and values
and mixes what they may see. A pass takes some of the sequences, each with its own number of new tokens. Small models
spend their time between products, so what can be prepared once per pass or once per cache is. Knows nothing about
weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from citer_core.models.transfer import is_away, lists_to_device

INITIAL_CAPACITY = 256
ALIGNED = 16  # numbers; see `whole_rows`
# Up to so many new tokens a sequence shares one padded attention with others on a device, where each call costs its
# launch. On a CPU the padding costs more than the calls, and only sequences with a single new token go together.
MAX_PADDED = 16
BAND = 64  # new tokens up to which the mask after a cached text is read from a table

# From (layer, query, key and value heads side by side [N, H_q + 2 * H_kv, D]) to mixed values [N, H_q * D].
Attend = Callable[[int, Tensor], Tensor]
# The same for the n packed tokens of one part of a pass, to [n, H_kv, group, D].
_Mix = Callable[[int, Tensor], Tensor]


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
    """One layer of one sequence: where new positions are written, and the same memory as attention reads it."""

    rows: Tensor  # [capacity and spare rows, 2 * H_kv, D], keys first
    keys: Tensor  # [H_kv, group, capacity, D]: the heads of one group read the same keys
    values: Tensor


class KVCache:
    """Keys and values of S independent sequences, [L, S, capacity and spare, 2 * H_kv, D], each of its own length.

    What lies behind a sequence's length is junk of earlier ones or of padding; no query ever sees it.

    Args:
        n_layers, heads: of the model.
        like: a tensor of the dtype and on the device that they are to have.
        n_slots: sequences.
        n_spare: rows behind those of the positions, for what is not to be read.

    Attributes:
        lengths: cached positions of each slot.
        capacity: positions that there is room for in each.
    """

    def __init__(self, n_layers: int, heads: Heads, like: Tensor, n_slots: int = 1, n_spare: int = 0) -> None:
        self.heads = heads
        self._n_layers, self._like, self._n_spare = n_layers, like, n_spare
        self._most_padded = MAX_PADDED if is_away(like) else 1
        self._gathered = like.new_empty(0)
        self.lengths = [0] * n_slots
        self.capacity = 0
        self._store = like.new_empty(n_layers, n_slots, 0, 2 * heads.n_kv, heads.dim)
        self._resize(0)

    def truncate(self, slot: int, n_tokens: int) -> int:
        """Forgets all but the first `n_tokens` positions of a sequence; gives how many are left."""
        self.lengths[slot] = min(self.lengths[slot], n_tokens)
        return self.lengths[slot]

    def wipe(self) -> None:
        """Forgets everything, and leaves nothing of it in the memory."""
        self.lengths = [0] * len(self.lengths)
        self._store.zero_()

    @torch.inference_mode()
    def copy_beginning(self, source: int, target: int, n_tokens: int) -> None:
        """Puts a sequence of the first `n_tokens` positions of one slot's memory into another slot, or the same."""
        if source != target:
            self._store[:, target, :n_tokens] = self._store[:, source, :n_tokens]
        self.lengths[target] = n_tokens

    def layers(self, slot: int = 0) -> list[LayerCache]:
        """The memory of one sequence; the same tensors until the cache grows."""
        if not self._views[slot]:
            # Made once: in a small model each of these views takes as long as a product.
            rows = self._store[:, slot]
            heads = rows[:, : self.capacity].transpose(1, 2)[:, :, None].expand(-1, -1, self.heads.group, -1, -1)
            self._views[slot] = [
                LayerCache(row, *both.chunk(2)) for row, both in zip(rows.unbind(), heads.unbind(), strict=True)
            ]
        return self._views[slot]

    def extend(self, slots: Sequence[int], n_new: Sequence[int]) -> Attend:
        """Makes room for more positions of some sequences and gives the attention of the pass that fills them.

        Tokens come packed, one sequence after another. Sequences with few new tokens attend together, padded to one
        width; each longer one attends by itself, because padding others to its size would cost more.

        Args:
            slots: of the sequences, all different, those with fewest new tokens first.
            n_new: how many tokens each of them adds, in ascending order.
        """
        if len(slots) == 1:
            return self._extend_one(slots[0], n_new[0])
        starts = [self.lengths[slot] for slot in slots]
        ends = [start + n for start, n in zip(starts, n_new, strict=True)]
        self.reserve(max(ends))
        for slot, end in zip(slots, ends, strict=True):
            self.lengths[slot] = end
        n_q, n_kv, dim = self.heads
        assert list(n_new) == sorted(n_new), "sequences with fewer new tokens come first"
        n_rows, n_tokens = self._store.shape[2], sum(n_new)
        n_single, n_padded = (sum(n <= most for n in n_new) for most in (1, self._most_padded))
        bounds = (0, n_single, *range(n_padded, len(slots) + 1))
        spans = [slice(first, last) for first, last in pairwise(bounds) if last > first]
        sizes = [sum(n_new[span]) for span in spans]  # in packed tokens
        lists: list[Sequence[int]] = [
            [slot * n_rows + p for slot, s, e in zip(slots, starts, ends, strict=True) for p in range(s, e)]
        ]
        for span in spans:
            if span.stop - span.start > 1:
                lists += [slots[span], *_padding(starts[span], n_new[span], self.capacity)]
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

    def _extend_one(self, slot: int, n_new: int) -> Attend:
        """`extend` of one sequence: nothing is sent to the device but what the pass itself needs."""
        start, end = self.lengths[slot], self.lengths[slot] + n_new
        self.reserve(end)
        self.lengths[slot] = end
        layers, (n_q, n_kv, dim) = self.layers(slot), self.heads
        size, mask = (n_new, n_kv, self.heads.group, dim), self._mask(start, n_new)
        is_causal = n_new > 1 and start == 0

        def attend(layer: int, qkv: Tensor) -> Tensor:
            rows, keys, values = layers[layer]
            rows.narrow(0, start, n_new).copy_(qkv.narrow(1, n_q, 2 * n_kv))
            query, seen = qkv.narrow(1, 0, n_q).view(size), (keys.narrow(2, 0, end), values.narrow(2, 0, end))
            return _mixed(query, seen, mask, is_causal=is_causal).reshape(n_new, -1)

        return attend

    def _alone(self, first: int, slot: int, start: int, n_new: int) -> _Mix:
        """The attention of one sequence, whose tokens begin at `first`; nothing is copied."""
        n_q, n_kv, dim = self.heads
        size, end, layers = (n_new, n_kv, self.heads.group, dim), start + n_new, self.layers(slot)
        mask, is_causal = self._mask(start, n_new), n_new > 1 and start == 0

        def mix(layer: int, qkv: Tensor) -> Tensor:
            _, keys, values = layers[layer]
            query = qkv.narrow(0, first, n_new).narrow(1, 0, n_q).view(size)
            return _mixed(query, (keys.narrow(2, 0, end), values.narrow(2, 0, end)), mask, is_causal=is_causal)

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
        n_q, n_kv, dim = self.heads
        group, batch, width, n_tokens = self.heads.group, len(slots), max(n_new), sum(n_new)
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
        shape = (batch, end, 2 * self.heads.n_kv, self.heads.dim)
        if math.prod(shape) > self._gathered.numel():
            self._gathered = self._like.new_empty(math.prod((len(self.lengths), self.capacity, *shape[2:])))
        return self._gathered[: math.prod(shape)].view(shape)

    def _mask(self, start: int, n_new: int) -> Tensor | None:
        """[n_new, start + n_new]: 0 where a query may look, else -inf; None where there is nothing to hide."""
        if n_new == 1 or start == 0:
            return None
        if n_new > BAND or is_away(self._like):  # a part of the table begins where a GPU cannot read it
            return causal_mask(self._like, n_new, start)
        return self._band[:n_new, self.capacity - start : self.capacity + n_new]

    def reserve(self, needed: int) -> None:
        """Room for `needed` positions in every slot; grows by doubling, so that appending is cheap on average."""
        if needed > self.capacity:
            self._resize(capacity_for(needed))

    def _resize(self, capacity: int) -> None:
        """Makes the memory for `capacity` positions in every slot, and what is prepared for that many."""
        n_kv, dim = self.heads.n_kv, self.heads.dim
        store = self._like.new_zeros(self._n_layers, len(self.lengths), capacity + self._n_spare, 2 * n_kv, dim)
        store[:, :, : self.capacity] = self._store[:, :, : self.capacity]
        self._store, self.capacity = store, capacity
        self._rows = [layer.view(-1, 2 * n_kv * dim) for layer in store]  # of each layer, as they are written
        self._views: list[list[LayerCache]] = [[] for _ in self.lengths]
        self._band = causal_mask(self._like, BAND, capacity)  # its first rows and last columns are every shorter mask
        # [capacity, capacity]: row r sees all but the last r positions. Each row is the one before, a place further on.
        numbers = torch.cat((store.new_zeros(capacity), store.new_full((capacity,), -math.inf)))
        self._unseen = numbers.as_strided((capacity, capacity), (1, 1))


def _mixed(query: Tensor, seen: tuple[Tensor, Tensor], mask: Tensor | None, *, is_causal: bool) -> Tensor:
    """[T, H_kv, group, D] from queries of that shape over keys and values [H_kv, group, S, D]: groups as a batch."""
    mixed = F.scaled_dot_product_attention(query.permute(1, 2, 0, 3), *seen, attn_mask=mask, is_causal=is_causal)
    return mixed.permute(2, 0, 1, 3)


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
