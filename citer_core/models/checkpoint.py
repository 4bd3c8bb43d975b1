"""One model's checkpoint: its weights and tokenizer, read from a folder of ordinary transformers files.

Safetensors only, nothing is unpickled. What two models need in order to be a pair is checked here too. Knows nothing
about routing, and nothing about where folders come from (`store`).
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    BitsAndBytesConfig,
    GenerationConfig,
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.utils import logging as transformers_logging

from citer_core.errors import GateError, ModelFileError, PairError
from citer_core.gate.excerpt import clean, first_line
from citer_core.gate.fields import ListOf, Maybe, Whole
from citer_core.gate.json_file import read_bytes, read_json
from citer_core.models.config_file import check_sizes, read_config
from citer_core.models.hashes import check_files
from citer_core.models.prompt_form import PromptForm
from citer_core.models.tensor_checks import check_tensors, load_tensors
from citer_core.types import QUANTIZATIONS

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
_EOS = ListOf(Maybe(Whole(0, 10**7)), most=1000)
BITSANDBYTES_PIN = "bitsandbytes==0.50.2"
ADAPTER = "adapter_config.json"
MAX_ADDED_TOKENS, MAX_TOKENIZER_BYTES = 20_000, 200_000_000


def load_checkpoint(
    folder: Path,
    *,
    tokenizer_folder: Path | None = None,
    dtype: str = "float32",
    chat: bool | None = None,
) -> tuple[PreTrainedModel, PromptForm, int]:
    """One model alone, for training.

    Args:
        folder: a local transformers checkpoint.
        tokenizer_folder: where its tokenizer is, if not there.
        dtype: a key of `DTYPES`.
        chat: see `PairOptions`.

    Returns:
        The model, its tokenizer in the form that prompts take, and the id that a training text ends with: the one that
        labels end with too.

    Raises:
        PairError: a chat was asked for, and there is no template.
        ModelFileError: a folder or file is missing or damaged, or nothing in it says how a text ends.
    """
    model = load_model(folder, "cpu", DTYPES[dtype])
    tokenizer = load_tokenizer(tokenizer_folder or folder)
    eos_ids = eos_ids_of(tokenizer, model)
    if not eos_ids:
        raise ModelFileError(f"{folder.name}/ names no end-of-text token: set eos_token in its tokenizer_config.json.")
    form = PromptForm.of(tokenizer, chat=chat)
    return model, form, form.end_id(eos_ids)


def load_tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    """A folder's tokenizer; raises `ModelFileError` where there is none, or another than its card names."""
    _check_folder(folder)
    check_files(folder)
    _check_added_tokens(folder)
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # tokenizers raises plain `Exception`, and transformers whatever a field's kind leads to
        raise ModelFileError(f"No tokenizer could be read from {folder.name}/ ({first_line(error)}).") from error
    if len(tokenizer) <= len(tokenizer.all_special_ids):  # transformers makes an empty one where there are no files
        raise ModelFileError(
            f"There is no tokenizer in {folder.name}/: put the model's tokenizer.json (or vocab.json and merges.txt, "
            "or tokenizer.model) and tokenizer_config.json there."
        )
    return tokenizer


def load_model(
    folder: Path,
    device: str,
    dtype: torch.dtype,
    *,
    device_map: str | None = None,
    quantization: BitsAndBytesConfig | None = None,
) -> PreTrainedModel:
    """A folder's model; `device_map` or `quantization` leave it to transformers where the weights go.

    Raises:
        ModelFileError: it is missing or damaged, is not what its card names, lacks tensors or has others, or has
            weights that are not finite numbers.
        PairError: it does not fit onto the device, or the device is none.
    """
    placed: dict[str, Any] = {}
    if quantization is not None:
        placed = {"quantization_config": quantization, "device_map": {"": device}}
    if device_map is not None:
        placed["device_map"] = device_map
    _check_folder(folder)
    check_files(folder)
    _check_weights(folder)
    config = read_config(folder)
    check_sizes(folder, config)
    transformers_logging.disable_progress_bar()  # a bar per shard says nothing about a model that loads in a second
    try:
        model, found = load_tensors(
            folder,
            config=config,
            dtype=dtype,
            use_safetensors=True,
            ignore_mismatched_sizes=True,  # else its error says to set this; it is ours that refuses them
            **placed,
        )
    except torch.OutOfMemoryError as error:
        raise _does_not_fit(folder, device_map or device) from error
    except Exception as error:  # safetensors, JSON and transformers each have their own kinds for a damaged file
        raise _unreadable(folder, config, error) from error
    check_tensors(folder.name, model, found)
    if placed:
        if any(parameter.device.type == "meta" for parameter in model.parameters()):
            # Weights on the disk would be read again for every token.
            raise _does_not_fit(folder, device_map or device)
        return model
    try:
        return model.to(device)
    except torch.OutOfMemoryError as error:
        raise _does_not_fit(folder, device) from error
    except (RuntimeError, AssertionError) as error:  # torch has both for a device that it does not know or have
        raise PairError(
            f'The device "{device}" cannot be used here ({first_line(error)}). Choose cpu, or one that torch sees.'
        ) from error


def load_shape(folder: Path) -> PreTrainedModel:
    """A model without its weights: its shape, for costs, and how its texts end. Its parameters have sizes, no values.

    Raises:
        ModelFileError: config.json or generation_config.json cannot be read.
    """
    try:
        config = read_config(folder)
        with torch.device("meta"):
            model: PreTrainedModel = AutoModelForCausalLM.from_config(config, dtype=config.dtype or torch.bfloat16)
    except Exception as error:  # each architecture checks what it is built of by means of its own
        raise ModelFileError(
            f"No config.json of a causal language model could be read from {folder.name}/. The LLM's sizes are needed "
            "for costs: give its folder in --pair; config.json (and generation_config.json) is enough there."
        ) from error
    if (folder / "generation_config.json").is_file():
        try:
            model.generation_config = GenerationConfig.from_pretrained(folder, local_files_only=True)
        except Exception as error:
            raise ModelFileError(
                f"{folder.name}/generation_config.json cannot be read ({type(error).__name__}): get it again."
            ) from error
    return model


def _check_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise ModelFileError(f"There is no model folder {folder}. Give the path of a transformers checkpoint.")


def _check_weights(folder: Path) -> None:
    """Whether the folder holds a model's weights, in files of its own that can be read without running anything."""
    if (folder / ADAPTER).is_file():
        raise ModelFileError(
            f"{folder.name}/ holds an adapter ({ADAPTER}), which is no model without its base: merge the two (peft's "
            "merge_and_unload, then save_pretrained) and give that folder. If whole weights are beside it, move "
            f"{ADAPTER} away."
        )
    pickled = sorted(path.name for path in folder.glob("*.bin"))
    if pickled and not any(folder.glob("*.safetensors")):
        raise ModelFileError(
            f"{folder.name}/ has its weights in {clean(pickled[0])[:60]} only, a format that can run code when it is "
            "read: save them as safetensors (transformers' save_pretrained does), or get that version of the model."
        )
    index = folder / "model.safetensors.index.json"
    if not index.exists():
        return
    try:
        document = read_json(index, max_bytes=100_000_000)
    except GateError as error:
        raise ModelFileError(f"{folder.name}/{index.name} cannot be used: {error}") from error
    names = set(document["weight_map"].values()) if isinstance(document, dict) and "weight_map" in document else set()
    for name in sorted(map(str, names)):
        path = folder / name
        if Path(name).name != name or not path.is_file():
            raise ModelFileError(
                f"{folder.name}/{index.name} names {clean(name)[:60]}, and there is no such file in the folder: fetch "
                "the model again."
            )


def _check_added_tokens(folder: Path) -> None:
    """Each added token is searched for in every text; a folder from outside may have any number."""
    for name in ("tokenizer.json", "tokenizer_config.json"):
        try:
            content = read_bytes(folder / name, max_bytes=MAX_TOKENIZER_BYTES) if (folder / name).exists() else b""
        except GateError as error:
            raise ModelFileError(f"{folder.name}/{name} cannot be used: {error}") from error
        if content.count(b'"single_word"') > MAX_ADDED_TOKENS:
            raise ModelFileError(
                f"{folder.name}/{name} adds more than {MAX_ADDED_TOKENS:,} tokens, and no more are taken."
            )


def _unreadable(folder: Path, config: PretrainedConfig, error: Exception) -> ModelFileError:
    """What is wrong with a model, as far as transformers says it."""
    line = first_line(error)
    method = (getattr(config, "quantization_config", None) or {}).get("quant_method")
    if method is not None:
        what = f"is quantized ({clean(str(method))}), and that could not be loaded here ({line})"
        return ModelFileError(f"The model in {folder.name}/ {what}: install what it asks for, or take one in 16 bits.")
    if isinstance(error, ImportError):
        return ModelFileError(f"The model in {folder.name}/ needs a package that is not here ({line}).")
    return ModelFileError(
        f"The model in {folder.name}/ could not be read ({line}). Its files may be truncated, or the family "
        f"{clean(config.model_type)} lacks something in this version of transformers: fetch it again, or take another."
    )


def _does_not_fit(folder: Path, where: str) -> PairError:
    return PairError(
        f"{folder.name}/ does not fit into the memory of {where}: try --dtype bfloat16, --llm-quantization 4bit, or "
        "--device-map auto on a machine with several GPUs; `python -m citer_core pairs` says what a pair needs."
    )


def check_shared_vocabulary(slm: PreTrainedTokenizerBase, llm: PreTrainedTokenizerBase) -> None:
    """Compares token to id maps and end-of-text ids; `config.vocab_size` would not do, heads are padded differently."""
    if slm is llm:
        return
    ours, theirs = slm.get_vocab(), llm.get_vocab()
    if ours != theirs:
        differing = sorted(t for t in ours.keys() | theirs.keys() if ours.get(t) != theirs.get(t))
        raise PairError(
            f"The two models do not share one vocabulary: {len(differing)} tokens differ, {differing[0]!r} for one. "
            "Choose two models of one family."
        )
    if slm.eos_token_id != llm.eos_token_id:
        raise PairError(
            f"The two models end a text differently: token {slm.eos_token_id} and token {llm.eos_token_id}. "
            "Choose two models of one family and one kind (both base, or both instruct)."
        )


def eos_ids_of(tokenizer: PreTrainedTokenizerBase, *models: PreTrainedModel) -> frozenset[int]:
    """All ids that end a text, from the tokenizer and both generation configs: instruct models have several.

    Raises:
        ModelFileError: one of them is no token's id.
    """
    found: set[int | None] = set()
    sources: list[Any] = [tokenizer.eos_token_id]
    sources += [m.generation_config.eos_token_id for m in models if m.generation_config is not None]
    for source in sources:
        try:
            found.update(_EOS.read(source if isinstance(source, list | tuple) else [source], "eos_token_id"))
        except GateError as error:
            raise ModelFileError(f"The model's generation_config.json cannot be used: {error}") from error
    return frozenset(id_ for id_ in found if id_ is not None)


def quantization_config(bits: str | None, device: str, dtype: str) -> BitsAndBytesConfig | None:
    """What transformers needs to load the LLM in fewer bits.

    Raises:
        PairError: there is no such thing, no NVIDIA GPU, or no bitsandbytes.
    """
    if bits is None:
        return None
    if bits not in QUANTIZATIONS:
        raise PairError(f'Unknown quantization "{bits}". Choose {" or ".join(QUANTIZATIONS)}.')
    if not torch.cuda.is_available() or not device.startswith("cuda"):
        raise PairError(
            f"--llm-quantization {bits} needs an NVIDIA GPU, and this pair is to be loaded on {device}: use --device "
            "cuda on a machine that has one, or choose a smaller LLM."
        )
    if importlib.util.find_spec("bitsandbytes") is None:
        raise PairError(
            f"--llm-quantization {bits} needs bitsandbytes, which is not installed: run `pip install "
            f"{BITSANDBYTES_PIN}`, or load the LLM without it."
        )
    if bits == "8bit":
        return BitsAndBytesConfig(load_in_8bit=True)
    return BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=DTYPES[dtype])
