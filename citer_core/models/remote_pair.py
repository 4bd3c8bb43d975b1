"""A pair whose LLM is on a server: the SLM is loaded here, of the LLM only its configuration is read.

Called by `citer_core.engine`.
"""

from __future__ import annotations

from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, GenerationConfig, PreTrainedModel

from citer_core.config import LlmServer
from citer_core.errors import ModelFileError
from citer_core.models.batch_threads import BatchThreads
from citer_core.models.captured import plan_for
from citer_core.models.checkpoint import DTYPES, eos_ids_of, load_model, load_tokenizer
from citer_core.models.config_file import context_length, read_config
from citer_core.models.language_model import LanguageModel
from citer_core.models.pair import ModelPair, known_dtype, pair_folders
from citer_core.models.prompt_form import PromptForm
from citer_core.models.remote_lm import RemoteLM
from citer_core.models.revision import weights_revision
from citer_core.models.same_pair import SERVER_REVISION
from citer_core.models.spec import spec_of
from citer_core.models.threads import use_threads
from citer_core.text import vocabulary_size
from citer_core.trace import PairInfo
from citer_core.types import PairOptions


def load_remote_pair(
    pair: str, server: LlmServer, *, device: str = "cpu", dtype: str = "float32", options: PairOptions | None = None
) -> ModelPair:
    """Loads the SLM and connects to the LLM.

    Args:
        pair: as in `load_pair`; of the LLM's folder, `config.json` is enough.
        server: where the LLM runs.
        device, dtype: of the SLM.
        options: of the pair; what is said there of the LLM's weights has no meaning here.

    Raises:
        PairError, ModelFileError: see `load_pair`; or the server's vocabulary is another.
        ServerError: the server cannot be reached or used.
    """
    options = options or PairOptions()
    dtype = known_dtype(pair, device, dtype)
    graphs = plan_for(device, cuda_graphs=options.cuda_graphs)
    name, (slm_folder, llm_folder), tokenizer_folders = pair_folders(pair, dtype, options)
    tokenizer = load_tokenizer(tokenizer_folders[0])
    form = PromptForm.of(tokenizer, chat=options.chat)
    llm_shape = _without_weights(llm_folder)
    llm = RemoteLM.connect(server, tokenizer)  # before the weights are read: it is the one more likely to fail
    slm = load_model(slm_folder, device, DTYPES[dtype]).eval()
    choice = use_threads((slm,), options.threads)
    configs = [model.config.get_text_config(decoder=True) for model in (slm, llm_shape)]
    served = llm.name.rsplit("/", 1)[-1]  # a path on the server is nobody's business
    info = PairInfo(
        name=name,
        revision=f"{weights_revision(slm)}-{SERVER_REVISION}{served}",
        slm=spec_of(slm, f"{name} SLM", configs[0].vocab_size),
        llm=spec_of(llm_shape, f"{name} LLM (on a server, as {served})", configs[1].vocab_size),
        dtype=dtype,
        device=str(slm.device),
        prompt_form=form.name,
    )
    lengths = [context_length(config) for config in configs]
    return ModelPair(
        slm=LanguageModel(slm, vocabulary_size(tokenizer), graphs=graphs),
        llm=llm,
        tokenizer=tokenizer,
        batch_threads=BatchThreads.of((slm,), choice),
        eos_ids=eos_ids_of(tokenizer, slm, llm_shape),
        max_context=min(lengths if llm.max_context is None else [*lengths, llm.max_context]),
        info=info,
        prompt_form=form,
    )


def _without_weights(folder: Path) -> PreTrainedModel:
    """The model's shape, for costs, and how its texts end; its parameters have sizes and no values."""
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
