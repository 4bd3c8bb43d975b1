"""`ModelSpec`: a pair's cost numbers, read off a loaded model. How its weights are named is `revision`'s business."""

from __future__ import annotations

import math

from torch import Tensor
from transformers import PreTrainedModel

from citer_core.cost import ModelSpec
from citer_core.models.memory import BLOCK_BITS


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
