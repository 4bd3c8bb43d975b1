"""`ModelPair`: two causal language models and the one tokenizer that they share.

Loads from ordinary transformers checkpoints (safetensors only, nothing is unpickled) in local folders, in the hub's
cache or made of GGUF files. Knows nothing about routing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from citer_core.config import LlmServer
from citer_core.errors import PairError
from citer_core.models import store
from citer_core.models.captured import may_capture
from citer_core.models.checkpoint import (
    DTYPES,
    check_shared_vocabulary,
    eos_ids_of,
    load_model,
    load_shape,
    load_tokenizer,
    quantization_config,
)
from citer_core.models.config_file import context_length
from citer_core.models.gguf_conversion import convert
from citer_core.models.language_model import LanguageModel
from citer_core.models.presets import EMBEDDED, known_disk_bytes, parse_pair
from citer_core.models.products import AUTO, automatic_dtype
from citer_core.models.prompt_form import PromptForm
from citer_core.models.remote_lm import RemoteLM
from citer_core.models.revision import weights_revision
from citer_core.models.same_pair import SERVER_REVISION
from citer_core.models.sources import FolderSource, GgufSource, ModelSource
from citer_core.models.spec import spec_of
from citer_core.models.threads import use_threads
from citer_core.text import vocabulary_size
from citer_core.trace import PairInfo
from citer_core.types import LoadProgress, PairOptions


@dataclass(frozen=True, slots=True)
class ModelPair:
    """A loaded pair.

    Attributes:
        slm, llm: in eval mode and of one dtype; the LLM may be on a server.
        tokenizer: the shared one.
        eos_ids: every id that ends a completion.
        max_context: the shorter of the two models' context lengths, in tokens.
        info: names, revisions and cost numbers.
        prompt_form: how prompts become token ids.
        batch_threads: the most that batches may take; None if the number of threads stands.
    """

    slm: LanguageModel
    llm: LanguageModel | RemoteLM
    tokenizer: PreTrainedTokenizerBase
    eos_ids: frozenset[int]
    max_context: int
    info: PairInfo
    prompt_form: PromptForm
    batch_threads: int | None = None
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

    def with_graphs(self, *, graphs: bool = True) -> ModelPair:
        """The same pair, its weights shared, whose passes are replayed or not."""
        llm = self.llm.with_graphs(graphs=graphs) if isinstance(self.llm, LanguageModel) else self.llm
        return replace(self, slm=self.slm.with_graphs(graphs=graphs), llm=llm)

    def products_chosen(self) -> dict[str, list[dict[str, Any]]]:
        """How each model that is here multiplies few rows, as rows of a report; none where there is one way only."""
        here = {"slm": self.slm, "llm": self.llm}
        return {which: lm.products.lines() for which, lm in here.items() if isinstance(lm, LanguageModel)}

    @property
    def vocab_size(self) -> int:
        """Number of token ids that both models may write; heads are often padded beyond it."""
        return self.slm.vocab_size

    @property
    def hidden_size(self) -> int:
        """H, the size of the SLM's hidden state: a router's input."""
        return self.slm.hidden_size

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
        graphs: bool = False,
        remote: RemoteLM | None = None,
    ) -> ModelPair:
        """A pair from loaded parts, which are put in eval mode.

        Args:
            name: for people.
            slm, llm: on their devices, in their final dtype.
            tokenizer: of both.
            remote: the LLM on its server; `llm` is then its shape alone (`load_shape`).
            chat: see `PairOptions`.
            graphs: see `LanguageModel`.

        Raises:
            PairError: a model cannot embed or predict every token of the tokenizer, or has no chat template.
        """
        prompt_form = PromptForm.of(tokenizer, chat=chat)
        configs = [model.config.get_text_config(decoder=True) for model in (slm, llm)]
        n_ids = vocabulary_size(tokenizer)
        for which, model in (("SLM", slm), ("LLM", llm)):
            rows = model.get_input_embeddings().weight.shape[0]
            if rows < n_ids:
                raise PairError(
                    f"The {which} embeds {rows} tokens, but the tokenizer has {n_ids}. Both models of a pair "
                    "must share one vocabulary: choose two models of one family."
                )
        lengths = [*map(context_length, configs)]
        llm_name, llm_revision = f"{name} LLM", ""
        if remote is None:
            llm_revision = weights_revision(llm)
        else:
            served = remote.name.rsplit("/", 1)[-1]  # a path on the server is not shown
            llm_name, llm_revision = f"{llm_name} (on a server, as {served})", f"{SERVER_REVISION}{served}"
            lengths += [] if remote.max_context is None else [remote.max_context]
        info = PairInfo(
            name=name,
            revision=f"{weights_revision(slm)}-{llm_revision}",
            slm=spec_of(slm, f"{name} SLM", configs[0].vocab_size),
            llm=spec_of(llm, llm_name, configs[1].vocab_size),
            dtype=str(slm.dtype).removeprefix("torch."),
            device=str(slm.device),
            prompt_form=prompt_form.name,
        )
        return cls(
            slm=LanguageModel(slm.eval(), n_ids, graphs=graphs),
            llm=remote or LanguageModel(llm.eval(), n_ids, graphs=graphs),
            tokenizer=tokenizer,
            eos_ids=eos_ids_of(tokenizer, slm, llm),
            max_context=min(lengths),
            info=info,
            prompt_form=prompt_form,
        )


def load_pair(
    pair: str = EMBEDDED,
    *,
    device: str = "cpu",
    dtype: str = "float32",
    options: PairOptions | None = None,
    server: LlmServer | None = None,
    on_progress: LoadProgress = lambda *_: None,
) -> ModelPair:
    """Loads a pair.

    Args:
        pair: a name of `PRESETS`, or two models as "SLM,LLM": folders, hub ids or GGUF files, in any mix.
        device: as torch spells it.
        dtype: of both models: `float32`, `bfloat16`, `float16`, or `auto` (see `automatic_dtype`).
        options: see there.
        server: where the LLM runs; of its folder `config.json` is then enough. None loads it here.
        on_progress: see `LoadProgress`.

    Raises:
        PairError: an unknown pair, dtype or quantization, one that this machine has no use for, or two models with
            different vocabularies.
        ServerError: the LLM's server cannot be reached or used.
        ModelFileError: weights are missing or damaged, or are not here and `options.download` is not set.
    """
    options = options or PairOptions()
    dtype = known_dtype(pair, device, dtype)
    graphs = may_capture(device, cuda_graphs=options.cuda_graphs)
    quantization = None if server else quantization_config(options.llm_quantization, device, dtype)
    name, folders, tokenizer_folders = pair_folders(pair, dtype, options, on_progress)
    on_progress("load", 0, None)
    tokenizer, remote = load_tokenizer(tokenizer_folders[0]), None
    if server is None:
        if tokenizer_folders[1] != tokenizer_folders[0]:
            check_shared_vocabulary(tokenizer, load_tokenizer(tokenizer_folders[1]))
        slm = load_model(folders[0], device, DTYPES[dtype])
        llm = load_model(folders[1], device, DTYPES[dtype], device_map=options.device_map, quantization=quantization)
    else:
        llm = load_shape(folders[1])
        remote = RemoteLM.connect(server, tokenizer)  # before weights are read: it is the one more likely to fail
        slm = load_model(folders[0], device, DTYPES[dtype])
    choice = use_threads((slm, llm), options.threads)  # before products are measured, which depend on it
    loaded = ModelPair.assemble(name, slm, llm, tokenizer, chat=options.chat, graphs=graphs, remote=remote)
    return replace(loaded, batch_threads=choice.of_batches)


def known_dtype(pair: str, device: str, dtype: str) -> str:
    """A key of `DTYPES`: the one that was named, or what `auto` means for this pair on this device.

    Raises:
        PairError: there is no such dtype.
    """
    if dtype == AUTO:
        dtype = automatic_dtype(pair, device)
    if dtype not in DTYPES:
        raise PairError(f'Unknown dtype "{dtype}". Choose one of {AUTO}, {", ".join(DTYPES)}.')
    return dtype


def pair_folders(
    pair: str, dtype: str, options: PairOptions, on_progress: LoadProgress = lambda *_: None
) -> tuple[str, list[Path], list[Path]]:
    """A pair's name, the two models' folders and the folders of their tokenizers.

    Args:
        pair, options: see `load_pair`.
        dtype: a key of `DTYPES`, for weights that have to be converted.
        on_progress: see `LoadProgress`.

    Raises:
        PairError: an unknown pair.
        ModelFileError: weights are not here and `options.download` is not set, or are other ones.
    """
    choice = parse_pair(pair)
    sources = (choice.slm, choice.llm)
    if options.download:
        _fetch_missing(sources, on_progress)
    # Both are looked for before either is read or converted, which may take minutes.
    paths = store.require(sources, f'"{pair}"' if "," in pair else pair)
    folders = []
    for source, path in zip(sources, paths, strict=True):
        if isinstance(source, GgufSource):
            on_progress("convert", 0, None)
            path = convert(path, dtype)
        folders.append(path)
    tokenizer_folders = [
        source.tokenizer or folder if isinstance(source, FolderSource) else folder
        for source, folder in zip(sources, folders, strict=True)
    ]
    return choice.name, folders, tokenizer_folders


def _fetch_missing(sources: Sequence[ModelSource], on_progress: LoadProgress) -> None:
    """Downloads what is not here, with one count over all of it."""
    missing = store.missing(sources)
    total = known_disk_bytes(missing)
    n_before = 0
    for source in missing:

        def tell(n_bytes: int, before: int = n_before) -> None:
            on_progress("fetch", before + n_bytes, total)

        path = store.fetch(source, on_bytes=tell)
        files = [path] if path.is_file() else path.iterdir()
        n_before += sum(file.stat().st_size for file in files)
