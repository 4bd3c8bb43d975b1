"""A checkpoint's config.json, looked at before transformers builds what it says: numbers that no model has, and
sizes that its weights cannot fill. Building first would take the memory first. Called by `checkpoint`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from transformers import AutoConfig, PretrainedConfig

from citer_core.errors import GateError, ModelFileError
from citer_core.gate.excerpt import clean, excerpt
from citer_core.gate.fields import Kind, Maybe, Whole
from citer_core.gate.json_file import read_json

CONFIG = "config.json"
MAX_LAYERS = 2000
MAX_CONFIG_NUMBER = 10**12
VALUES_PER_BYTE = 8  # a byte holds two values of 4 bits; four times as many are left for what a formula here misses
_SIZE = Whole(1, 10**7)
_CONTEXTS = ("max_position_embeddings", "max_seq_len", "seq_length")
CONTEXT_WITHOUT_END = 2048  # of families whose positions have no end; what the first of them were trained on
_CONFIG_KINDS: dict[str, Kind[Any]] = {
    "num_hidden_layers": Whole(1, MAX_LAYERS),
    "hidden_size": _SIZE,
    "vocab_size": _SIZE,
    "num_attention_heads": Whole(1, 100_000),
}
_OPTIONAL_KINDS: dict[str, Kind[Any]] = {
    "num_key_value_heads": Maybe(Whole(1, 100_000)),
    "head_dim": Maybe(Whole(1, 100_000)),
    "intermediate_size": Maybe(_SIZE),
    **dict.fromkeys(_CONTEXTS, Maybe(Whole(-1, 10**9))),
}
AGAIN = "Get the model's files again; nothing was loaded."


def read_config(folder: Path) -> PretrainedConfig:
    """The configuration in a folder.

    Raises:
        ModelFileError: there is none, it is no JSON, or it describes no model that could be.
    """
    place = f"{folder.name}/{CONFIG}"
    try:
        _check_numbers(read_json(folder / CONFIG, max_bytes=10_000_000), place)
        config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        text = config.get_text_config(decoder=True)
        if getattr(text, "num_attention_heads", None) is None:
            raise ModelFileError(
                f"{folder.name}/ is of the family {clean(text.model_type)}, which has no attention heads: what is "
                "cached and counted here are the keys and values of attention. Choose a pair of another family."
            )
        for name, kind in _CONFIG_KINDS.items():
            kind.read(getattr(text, name, None), name)
        for name, kind in _OPTIONAL_KINDS.items():
            kind.read(_largest(getattr(text, name, None)), name)
    except ModelFileError:
        raise
    except GateError as error:
        raise ModelFileError(f"{place} cannot be used: {error} {AGAIN}") from error
    except Exception as error:  # transformers checks fields by many means, each with an error of its own
        raise ModelFileError(
            f"{place} describes no language model that transformers knows ({type(error).__name__}). {AGAIN}"
        ) from error
    return config


def context_length(config: PretrainedConfig) -> int:
    """How many tokens a text may have, as the model's configuration says it under one name or another."""
    lengths = (getattr(config.get_text_config(decoder=True), name, None) for name in _CONTEXTS)
    return next((int(length) for length in lengths if length and length > 0), CONTEXT_WITHOUT_END)


def _largest(value: Any) -> Any:
    """One number where a family has one for each layer."""
    return max(value) if isinstance(value, list) and value and all(isinstance(v, int) for v in value) else value


def check_sizes(folder: Path, config: PretrainedConfig) -> None:
    """Whether the weights in a folder can be those of a model of these sizes.

    Raises:
        ModelFileError: they are far too small; a size in config.json is damaged, or the weights were cut off.
    """
    n_bytes = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
    text = config.get_text_config(decoder=True)
    hidden, n_heads = text.hidden_size, text.num_attention_heads
    head_dim = getattr(text, "head_dim", None) or max(1, hidden // n_heads)
    wide = _largest(getattr(text, "intermediate_size", None)) or 0
    n_values = hidden * max(text.vocab_size, text.num_hidden_layers * max(wide, n_heads * head_dim))
    if n_bytes and n_values > VALUES_PER_BYTE * n_bytes:
        raise ModelFileError(
            f"The model in {folder.name}/ could not be read: its {CONFIG} describes {n_values:,} weights and more, but "
            f"its safetensors files have {n_bytes:,} bytes. One of them is damaged. {AGAIN}"
        )


def _check_numbers(document: Any, place: str) -> None:
    """Before transformers makes a list of as many entries as a number says."""
    if not isinstance(document, dict):
        raise ModelFileError(f"{place} is {excerpt(document)}, not an object. {AGAIN}")
    for name, value in _numbers(document, ""):
        most = MAX_LAYERS if "layer" in name else MAX_CONFIG_NUMBER
        if abs(value) > most:
            raise ModelFileError(f"{place} says {name} = {excerpt(value)}; at most {most:,} is taken. {AGAIN}")


def _numbers(value: Any, name: str) -> Iterator[tuple[str, float]]:
    if isinstance(value, dict):
        for key, entry in value.items():
            yield from _numbers(entry, key)
    elif isinstance(value, list):
        for entry in value:
            yield from _numbers(entry, name)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield clean(name[:40]), value
