"""`FusedDecoder`: the forward pass of Llama-shaped models with little between the matrix products.

At one token per step a small model spends more time in Python than in arithmetic. This pass runs the same weights with
about half the operations: one product for query, key and value, one for gate and up, grouped heads as extra queries
instead of repeated keys, and a cache that is written in place. It covers Qwen2, Llama and Mistral blocks with full
attention; whatever else there is goes through transformers (`language_model.py`), and what this gives is compared with
transformers when a model is loaded. Knows nothing about routing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import PreTrainedModel

ARCHITECTURES = frozenset({"Qwen2ForCausalLM", "LlamaForCausalLM", "MistralForCausalLM"})
STATIC_ROPE = frozenset({"default", "linear", "llama3"})
INITIAL_CAPACITY = 256


class KVCache:
    """Keys and values of one batch, [L, 2, B, H_kv, capacity, D], of which the first `length` positions count."""

    def __init__(self, n_layers: int, n_kv_heads: int, head_dim: int, like: Tensor) -> None:
        self._shape = (n_layers, 2, n_kv_heads, head_dim)
        self._like = like
        self._store: Tensor | None = None
        self.length = 0

    def reserve(self, batch: int, n_new: int) -> Tensor:
        """Room for `n_new` more positions; grows by doubling, so appending costs amortized constant time."""
        needed = self.length + n_new
        if self._store is None or needed > self._store.shape[-2]:
            n_layers, two, n_kv_heads, head_dim = self._shape
            capacity = max(INITIAL_CAPACITY, 1 << (needed - 1).bit_length())
            grown = self._like.new_zeros(n_layers, two, batch, n_kv_heads, capacity, head_dim)
            if self._store is not None:
                grown[..., : self.length, :] = self._store[..., : self.length, :]
            self._store = grown
        return self._store

    def rewind(self, n_tokens: int) -> None:
        """Forgets all but the first `n_tokens` positions."""
        self.length = min(self.length, n_tokens)


class SlotCache:
    """Keys and values of S independent sequences, [L, S, capacity, 2 * H_kv, D], each of its own length.

    What lies behind a slot's length is junk of earlier sequences or of padding; no query ever sees it.

    Attributes:
        lengths: cached positions of each slot.
    """

    def __init__(self, n_slots: int, n_layers: int, n_kv_heads: int, head_dim: int, like: Tensor) -> None:
        self._shape = (n_layers, n_slots, 2 * n_kv_heads, head_dim)
        self._like = like
        self._store: Tensor | None = None
        self.lengths = [0] * n_slots

    def clear(self, slot: int) -> None:
        """Makes room for another sequence."""
        self.lengths[slot] = 0

    def reserve(self, needed: int) -> Tensor:
        """Room for `needed` positions in every slot; grows by doubling."""
        if self._store is None or needed > self._store.shape[2]:
            n_layers, n_slots, n_both, dim = self._shape
            capacity = max(INITIAL_CAPACITY, 1 << (needed - 1).bit_length())
            grown = self._like.new_zeros(n_layers, n_slots, capacity, n_both, dim)
            if self._store is not None:
                grown[:, :, : self._store.shape[2]] = self._store
            self._store = grown
        return self._store


@dataclass(frozen=True, slots=True)
class _Block:
    attention_norm: Tensor
    qkv: Tensor
    qkv_bias: Tensor | None
    out: Tensor
    mlp_norm: Tensor
    gate_up: Tensor
    down: Tensor


class FusedDecoder:
    """The model's weights, seen as fused matrices.

    Args:
        model: one that `supports` accepts. Its projections become views of the fused matrices, so that no weight is
            held twice and the model itself goes on working.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        config = model.config
        self._n_heads = config.num_attention_heads
        self._n_kv_heads = config.num_key_value_heads
        self._head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        self._eps = config.rms_norm_eps
        self._body = model.base_model
        self._embedding = model.get_input_embeddings().weight
        self._norm = self._body.norm.weight
        self._blocks = [_fuse(layer) for layer in self._body.layers]
        self._cos, self._sin = self._rope_tables(256)

    @staticmethod
    def supports(model: PreTrainedModel) -> bool:
        """Whether the model is of a shape that this pass computes: plain linear layers, full attention, static RoPE."""
        config = model.config
        if type(model).__name__ not in ARCHITECTURES or config.hidden_act != "silu":
            return False
        full_attention = all(kind == "full_attention" for kind in getattr(config, "layer_types", None) or [])
        no_window = getattr(config, "layer_types", None) is not None or getattr(config, "sliding_window", None) is None
        rope = (getattr(config, "rope_parameters", None) or {}).get("rope_type", "default")
        plain = all(
            type(module) is nn.Linear
            for layer in model.base_model.layers
            for module in (*layer.self_attn.children(), *layer.mlp.children())
            if isinstance(module, nn.Module) and "Linear" in type(module).__name__
        )
        one_device = len({parameter.device for parameter in model.parameters()}) == 1
        return full_attention and no_window and rope in STATIC_ROPE and plain and one_device

    def new_cache(self) -> KVCache:
        """An empty cache."""
        return KVCache(len(self._blocks), self._n_kv_heads, self._head_dim, self._embedding)

    def new_slot_cache(self, n_slots: int) -> SlotCache:
        """An empty cache of `n_slots` sequences."""
        return SlotCache(n_slots, len(self._blocks), self._n_kv_heads, self._head_dim, self._embedding)

    def _grow_rope_tables(self, n_positions: int) -> None:
        while n_positions > len(self._cos):
            self._cos, self._sin = self._rope_tables(2 * len(self._cos))

    def _rope_tables(self, n_positions: int) -> tuple[Tensor, Tensor]:
        positions = torch.arange(n_positions, device=self._embedding.device)[None]
        cos, sin = self._body.rotary_emb(self._embedding[:1, None], positions)
        # rotate_half(x) = (-x2, x1): the sign goes into the table once instead of into every token.
        half = self._head_dim // 2
        signed = torch.cat((-sin[0, :, :half], sin[0, :, half:]), dim=-1)
        return cos[0, :, None], signed[:, None]  # [positions, 1, D]

    def hidden_states(self, ids: Tensor, cache: KVCache) -> Tensor:
        """Last hidden states, after the final norm.

        Args:
            ids: [B, T] int64.
            cache: of the tokens before them, extended in place.

        Returns:
            [B, T, H] in the weights' dtype.
        """
        batch, n_new = ids.shape
        start, end = cache.length, cache.length + n_new
        store = cache.reserve(batch, n_new)
        self._grow_rope_tables(end)
        mask = self._mask(n_new, start, self._n_heads // self._n_kv_heads)

        def attend(layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
            keys, values = store[layer, 0, :, :, :end], store[layer, 1, :, :, :end]  # [B, H_kv, end, D]
            keys[:, :, start:] = key.transpose(1, 2)
            values[:, :, start:] = value.transpose(1, 2)
            return self._attend(query, keys, values, mask)

        hidden = self._blocks_forward(ids, self._cos[start:end], self._sin[start:end], attend)
        cache.length = end
        return hidden

    def slot_hidden_states(self, new_ids: Sequence[Sequence[int]], slots: Sequence[int], cache: SlotCache) -> Tensor:
        """Last hidden states of some sequences that each add their own number of tokens.

        All tokens go through the matrix products as one row of text, without padding; only attention sees sequences.

        Args:
            new_ids: B times one token or more.
            slots: of each sequence in the cache, all different; extended in place.
            cache: of the tokens before them.

        Returns:
            [N, H] in the weights' dtype: the states of all new tokens, one sequence after another.
        """
        device = self._embedding.device
        n_new = [len(ids) for ids in new_ids]
        starts = [cache.lengths[slot] for slot in slots]
        batch, width = len(n_new), max(n_new)
        end = max(start + n for start, n in zip(starts, n_new, strict=True))
        store = cache.reserve(end)
        self._grow_rope_tables(end)
        rows = torch.tensor(slots, device=device)
        flat_ids = torch.tensor([[i for ids in new_ids for i in ids]], device=device)  # [1, N]
        positions = torch.tensor(
            [p for start, n in zip(starts, n_new, strict=True) for p in range(start, start + n)], device=device
        )
        row = torch.arange(batch, device=device).repeat_interleave(torch.tensor(n_new, device=device))  # [N]
        offset = positions - torch.tensor(starts, device=device)[row]
        place = rows[row] * store.shape[2] + positions  # of each token in a layer's store, slots one after another
        all_slots = list(slots) == list(range(len(cache.lengths)))
        is_single = width == 1
        # What a query of padding sees does not matter, as long as it sees something: softmax over nothing is no number.
        seen = torch.tensor(starts, device=device)[:, None] + torch.arange(width, device=device)  # [B, T]
        mask = torch.arange(end, device=device) <= seen[:, :, None]  # [B, T, end]
        mask = mask.repeat(1, self._n_heads // self._n_kv_heads, 1)[:, None]

        def attend(layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
            store[layer].flatten(0, 1).index_copy_(0, place, torch.cat((key[0], value[0]), dim=1))
            both = store[layer, :, :end] if all_slots else store[layer, :, :end].index_select(0, rows)
            keys, values = both.transpose(1, 2).chunk(2, dim=1)  # [B, H_kv, end, D]
            if is_single:
                return self._attend(query.transpose(0, 1), keys, values, mask).transpose(0, 1)
            padded = query.new_zeros(batch, width, *query.shape[2:])
            padded[row, offset] = query[0]
            return self._attend(padded, keys, values, mask)[row, offset][None]

        hidden = self._blocks_forward(flat_ids, self._cos[positions], self._sin[positions], attend)
        for slot, start, n in zip(slots, starts, n_new, strict=True):
            cache.lengths[slot] = start + n
        return hidden[0]

    def _blocks_forward(
        self, ids: Tensor, cos: Tensor, sin: Tensor, attend: Callable[[int, Tensor, Tensor, Tensor], Tensor]
    ) -> Tensor:
        """All blocks and the final norm, [B, T, H].

        Args:
            ids: [B, T] int64.
            cos, sin: [T, 1, D] of the tokens' positions.
            attend: from (layer, query [B, T, H_q, D], key and value [B, T, H_kv, D]) to mixed values [B, T, H_q * D];
                it also puts key and value into a cache.
        """
        batch, n_new = ids.shape
        n_q, n_kv, dim = self._n_heads, self._n_kv_heads, self._head_dim
        hidden = F.embedding(ids, self._embedding)
        size = hidden.shape[-1:]
        for layer, block in enumerate(self._blocks):
            x = F.rms_norm(hidden, size, block.attention_norm, self._eps)
            qkv = F.linear(x, block.qkv, block.qkv_bias).view(batch, n_new, n_q + 2 * n_kv, dim)
            qk, value = qkv[:, :, : n_q + n_kv], qkv[:, :, n_q + n_kv :]
            qk = torch.addcmul(qk * cos, qk.roll(dim // 2, -1), sin)  # both halves swapped, signs in the table
            mixed = attend(layer, qk[:, :, :n_q], qk[:, :, n_q:], value)
            hidden = hidden + F.linear(mixed, block.out)
            x = F.rms_norm(hidden, size, block.mlp_norm, self._eps)
            gate, up = F.linear(x, block.gate_up).chunk(2, dim=-1)
            hidden = hidden + F.linear(F.silu(gate) * up, block.down)
        return F.rms_norm(hidden, size, self._norm, self._eps)

    def _attend(self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
        """[B, T, H_q * D] from queries [B, T, H_q, D] over keys and values [B, H_kv, S, D]."""
        batch, n_new = query.shape[:2]
        n_q, n_kv, dim = self._n_heads, self._n_kv_heads, self._head_dim
        group = n_q // n_kv
        # The heads of one group read the same keys, so they go in as more queries of one head.
        query = query.reshape(batch, n_new, n_kv, group, dim).permute(0, 2, 3, 1, 4)
        query = query.reshape(batch, n_kv, group * n_new, dim)
        mixed = F.scaled_dot_product_attention(query, keys, values, attn_mask=mask)
        return mixed.view(batch, n_kv, group, n_new, dim).permute(0, 3, 1, 2, 4).reshape(batch, n_new, n_q * dim)

    def _mask(self, n_new: int, start: int, group: int) -> Tensor | None:
        """[group * n_new, start + n_new] True where a query may look; None where each may look everywhere."""
        if n_new == 1:
            return None
        device = self._embedding.device
        mask = torch.ones(n_new, start + n_new, dtype=torch.bool, device=device).tril(diagonal=start)
        return mask.repeat(group, 1)


def _fuse(layer: Any) -> _Block:
    attention, mlp = layer.self_attn, layer.mlp
    qkv, qkv_bias = _merge(attention.q_proj, attention.k_proj, attention.v_proj)
    gate_up, gate_up_bias = _merge(mlp.gate_proj, mlp.up_proj)
    out, out_bias = _merge(attention.o_proj)
    down, down_bias = _merge(mlp.down_proj)
    assert gate_up_bias is None and out_bias is None and down_bias is None
    return _Block(
        attention_norm=layer.input_layernorm.weight,
        qkv=qkv,
        qkv_bias=qkv_bias,
        out=out,
        mlp_norm=layer.post_attention_layernorm.weight,
        gate_up=gate_up,
        down=down,
    )


def _merge(*projections: nn.Linear) -> tuple[Tensor, Tensor | None]:
    """One matrix (and bias) of several projections of the same input, which become views of it.

    In float32 on a CPU the matrix lies transposed in memory: its products with a few rows take a third less time there
    (measured for 1 to 64 rows; in bfloat16 it is the other way round).
    """
    weight = torch.cat([p.weight.detach() for p in projections])
    if weight.dtype == torch.float32 and weight.device.type == "cpu":
        weight = weight.t().contiguous().t()
    biased = getattr(projections[0], "bias", None) is not None
    bias = torch.cat([p.bias.detach() for p in projections]) if biased else None
    row = 0
    for p in projections:
        p.weight.data = weight[row : row + p.out_features]
        if bias is not None:
            p.bias.data = bias[row : row + p.out_features]
        row += p.out_features
    return weight, bias
