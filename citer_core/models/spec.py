"""A model's cost numbers, read off a loaded one, and how much memory it needs: an estimate of weights and KV cache.

Activations, the framework itself and, on a GPU, fragmentation come on top: about a tenth. Imports no torch: also for
those who load no model. How weights are named is `revision`'s business.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from citer_core.cost import ModelSpec
from citer_core.errors import PairError
from citer_core.types import QUANTIZATIONS

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel

BYTES_PER_ELEMENT = {"float32": 4, "bfloat16": 2, "float16": 2}
# bitsandbytes: NF4 with one float32 scale for 64 weights; int8 with one scale a row, which is next to nothing.
BLOCK_BITS = {"4bit": 4.5, "8bit": 8.0}
CONTEXT = 2048  # tokens: a long question with a long chain of thought


def model_bytes(spec: ModelSpec, dtype: str, quantization: str | None = None, n_context: int = CONTEXT) -> int:
    """Bytes that a model's weights and the KV cache of one text occupy.

    Args:
        spec: of the model; its own `bytes_per_element` does not count here.
        dtype: that it is loaded in.
        quantization: `4bit`, `8bit` or None; the embedding tables and the cache stay in `dtype`.
        n_context: tokens of the text, from 0.

    Raises:
        PairError: an unknown dtype or quantization.
    """
    if dtype not in BYTES_PER_ELEMENT:
        raise PairError(f'Unknown dtype "{dtype}". Choose one of {", ".join(BYTES_PER_ELEMENT)}.')
    if quantization is not None and quantization not in BLOCK_BITS:
        raise PairError(f'Unknown quantization "{quantization}". Choose {" or ".join(QUANTIZATIONS)}.')
    loaded = replace(
        spec,
        bytes_per_element=BYTES_PER_ELEMENT[dtype],
        block_bits=BLOCK_BITS[quantization] if quantization else None,
    )
    return loaded.stored_bytes + loaded.kv_bytes_per_token * n_context


def spec_of(model: PreTrainedModel, name: str, vocab_size: int) -> ModelSpec:
    """The cost numbers of a decoder-only transformers model.

    Args:
        model: the loaded model; its parameters are counted, tied ones once.
        name: for people.
        vocab_size: rows of the embedding table.
    """
    config = model.config.get_text_config(decoder=True)
    n_heads = config.num_attention_heads
    embedding = model.get_input_embeddings().weight
    head = model.get_output_embeddings()
    return ModelSpec(
        name=name,
        n_params=sum(_n_elements(p) for p in model.parameters()),
        n_layers=config.num_hidden_layers,
        n_heads=n_heads,
        n_kv_heads=getattr(config, "num_key_value_heads", None) or n_heads,
        head_dim=getattr(config, "head_dim", None) or config.hidden_size // n_heads,
        vocab_size=vocab_size,
        hidden_size=config.hidden_size,
        tied_embeddings=head is not None and head.weight is embedding,
        bytes_per_element=embedding.element_size(),
        block_bits=_block_bits(model),
    )


def _n_elements(parameter: Tensor) -> int:
    """How many weights a parameter stands for; bitsandbytes packs two of 4 bits into one byte."""
    state = getattr(parameter, "quant_state", None)
    return parameter.numel() if state is None else math.prod(state.shape)


def _block_bits(model: PreTrainedModel) -> float | None:
    for name, attribute in (("4bit", "is_loaded_in_4bit"), ("8bit", "is_loaded_in_8bit")):
        if getattr(model, attribute, False):
            return BLOCK_BITS[name]
    return None
