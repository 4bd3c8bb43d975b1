"""`ModelSpec` read off a loaded model, and the hash that names its weights."""

from __future__ import annotations

import hashlib
import math

from torch import Tensor
from transformers import PreTrainedModel

from citer_core.cost import ModelSpec
from citer_core.models.memory import BLOCK_BITS

SERVER_REVISION = "server:"  # begins the LLM's half of a pair's revision where its weights cannot be read


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


def weights_revision(model: PreTrainedModel) -> str:
    """Sixteen hex digits of a SHA-256 over the model's shape and a sample of every parameter.

    Every tensor contributes its name, shape and up to 64 evenly spaced values, so that retrained weights get another
    name while a 1.5 B model is still named in well under a second. Values are rounded to bfloat16 first: the same
    weights in float32 and in bfloat16 are one revision, because a router trained on either reads both.
    """
    digest = hashlib.sha256()
    for name, parameter in sorted(model.named_parameters()):
        flat = parameter.detach().flatten()
        sample = flat[:: max(1, flat.numel() // 64)][:64].bfloat16().float().cpu()
        digest.update(f"{name}{tuple(parameter.shape)}".encode())
        digest.update(sample.contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]


def is_same_pair(recorded: str, loaded: str) -> bool:
    """Whether two revisions of pairs name the same weights, as far as can be known.

    Args:
        recorded: the revision that something was made for.
        loaded: of the loaded pair. Of an LLM on a server nothing is known, so only the SLM is compared then: a router
            reads the SLM's states.
    """
    slm, _, llm = loaded.partition("-")
    return recorded.partition("-")[0] == slm if llm.startswith(SERVER_REVISION) else recorded == loaded
