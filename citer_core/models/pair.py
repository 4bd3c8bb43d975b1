"""`ModelPair`: two causal language models and the one tokenizer that they share.

Loads from ordinary transformers checkpoints (safetensors only, nothing is unpickled) in local folders, in the hub's
cache or made of GGUF files. Knows nothing about routing.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    BitsAndBytesConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.utils import logging as transformers_logging

from citer_core.errors import ModelFileError, PairError
from citer_core.models import store
from citer_core.models.gguf_conversion import convert
from citer_core.models.language_model import LanguageModel
from citer_core.models.precision import AUTO, automatic_dtype
from citer_core.models.presets import EMBEDDED, parse_pair
from citer_core.models.prompt_form import PromptForm
from citer_core.models.remote_lm import RemoteLM
from citer_core.models.sources import FolderSource, GgufSource, ModelSource
from citer_core.models.spec import spec_of, weights_revision
from citer_core.trace import PairInfo
from citer_core.types import QUANTIZATIONS, PairOptions

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
BITSANDBYTES_PIN = "bitsandbytes==0.50.2"

__all__ = ["DTYPES", "EMBEDDED", "ModelPair", "load_checkpoint", "load_pair"]


@dataclass(frozen=True, slots=True)
class ModelPair:
    """A loaded pair.

    Attributes:
        slm, llm: in eval mode and of one dtype; the LLM may be on a server (`remote_pair`).
        tokenizer: the shared one.
        eos_ids: every id that ends a completion.
        max_context: the shorter of the two models' context lengths, in tokens.
        info: names, revisions and cost numbers.
        prompt_form: how prompts become token ids.
    """

    slm: LanguageModel
    llm: LanguageModel | RemoteLM
    tokenizer: PreTrainedTokenizerBase
    eos_ids: frozenset[int]
    max_context: int
    info: PairInfo
    prompt_form: PromptForm
    _token_texts: dict[int, str] = field(default_factory=dict)

    @property
    def local_llm(self) -> LanguageModel:
        """The LLM, for work that needs its logits at every position.

        Raises:
            PairError: it is on a server, which gives tokens only.
        """
        if isinstance(self.llm, RemoteLM):
            raise PairError(
                "This needs the LLM's weights, and the LLM is on a server, which only gives tokens: load the LLM here, "
                "without --llm-url."
            )
        return self.llm

    @property
    def vocab_size(self) -> int:
        """Number of token ids that both models may write; heads are often padded beyond it."""
        return len(self.tokenizer)

    @property
    def hidden_size(self) -> int:
        """H, the size of the SLM's hidden state: a router's input."""
        return int(self.slm.model.config.get_text_config(decoder=True).hidden_size)

    @property
    def chat(self) -> bool:
        """Whether prompts go through the tokenizer's chat template."""
        return self.prompt_form.chat

    @property
    def end_id(self) -> int:
        """The token that a known completion ends with, one of `eos_ids`."""
        return self.prompt_form.end_id(self.eos_ids)

    def encode(self, prompt: str) -> list[int]:
        """Token ids of a prompt: in its chat template, or with the special tokens that this family puts in front."""
        return self.prompt_form.encode(prompt)

    def encode_completion(self, completion: str) -> list[int]:
        """Token ids of a known completion as they follow `encode`, without the end of text."""
        return self.prompt_form.encode_completion(completion)

    def token_text(self, token_id: int) -> str:
        """One token decoded by itself, special tokens by name; kept, because inspectors ask for few of them often."""
        text = self._token_texts.get(token_id)
        if text is None:
            text = str(self.tokenizer.decode([token_id], clean_up_tokenization_spaces=False))
            self._token_texts[token_id] = text
        return text

    @classmethod
    def assemble(
        cls,
        name: str,
        slm: PreTrainedModel,
        llm: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        *,
        chat: bool | None = None,
    ) -> ModelPair:
        """A pair from loaded parts, which are put in eval mode.

        Args:
            name: for people.
            slm, llm: on their devices, in their final dtype.
            tokenizer: of both.
            chat: see `PairOptions`.

        Raises:
            PairError: a model cannot embed or predict every token of the tokenizer, or has no chat template.
        """
        prompt_form = PromptForm.of(tokenizer, chat=chat)
        configs = [model.config.get_text_config(decoder=True) for model in (slm, llm)]
        for which, model in (("SLM", slm), ("LLM", llm)):
            rows = model.get_input_embeddings().weight.shape[0]
            if rows < len(tokenizer):
                raise PairError(
                    f"The {which} embeds {rows} tokens, but the tokenizer has {len(tokenizer)}. Both models of a pair "
                    "must share one vocabulary: choose two models of one family."
                )
        revision = f"{weights_revision(slm)}-{weights_revision(llm)}"
        info = PairInfo(
            name=name,
            revision=revision,
            slm=spec_of(slm, f"{name} SLM", configs[0].vocab_size),
            llm=spec_of(llm, f"{name} LLM", configs[1].vocab_size),
            dtype=str(slm.dtype).removeprefix("torch."),
            device=str(slm.device),
            prompt_form=prompt_form.name,
        )
        return cls(
            slm=LanguageModel(slm.eval(), len(tokenizer)),
            llm=LanguageModel(llm.eval(), len(tokenizer)),
            tokenizer=tokenizer,
            eos_ids=eos_ids_of(tokenizer, slm, llm),
            max_context=min(config.max_position_embeddings for config in configs),
            info=info,
            prompt_form=prompt_form,
        )


def load_checkpoint(
    folder: Path,
    *,
    tokenizer_folder: Path | None = None,
    device: str = "cpu",
    dtype: str = "float32",
    chat: bool | None = None,
) -> tuple[PreTrainedModel, PromptForm, int]:
    """One model alone, for training.

    Args:
        folder: a local transformers checkpoint.
        tokenizer_folder: where its tokenizer is, if not there.
        device: as torch spells it.
        dtype: a key of `DTYPES`.
        chat: see `PairOptions`.

    Returns:
        The model, its tokenizer in the form that prompts take, and the id that a training text ends with: the one that
        labels end with too.

    Raises:
        PairError: a chat was asked for, and there is no template.
        ModelFileError: a folder or file is missing or damaged, or nothing in it says how a text ends.
    """
    model = load_model(folder, device, DTYPES[dtype])
    tokenizer = load_tokenizer(tokenizer_folder or folder)
    eos_ids = eos_ids_of(tokenizer, model)
    if not eos_ids:
        raise ModelFileError(f"{folder.name}/ names no end-of-text token: set eos_token in its tokenizer_config.json.")
    form = PromptForm.of(tokenizer, chat=chat)
    return model, form, form.end_id(eos_ids)


def load_pair(
    pair: str = EMBEDDED, *, device: str = "cpu", dtype: str = "float32", options: PairOptions | None = None
) -> ModelPair:
    """Loads a pair.

    Args:
        pair: a name of `PRESETS`, or two models as "SLM,LLM": folders, hub ids or GGUF files, in any mix.
        device: as torch spells it.
        dtype: of both models: `float32`, `bfloat16`, `float16`, or `auto` (see `precision.py`).
        options: see there.

    Raises:
        PairError: an unknown pair, dtype or quantization, one that this machine has no use for, or two models with
            different vocabularies.
        ModelFileError: weights are missing or damaged, or are not here and `options.download` is not set.
    """
    options = options or PairOptions()
    dtype = known_dtype(pair, device, dtype)
    quantization = _quantization(options.llm_quantization, device, dtype)
    name, folders, tokenizer_folders = pair_folders(pair, dtype, options)
    tokenizers = [load_tokenizer(folder) for folder in dict.fromkeys(tokenizer_folders)]
    _check_shared_vocabulary(tokenizers[0], tokenizers[-1])
    slm = load_model(folders[0], device, DTYPES[dtype])
    llm = load_model(folders[1], device, DTYPES[dtype], device_map=options.device_map, quantization=quantization)
    return ModelPair.assemble(name, slm, llm, tokenizers[0], chat=options.chat)


def known_dtype(pair: str, device: str, dtype: str) -> str:
    """A key of `DTYPES`: the one that was named, or what `auto` means for this pair on this device.

    Raises:
        PairError: there is no such dtype.
    """
    if dtype == AUTO:
        dtype = automatic_dtype(pair, device).dtype
    if dtype not in DTYPES:
        raise PairError(f'Unknown dtype "{dtype}". Choose one of {AUTO}, {", ".join(DTYPES)}.')
    return dtype


def pair_folders(pair: str, dtype: str, options: PairOptions) -> tuple[str, list[Path], list[Path]]:
    """A pair's name, the two models' folders and the folders of their tokenizers.

    Args:
        pair, options: see `load_pair`.
        dtype: a key of `DTYPES`, for weights that have to be converted.

    Raises:
        PairError: an unknown pair.
        ModelFileError: weights are not here and `options.download` is not set, or are other ones.
    """
    choice = parse_pair(pair)
    sources = (choice.slm, choice.llm)
    if options.download:
        for source in sources:
            if not isinstance(source, FolderSource):
                store.fetch(source)
    # Both are looked for before either is read or converted, which may take minutes.
    paths = store.require(sources, f'"{pair}"' if "," in pair else pair)
    folders = [_checkpoint(source, path, dtype) for source, path in zip(sources, paths, strict=True)]
    tokenizer_folders = [
        source.tokenizer or folder if isinstance(source, FolderSource) else folder
        for source, folder in zip(sources, folders, strict=True)
    ]
    return choice.name, folders, tokenizer_folders


def _checkpoint(source: ModelSource, path: Path, dtype: str) -> Path:
    """The folder of an ordinary checkpoint for weights that are on this machine."""
    return convert(path, dtype) if isinstance(source, GgufSource) else path


def _quantization(bits: str | None, device: str, dtype: str) -> BitsAndBytesConfig | None:
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


def load_tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    """A folder's tokenizer; raises `ModelFileError` where there is none."""
    try:
        return AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError) as error:
        raise ModelFileError(f"No tokenizer could be read from {folder.name}/ ({_first_line(error)}).") from error


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
        ModelFileError: it is missing or damaged.
        PairError: it does not fit onto the device, or the device is none.
    """
    placed: dict[str, Any] = {}
    if quantization is not None:
        placed = {"quantization_config": quantization, "device_map": {"": device}}
    if device_map is not None:
        placed["device_map"] = device_map
    if not folder.is_dir():
        raise ModelFileError(f"There is no model folder {folder}. Give the path of a transformers checkpoint.")
    transformers_logging.disable_progress_bar()  # a bar per shard says nothing about a model that loads in a second
    try:
        model: PreTrainedModel = AutoModelForCausalLM.from_pretrained(
            folder, dtype=dtype, local_files_only=True, use_safetensors=True, attn_implementation="sdpa", **placed
        )
    except torch.OutOfMemoryError as error:
        raise _does_not_fit(folder, device_map or device) from error
    except Exception as error:  # safetensors, JSON and transformers each have their own kinds for a damaged file
        raise ModelFileError(
            f"The model in {folder.name}/ could not be read ({_first_line(error)}). The file may be truncated: fetch "
            "or train it again; only safetensors weights are read."
        ) from error
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
            f'The device "{device}" cannot be used here ({_first_line(error)}). Choose cpu, or one that torch sees.'
        ) from error


def _does_not_fit(folder: Path, where: str) -> PairError:
    return PairError(
        f"{folder.name}/ does not fit into the memory of {where}: try --dtype bfloat16, --llm-quantization 4bit, or "
        "--device-map auto on a machine with several GPUs; `python -m citer_core pairs` says what a pair needs."
    )


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0][:200] or type(error).__name__


def _check_shared_vocabulary(slm: PreTrainedTokenizerBase, llm: PreTrainedTokenizerBase) -> None:
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
    """All ids that end a text, from the tokenizer and both generation configs: instruct models have several."""
    found: set[int] = set()
    sources: list[Any] = [tokenizer.eos_token_id]
    sources += [m.generation_config.eos_token_id for m in models if m.generation_config is not None]
    for source in sources:
        found.update(source if isinstance(source, list | tuple) else [] if source is None else [source])
    return frozenset(found)
