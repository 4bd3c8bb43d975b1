"""`ModelPair`: two causal language models and the one tokenizer that they share.

Loads from local folders of ordinary transformers checkpoints (safetensors only, nothing is unpickled). Knows nothing
about routing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import logging as transformers_logging

from citer_core.assets import ASSETS
from citer_core.errors import ModelFileError, PairError
from citer_core.models.language_model import LanguageModel
from citer_core.models.precision import AUTO, automatic_dtype
from citer_core.models.spec import spec_of, weights_revision
from citer_core.trace import PairInfo

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
EMBEDDED = "embedded"


@dataclass(frozen=True, slots=True)
class ModelPair:
    """A loaded pair.

    Attributes:
        slm, llm: in eval mode and of one dtype.
        tokenizer: the shared one.
        eos_ids: every id that ends a completion.
        max_context: the shorter of the two models' context lengths, in tokens.
        info: names, revisions and cost numbers.
    """

    slm: LanguageModel
    llm: LanguageModel
    tokenizer: PreTrainedTokenizerBase
    eos_ids: frozenset[int]
    max_context: int
    info: PairInfo
    _token_texts: dict[int, str] = field(default_factory=dict)

    @property
    def vocab_size(self) -> int:
        """Number of token ids that both models may write; heads are often padded beyond it."""
        return len(self.tokenizer)

    @property
    def hidden_size(self) -> int:
        """H, the size of the SLM's hidden state: a router's input."""
        return int(self.slm.model.config.get_text_config(decoder=True).hidden_size)

    def encode(self, prompt: str) -> list[int]:
        """Token ids of a prompt, with the special tokens that this family puts in front."""
        ids: list[int] = self.tokenizer(prompt)["input_ids"]
        return ids

    def token_text(self, token_id: int) -> str:
        """One token decoded by itself, special tokens by name; kept, because inspectors ask for few of them often."""
        text = self._token_texts.get(token_id)
        if text is None:
            text = str(self.tokenizer.decode([token_id], clean_up_tokenization_spaces=False))
            self._token_texts[token_id] = text
        return text

    @classmethod
    def assemble(
        cls, name: str, slm: PreTrainedModel, llm: PreTrainedModel, tokenizer: PreTrainedTokenizerBase
    ) -> ModelPair:
        """A pair from loaded parts, which are put in eval mode.

        Raises:
            PairError: a model cannot embed or predict every token of the tokenizer.
        """
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
        )
        return cls(
            slm=LanguageModel(slm.eval(), len(tokenizer)),
            llm=LanguageModel(llm.eval(), len(tokenizer)),
            tokenizer=tokenizer,
            eos_ids=_eos_ids(tokenizer, slm, llm),
            max_context=min(config.max_position_embeddings for config in configs),
            info=info,
        )


def load_checkpoint(
    folder: Path, *, tokenizer_folder: Path | None = None, device: str = "cpu", dtype: str = "float32"
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase, int]:
    """One model alone, for training.

    Args:
        folder: a local transformers checkpoint.
        tokenizer_folder: where its tokenizer is, if not there.
        device: as torch spells it.
        dtype: a key of `DTYPES`.

    Returns:
        The model, its tokenizer, and the id that a training text ends with: the one that labels end with too.

    Raises:
        ModelFileError: a folder or file is missing or damaged, or nothing in it says how a text ends.
    """
    model = _load_model(folder, device, DTYPES[dtype])
    tokenizer = _load_tokenizer(tokenizer_folder or folder)
    eos_ids = _eos_ids(tokenizer, model)
    if not eos_ids:
        raise ModelFileError(f"{folder.name}/ names no end-of-text token: set eos_token in its tokenizer_config.json.")
    return model, tokenizer, min(eos_ids)


def load_pair(pair: str = EMBEDDED, *, device: str = "cpu", dtype: str = "float32") -> ModelPair:
    """Loads a pair.

    Args:
        pair: `embedded`, the bundled pair, or `SLM_FOLDER,LLM_FOLDER`, two local transformers checkpoints.
        device: as torch spells it.
        dtype: of both models: `float32`, `bfloat16`, `float16`, or `auto` (see `precision.py`).

    Raises:
        PairError: an unknown pair or dtype, or two models with different vocabularies.
        ModelFileError: a folder or weights file is missing or damaged.
    """
    if dtype == AUTO:
        dtype = automatic_dtype(pair, device).dtype
    if dtype not in DTYPES:
        raise PairError(f'Unknown dtype "{dtype}". Choose one of {AUTO}, {", ".join(DTYPES)}.')
    if pair == EMBEDDED:
        folders = [ASSETS / "models" / "slm", ASSETS / "models" / "llm"]
        tokenizer_folders = [ASSETS / "models" / "tokenizer"] * 2
        name = "Bundled pair"
    else:
        folders = tokenizer_folders = [Path(part).expanduser() for part in pair.split(",")]
        if len(folders) != 2:
            raise PairError(f'Unknown pair "{pair}". Give "{EMBEDDED}" or two folders as "SLM_FOLDER,LLM_FOLDER".')
        name = " / ".join(folder.name for folder in folders)
    tokenizers = [_load_tokenizer(folder) for folder in dict.fromkeys(tokenizer_folders)]
    _check_shared_vocabulary(tokenizers[0], tokenizers[-1])
    slm, llm = (_load_model(folder, device, DTYPES[dtype]) for folder in folders)
    return ModelPair.assemble(name, slm, llm, tokenizers[0])


def _load_tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    try:
        return AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError) as error:
        raise ModelFileError(f"No tokenizer could be read from {folder.name}/ ({_first_line(error)}).") from error


def _load_model(folder: Path, device: str, dtype: torch.dtype) -> PreTrainedModel:
    if not folder.is_dir():
        raise ModelFileError(f"There is no model folder {folder}. Give the path of a transformers checkpoint.")
    transformers_logging.disable_progress_bar()  # a bar per shard says nothing about a model that loads in a second
    try:
        model: PreTrainedModel = AutoModelForCausalLM.from_pretrained(
            folder, dtype=dtype, local_files_only=True, use_safetensors=True, attn_implementation="sdpa"
        )
    except Exception as error:  # safetensors, JSON and transformers each have their own kinds for a damaged file
        raise ModelFileError(
            f"The model in {folder.name}/ could not be read ({_first_line(error)}). The file may be truncated: fetch "
            "or train it again; only safetensors weights are read."
        ) from error
    try:
        return model.to(device)
    except torch.OutOfMemoryError as error:
        raise PairError(f"{folder.name}/ does not fit into the memory of {device}: try --dtype bfloat16.") from error
    except (RuntimeError, AssertionError) as error:  # torch has both for a device that it does not know or have
        raise PairError(
            f'The device "{device}" cannot be used here ({_first_line(error)}). Choose cpu, or one that torch sees.'
        ) from error


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


def _eos_ids(tokenizer: PreTrainedTokenizerBase, *models: PreTrainedModel) -> frozenset[int]:
    """All ids that end a text, from the tokenizer and both generation configs: instruct models have several."""
    found: set[int] = set()
    sources: list[Any] = [tokenizer.eos_token_id]
    sources += [m.generation_config.eos_token_id for m in models if m.generation_config is not None]
    for source in sources:
        found.update(source if isinstance(source, list | tuple) else [] if source is None else [source])
    return frozenset(found)
