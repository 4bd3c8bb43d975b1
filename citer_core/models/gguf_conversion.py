"""GGUF weights, converted once into an ordinary checkpoint: safetensors, config and tokenizer.

    $CITER_CACHE/converted/NAME-SHA256-DTYPE-EDITION/    a folder for `load_pair`; citer.json says what it was made of

Reading quantized blocks takes minutes, reading the result a second. The result is named by the file's hash and the
dtype, and appears under its name only when it is complete. Who asks is `pair`.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import re
import shutil
import time
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from transformers import AutoTokenizer, GgufConfig, PreTrainedModel

from citer_core.config import cache_folder
from citer_core.errors import ModelFileError
from citer_core.files import is_write_failure, why
from citer_core.gate.excerpt import clean, excerpt, first_line
from citer_core.leftovers import clear_leftovers
from citer_core.models.config_file import MAX_CONFIG_NUMBER, VALUES_PER_BYTE
from citer_core.models.hashes import FILES, NOTE, sha256_of, sums_of
from citer_core.models.sources import CONVERSION
from citer_core.models.tensor_checks import check_tensors, load_tensors

if TYPE_CHECKING:
    from gguf import GGUFReader

log = logging.getLogger(__name__)

GGUF_PIN = "gguf==0.19.0"
# What a header may say besides what transformers reads of it: of the file, of the tokenizer, and sizes that its tensors
# show too. Any other key could change the text.
HARMLESS = re.compile(
    r"(GGUF|general|tokenizer|quantize|imatrix|split)\..+"
    r"|.+\.(vocab_size|attention\.(key|value)_length|rope\.dimension_count|rope\.scaling\.finetuned)"
)
ROPE = re.compile(r".+\.rope\.(scaling\.(type|factor|original_context_length|yarn_beta_(fast|slow))|scale_linear)")
ROPE_FACTORS = "rope_freqs.weight"  # what each frequency is divided by
# What a header must say of its architecture: where one is missing, transformers builds a model of billions for it.
SIZES = ("block_count", "embedding_length", "feed_forward_length", "attention.head_count")


def converted_folder(path: Path, dtype: str) -> Path:
    """Where the conversion of a GGUF file is, or will be.

    Raises:
        ModelFileError: the file cannot be read.
    """
    return cache_folder() / "converted" / f"{path.stem}-{sha256_of(path)[:16]}-{dtype}-{CONVERSION}"


def convert(path: Path, dtype: str) -> Path:
    """The checkpoint made from a GGUF file, made now if it is not there yet.

    Args:
        path: of the file.
        dtype: of the weights, as torch spells it. The blocks are unpacked in float32 and then rounded.

    Returns:
        The folder.

    Raises:
        ModelFileError: the package gguf is missing, the file is damaged or of an architecture that transformers cannot
            unpack, or the cache cannot be written.
    """
    target = converted_folder(path, dtype)
    if (target / NOTE).is_file():
        return target
    if importlib.util.find_spec("gguf") is None:
        raise ModelFileError(
            f"{path.name} is a GGUF file, and the package that unpacks it is missing: run `pip install {GGUF_PIN}`."
        )
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    clear_leftovers(cache_folder())  # of conversions that were killed: gigabytes that would stay unnoticed
    log.info("converting %s to %s, once: this takes a minute or a few", path.name, dtype)
    start = time.perf_counter()
    try:
        _write(path, dtype, partial)
        partial.rename(target)
    except Exception as error:
        if not is_write_failure(error):
            raise
        if not (target / NOTE).is_file():  # else another process was faster, and its result is as good
            raise ModelFileError(
                f"{path.name} could not be converted into {target} ({why(error)}): make "
                "room, or set CITER_CACHE to a folder on a larger disk."
            ) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    first_edition = target.with_name(target.name.removesuffix(f"-{CONVERSION}"))
    shutil.rmtree(first_edition, ignore_errors=True)
    log.info("converted %s in %.0f s into %s", path.name, time.perf_counter() - start, target)
    return target


def _write(path: Path, dtype: str, partial: Path) -> None:
    try:
        reader = _checked_header(path)
        unpacking = GgufConfig(dequantize=True)
        model, found = load_tensors(
            path.parent, gguf_file=path.name, dtype=getattr(torch, dtype), quantization_config=unpacking
        )
        tokenizer = AutoTokenizer.from_pretrained(
            path.parent, gguf_file=path.name, local_files_only=True, trust_remote_code=False
        )
        _check_all_is_read(reader, model)
        rope = _rope_scaling(reader)
    except Exception as error:  # gguf and transformers each have their own kinds for a file that they cannot read
        raise ModelFileError(
            f"{path.name} could not be unpacked ({first_line(error)}). The file may be truncated, or of a kind that "
            "transformers does not read: fetch it again, or give a checkpoint in safetensors."
        ) from error
    check_tensors(path.name, model, found)
    if rope:
        model.config.rope_parameters = {**model.config.rope_parameters, **rope}
    model.save_pretrained(partial)
    tokenizer.save_pretrained(partial)
    provenance = {
        "file": path.name,
        "sha256": sha256_of(path),
        "dtype": dtype,
        FILES: sums_of(partial, [file.name for file in partial.iterdir()]),
        "versions": {name: version(name) for name in ("gguf", "transformers", "torch")},
    }
    (partial / NOTE).write_text(json.dumps(provenance, indent=2) + "\n", encoding="utf-8")


def _checked_header(path: Path) -> GGUFReader:
    """The file's reader, before transformers builds as many layers, as wide, as a damaged number says."""
    from gguf import GGUFReader

    reader = GGUFReader(path)
    found = {name: field.contents() for name, field in reader.fields.items() if "tokenizer" not in name}
    if (n_parts := found.get("split.count", 1)) > 1:
        raise ValueError(f"it is one of {n_parts} parts: join them with llama.cpp's gguf-split --merge")
    layers = {tensor.name.split(".")[1] for tensor in reader.tensors if tensor.name.startswith("blk.")}
    most_values = VALUES_PER_BYTE * path.stat().st_size
    hidden = next((value for name, value in found.items() if name.endswith(".embedding_length")), 1)
    for key in SIZES:
        if f"{found.get('general.architecture')}.{key}" not in found:
            raise ValueError(f"its header does not say {key}")
    for name, value in found.items():
        if not isinstance(value, int | float) or isinstance(value, bool):
            continue
        is_right = value == len(layers) if name.endswith(".block_count") else abs(value) <= MAX_CONFIG_NUMBER
        if name.endswith(("_length", ".head_count", ".head_count_kv")) and not name.endswith(".context_length"):
            is_right = is_right and 0 < value * hidden * max(1, len(layers)) <= most_values
        if not is_right:
            raise ValueError(
                f"its header says {clean(name)[:60]} = {excerpt(value)}, which its tensors do not bear out"
            )
    return reader


def _check_all_is_read(reader: GGUFReader, model: PreTrainedModel) -> None:
    """Whether transformers reads every key and tensor: what it does not know it passes over without a word."""
    from transformers.integrations.ggml import GGUF_CONFIG_MAPPING
    from transformers.modeling_gguf_pytorch_utils import TENSOR_PROCESSORS, TensorProcessor, get_gguf_hf_weights_map

    kind = model.config.model_type
    known = {*GGUF_CONFIG_MAPPING.get(kind, ()), *GGUF_CONFIG_MAPPING.get(kind.removesuffix("_text"), ())}
    for key in reader.fields:
        if not (HARMLESS.fullmatch(key) or ROPE.fullmatch(key) or key.partition(".")[2] in known):
            raise ValueError(f"its header says {clean(key)[:60]}, which is not read here")
    processor = TENSOR_PROCESSORS.get(kind, TensorProcessor)(config=model.config.to_dict())
    read = get_gguf_hf_weights_map(model, processor)
    for tensor in reader.tensors:
        is_expert = "_exps" in tensor.name  # merged with others of their kind when they are read
        if tensor.name not in read and tensor.name != ROPE_FACTORS and not is_expert:
            raise ValueError(f"it has the tensor {clean(tensor.name)[:60]}, which is not read here")


def _rope_scaling(reader: GGUFReader) -> dict[str, Any]:
    """How positions are turned, as far as the header or a tensor says it, in the words of a config.json."""
    found = {m[1]: reader.fields[key].contents() for key in reader.fields if (m := ROPE.fullmatch(key))}
    said = {name.removeprefix("scaling."): value for name, value in found.items()}
    kind, factor = said.get("type", "linear" if "scale_linear" in said else "none"), said.get("factor", 1.0)
    factors = next(
        (tensor.data.astype("float64").tolist() for tensor in reader.tensors if tensor.name == ROPE_FACTORS), None
    )
    if factors is not None and kind == "none":
        # llama.cpp's form of Llama 3.1's scaling; the same for short and for long texts.
        both = {"short_factor": factors, "long_factor": factors}
        return {"rope_type": "longrope", **both, "attention_factor": 1.0, "factor": 1.0,
                "original_max_position_embeddings": _context(reader)}  # fmt: skip
    if kind == "linear" and factors is None:
        return {"rope_type": "linear", "factor": said.get("scale_linear", factor)}
    if kind == "yarn" and factors is None:
        original = said.get("original_context_length", round(_context(reader) / factor))
        betas = {f"beta_{end}": said[f"yarn_beta_{end}"] for end in ("fast", "slow") if f"yarn_beta_{end}" in said}
        return {"rope_type": "yarn", "factor": factor, "original_max_position_embeddings": original, **betas}
    if kind != "none":
        raise ValueError(f"its header scales positions in a way that is not read here ({clean(str(kind))[:30]})")
    return {}


def _context(reader: GGUFReader) -> int:
    return int(next(field.contents() for key, field in reader.fields.items() if key.endswith(".context_length")))
