"""How much memory a model needs, from its parameters and its precision: an estimate of weights and KV cache.

Activations, the framework itself and, on a GPU, fragmentation come on top: about a tenth. Standard library only.
"""

from __future__ import annotations

from dataclasses import replace

from citer_core.cost import ModelSpec
from citer_core.errors import PairError
from citer_core.types import QUANTIZATIONS

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
