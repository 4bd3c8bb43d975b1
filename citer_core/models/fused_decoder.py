"""`FusedDecoder`: the forward pass of Llama-shaped models with little between the matrix products.

At one token per step a small model spends more time in Python than in arithmetic. This pass runs the same weights with
about half the operations: one product for query, key and value, one for gate and up, grouped heads as extra queries
instead of repeated keys, and a cache that is written in place. It covers Qwen2, Llama and Mistral blocks with full
attention; whatever else there is goes through transformers (`language_model.py`), and what this gives is compared with
transformers when a model is loaded. Knows nothing about routing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import PreTrainedModel

from citer_core.models.kv_cache import Attend, Heads, KVCache
from citer_core.models.products import SAMPLE_BYTES, Products, Shape, is_measurable, measure_products, representatives
from citer_core.models.transfer import lists_to_device, to_device

ARCHITECTURES = frozenset({"Qwen2ForCausalLM", "LlamaForCausalLM", "MistralForCausalLM"})
MOST_COPIED_HEAD = 16 << 20  # bytes up to which a head is held a second time
STATIC_ROPE = frozenset({"default", "linear", "llama3"})
# All tensors of a block that this pass reads; a block that has others is computed by transformers.
_MATRICES = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj", "mlp.gate_proj",
             "mlp.up_proj", "mlp.down_proj")  # fmt: skip
_TENSORS = frozenset(
    [f"{name}.weight" for name in (*_MATRICES, "input_layernorm", "post_attention_layernorm")]
    + [f"{name}.bias" for name in _MATRICES[:3]]
)


@dataclass(frozen=True, slots=True)
class _Block:
    """Weights of one block; matrices are [in, out]."""

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
        vocab_size: tokens of the shared tokenizer; the padding rows of the head are cut off.

    Attributes:
        products: how few rows are multiplied; chosen here, for these matrices on this processor.
    """

    def __init__(self, model: PreTrainedModel, vocab_size: int) -> None:
        config = model.config
        dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        self._heads = Heads(config.num_attention_heads, config.num_key_value_heads, dim)
        self._eps = config.rms_norm_eps
        self._body = model.base_model
        self._embedding = model.get_input_embeddings().weight
        self._head, self._vocab_size = model.get_output_embeddings(), vocab_size
        self._head_matrix = _head_matrix(self._head)
        self._is_plain = is_plain(self._embedding)
        hidden_size = config.hidden_size
        norm_scale = math.sqrt(hidden_size) if self._is_plain else 1.0
        self._eps_leg = torch.tensor(math.sqrt(hidden_size * self._eps))
        self._norm = self._body.norm.weight.detach() * norm_scale
        self._blocks = [_fuse(layer, norm_scale) for layer in self._body.layers]
        self._cos, self._sin = self._make_rope_tables(256)
        self.products = _products_for(self._blocks)

    @staticmethod
    def supports(model: PreTrainedModel) -> bool:
        """Whether the model is of a shape that this pass computes: plain linear layers, full attention, static RoPE."""
        config = model.config
        if type(model).__name__ not in ARCHITECTURES or config.hidden_act != "silu":
            return False
        full_attention = all(kind == "full_attention" for kind in getattr(config, "layer_types", None) or [])
        no_window = getattr(config, "layer_types", None) is not None or getattr(config, "sliding_window", None) is None
        rope = getattr(config, "rope_parameters", None) or {}
        static_rope = rope.get("rope_type", "default") in STATIC_ROPE or (
            rope["rope_type"] == "longrope" and rope["short_factor"] == rope["long_factor"]
        )
        plain = all(
            {name for name, _ in layer.named_parameters()} <= _TENSORS
            and all(type(layer.get_submodule(name)) is nn.Linear for name in _MATRICES)
            for layer in model.base_model.layers
        )
        one_device = len({parameter.device for parameter in model.parameters()}) == 1
        return full_attention and no_window and static_rope and plain and one_device

    def new_cache(self, n_slots: int = 1, n_spare: int = 0) -> KVCache:
        """An empty cache of so many sequences, each with so many spare rows."""
        return KVCache(len(self._blocks), self._heads, self._embedding, n_slots, n_spare)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        device: torch.device = self._embedding.device
        return device

    def rope_tables(self, n_positions: int) -> tuple[Tensor, Tensor]:
        """Cosines and sines, [positions, H_q + 2 * H_kv, D], of at least so many positions."""
        while n_positions > self._cos.shape[0]:
            self._cos, self._sin = self._make_rope_tables(2 * self._cos.shape[0])
        return self._cos, self._sin

    def _make_rope_tables(self, n_positions: int) -> tuple[Tensor, Tensor]:
        positions = torch.arange(n_positions, device=self._embedding.device)[None]
        cos, sin = self._body.rotary_emb(self._embedding[:1, None], positions)
        # rotate_half(x) = (-x2, x1): the sign goes into the table once instead of into every token.
        half = self._heads.dim // 2
        signed = torch.cat((-sin[0, :, :half], sin[0, :, half:]), dim=-1)
        # Values go through the rotation unturned (cosine 1, sine 0): fewer operations than taking them out and back.
        return self._for_all_heads(cos[0], 1.0), self._for_all_heads(signed, 0.0)

    def _for_all_heads(self, table: Tensor, for_values: float) -> Tensor:
        """[positions, H_q + 2 * H_kv, D] from a [positions, D] table for queries and keys and a constant for values."""
        n_turned = self._heads.n_q + self._heads.n_kv
        rest = table.new_full((len(table), self._heads.n_kv, self._heads.dim), for_values)
        return torch.cat((table[:, None].expand(-1, n_turned, -1), rest), dim=1)

    def hidden_states(
        self,
        new_ids: Sequence[Sequence[int]],
        cache: KVCache,
        slots: Sequence[int] = (0,),
        n_last: Sequence[int] | None = None,
    ) -> Tensor:
        """Last hidden states, after the final norm, of some sequences that each add their own number of tokens.

        All tokens go through the matrix products as one row of text, without padding; only attention sees sequences.

        Args:
            new_ids: B times one token or more.
            cache: of the tokens before them, extended in place.
            slots: of each sequence in the cache, all different.
            n_last: of each sequence, at how many of its last tokens the state is wanted; None for all of them.

        Returns:
            [N, H] in the weights' dtype: the states, one sequence after another.
        """
        device = self._embedding.device
        if len(slots) == 1:
            ids, start = new_ids[0], cache.lengths[slots[0]]
            n, end = len(ids), start + len(ids)
            cos, sin = self.rope_tables(end)
            last = None if n_last is None or n_last[0] == n else torch.arange(n - n_last[0], n, device=device)
            attend = cache.extend(slots, [n])
            return self.blocks_forward(to_device(ids, device), cos[start:end], sin[start:end], attend, last)
        starts = [cache.lengths[slot] for slot in slots]
        order = sorted(range(len(slots)), key=lambda row: len(new_ids[row]))
        tables = self.rope_tables(max(start + len(ids) for start, ids in zip(starts, new_ids, strict=True)))
        n_new = [len(new_ids[row]) for row in order]
        ends = dict(zip(order, accumulate(n_new), strict=True))  # of each sequence in the packed text
        n_kept = [len(ids) for ids in new_ids] if n_last is None else n_last
        kept = [place for row, n in enumerate(n_kept) for place in range(ends[row] - n, ends[row])]
        packed, positions, rows = lists_to_device(
            (
                [i for row in order for i in new_ids[row]],
                [p for row in order for p in range(starts[row], starts[row] + len(new_ids[row]))],
                kept,
            ),
            device,
        )
        attend = cache.extend([slots[row] for row in order], n_new)
        cos, sin = (table.index_select(0, positions) for table in tables)
        return self.blocks_forward(packed, cos, sin, attend, None if kept == list(range(len(packed))) else rows)

    def blocks_forward(
        self, ids: Tensor, cos: Tensor, sin: Tensor, attend: Attend, kept: Tensor | None = None
    ) -> Tensor:
        """All blocks and the final norm.

        Args:
            ids: [N] int64.
            cos, sin: [N, H_q + 2 * H_kv, D] of the tokens' positions.
            attend: from (layer, query, key and value side by side [N, H_q + 2 * H_kv, D]) to mixed values
                [N, H_q * D]; it also puts key and value into a cache.
            kept: [M] int64, of which tokens the state is wanted, in which order; None for all as they are.

        Returns:
            [M, H]. What comes after the last block's attention is computed for these tokens only: the others'
            states there are not read, and their keys and values are in the cache by then.
        """
        # Sizes by `shape`: the length of a tensor takes as long as a small operation.
        n_tokens, dim = ids.shape[0], self._heads.dim
        n_inner = self._blocks[0].down.shape[0]
        hidden = F.embedding(ids, self._embedding)
        for layer, block in enumerate(self._blocks):
            x = self._rms_norm(hidden, block.attention_norm)
            qkv = self.products(x, block.qkv, block.qkv_bias).view(n_tokens, -1, dim)
            qkv = torch.addcmul(qkv * cos, qkv.roll(dim // 2, -1), sin)  # both halves swapped, signs in the table
            mixed = attend(layer, qkv)
            if kept is not None and layer == len(self._blocks) - 1:
                hidden, mixed = hidden.index_select(0, kept), mixed.index_select(0, kept)
            self.products.add_to(hidden, mixed, block.out)
            gate_up = self.products(self._rms_norm(hidden, block.mlp_norm), block.gate_up)
            gate, up = gate_up.narrow(1, 0, n_inner), gate_up.narrow(1, n_inner, n_inner)
            self.products.add_to(hidden, F.silu(gate, inplace=True).mul_(up), block.down)
        return self._rms_norm(hidden, self._norm)

    def logits(self, hidden: Tensor) -> Tensor:
        """[N, V] of hidden states [N, H]."""
        matrix = self._head_matrix
        logits: Tensor = self._head(hidden) if matrix is None else self.products(hidden, matrix)
        return logits if logits.shape[-1] == self._vocab_size else logits[:, : self._vocab_size]

    def _rms_norm(self, hidden: Tensor, weight: Tensor) -> Tensor:
        """Root-mean-square norm over the last dimension."""
        if not self._is_plain:
            return F.rms_norm(hidden, hidden.shape[-1:], weight, self._eps)
        # The library's own takes ten operations on a CPU, three times as long. The root of sum(x^2) + H * eps is a
        # hypotenuse; the root of H is in the weight.
        size = torch.hypot(torch.linalg.vector_norm(hidden, dim=-1, keepdim=True), self._eps_leg)
        return (hidden / size).mul_(weight)


def _fuse(layer: Any, norm_scale: float) -> _Block:
    attention, mlp = layer.self_attn, layer.mlp
    qkv, qkv_bias = _merge(attention.q_proj, attention.k_proj, attention.v_proj)
    gate_up, _ = _merge(mlp.gate_proj, mlp.up_proj)
    out, _ = _merge(attention.o_proj)
    down, _ = _merge(mlp.down_proj)
    return _Block(
        attention_norm=layer.input_layernorm.weight.detach() * norm_scale,
        qkv=qkv,
        qkv_bias=qkv_bias,
        out=out,
        mlp_norm=layer.post_attention_layernorm.weight.detach() * norm_scale,
        gate_up=gate_up,
        down=down,
    )


def _products_for(blocks: Sequence[_Block]) -> Products:
    if not is_measurable(blocks[0].qkv):
        return Products()
    n_bytes: Counter[Shape] = Counter()
    for block in blocks:
        for matrix in (block.qkv, block.out, block.gate_up, block.down):
            n_bytes[matrix.shape[0], matrix.shape[1]] += matrix.nbytes
    # What fits into a processor's caches is not read from memory at every token, and too quick to be measured here.
    return Products(measure_products(representatives(n_bytes)) if n_bytes.total() > SAMPLE_BYTES else None)


def _merge(*projections: nn.Linear) -> tuple[Tensor, Tensor | None]:
    """One matrix [in, out] (and bias) of several projections of the same input, which become views of it.

    In float32 on a CPU it also lies so in memory: its products with a few rows take a third less time there (measured
    for 1 to 64 rows; in bfloat16 it is the other way round).
    """
    weight = torch.cat([p.weight.detach() for p in projections])
    if is_plain(weight):
        weight = weight.t().contiguous().t()
    biased = getattr(projections[0], "bias", None) is not None
    bias = torch.cat([p.bias.detach() for p in projections]) if biased else None
    row = 0
    for p in projections:
        p.weight.data = weight[row : row + p.out_features]
        if bias is not None:
            p.bias.data = bias[row : row + p.out_features]
        row += p.out_features
    return weight.t(), bias


def _head_matrix(head: nn.Module) -> Tensor | None:
    """The weights [H, V] of a head that is nothing but a product, else None.

    A small one in float32 on a CPU is copied so that it also lies so in memory, which halves the product's time for up
    to 16 rows. It cannot be turned in place as the blocks' matrices are: the embedding reads the same weights by token.
    """
    if type(head) is not nn.Linear or getattr(head, "bias", None) is not None:
        return None
    matrix = head.weight.detach().t()
    return matrix.contiguous() if is_plain(matrix) and matrix.nbytes <= MOST_COPIED_HEAD else matrix


def is_plain(weight: Tensor) -> bool:
    """Whether arithmetic is in float32 on a CPU, where the count of operations matters most."""
    return weight.dtype == torch.float32 and weight.device.type == "cpu"
