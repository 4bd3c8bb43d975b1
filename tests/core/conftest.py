"""Tiny random pairs: real transformers models with the bundled tokenizer, made in milliseconds."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from transformers import (
    AutoTokenizer,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
)

from citer_core.assets import ASSETS
from citer_core.engine import Engine
from citer_core.labelling import rollouts
from citer_core.models import server_client, store
from citer_core.models.language_model import LanguageModel
from citer_core.models.pair import ModelPair, load_pair
from citer_core.models.reader import Reader, Reading
from citer_core.types import PairOptions
from tests.completions_server import CompletionsServer
from tests.core.examples import verdict

torch.set_num_threads(1)  # at this size threads cost more than they give


def tiny_qwen2(seed: int, hidden_size: int = 32, n_layers: int = 2, **overrides) -> Qwen2ForCausalLM:
    torch.manual_seed(seed)
    settings = dict(
        vocab_size=1536,
        hidden_size=hidden_size,
        intermediate_size=2 * hidden_size,
        num_hidden_layers=n_layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=0,
        pad_token_id=0,
    )
    # Wide initial weights: the defaults give almost flat logits, and a text of one repeated token tests little.
    return Qwen2ForCausalLM(Qwen2Config(**(settings | {"initializer_range": 0.5} | overrides))).eval()


def tiny_llama(seed: int, **overrides) -> LlamaForCausalLM:
    torch.manual_seed(seed)
    settings = dict(
        vocab_size=1536,
        hidden_size=48,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=512,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=0,
        pad_token_id=0,
        initializer_range=0.5,
    )
    return LlamaForCausalLM(LlamaConfig(**(settings | overrides))).eval()


def tiny_mistral(**overrides):
    torch.manual_seed(4)
    config = dict(
        vocab_size=1536, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=1, head_dim=16, sliding_window=None, bos_token_id=None, initializer_range=0.5,
    )  # fmt: skip
    return MistralForCausalLM(MistralConfig(**(config | overrides))).eval()


LLAMA3_ROPE = {
    "rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}  # fmt: skip


@pytest.fixture(scope="session")
def tokenizer():
    return AutoTokenizer.from_pretrained(ASSETS / "models" / "tokenizer")


@functools.cache
def _bundled_pair() -> ModelPair:
    return load_pair()


def _load_once(pair: str = "embedded", **how: Any) -> ModelPair:
    plain = {"device": "cpu", "dtype": "float32", "server": None}
    is_plain = pair == "embedded" and plain == {name: how.get(name, value) for name, value in plain.items()}
    return _bundled_pair() if is_plain and how.get("options") in (None, PairOptions()) else load_pair(pair, **how)


@pytest.fixture(scope="package", autouse=True)
def _bundled_pair_is_loaded_once() -> Iterator[None]:
    """Commands load the bundled pair in half a second, two hundred times: here they share one."""
    with pytest.MonkeyPatch.context() as patch:
        for module in ("citer_core.engine", "citer_core.models.pair"):
            patch.setattr(f"{module}.load_pair", _load_once)
        yield


@pytest.fixture(scope="session")
def bundled() -> Engine:
    """The pair that ships, with its routers."""
    return Engine.load()


@pytest.fixture(scope="session")
def engine(bundled: Engine) -> Engine:
    """What most files mean by it."""
    return bundled


@pytest.fixture(scope="session")
def tiny_pair(tokenizer) -> ModelPair:
    return ModelPair.assemble("tiny", tiny_qwen2(1), tiny_llama(2), tokenizer)


@pytest.fixture(scope="session")
def folders(tmp_path_factory, tokenizer) -> str:
    """The tiny pair as a person has one, for `--pair`."""
    place = tmp_path_factory.mktemp("pair")
    for name, model in (("slm", tiny_qwen2(1)), ("llm", tiny_llama(2))):
        model.save_pretrained(place / name)
        tokenizer.save_pretrained(place / name)
    return f"{place / 'slm'},{place / 'llm'}"


@pytest.fixture(scope="session")
def siblings(tokenizer) -> ModelPair:
    """A pair without an end whose models agree on many tokens, as those of one family do: the LLM is the SLM, noisy."""
    llm = tiny_qwen2(1)
    torch.manual_seed(0)
    for parameter in llm.parameters():
        parameter.data += 0.1 * parameter.data.std() * torch.randn_like(parameter)
    pair = ModelPair.assemble("siblings", tiny_qwen2(1), llm, tokenizer)
    return dataclasses.replace(pair, eos_ids=frozenset())


@pytest.fixture
def server(tiny_pair, monkeypatch):
    """The tiny pair's LLM on a server; what fails there is asked again without a person's pauses."""
    monkeypatch.setattr(server_client, "BACKOFF_S", 0.01)
    with CompletionsServer(tiny_pair.llm.model, tiny_pair.tokenizer) as server:
        yield server


@pytest.fixture
def empty_caches(tmp_path, monkeypatch):
    """The user's own models are not read, and no test reaches the hub."""
    monkeypatch.setenv("CITER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(store, "_cached_snapshot", lambda repo_id: None)
    monkeypatch.setattr(store, "_cached_file", lambda repo_id, name: None)
    monkeypatch.setattr(store, "_download", lambda source, _: pytest.fail(f"{source} was downloaded by surprise"))


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[tuple[LanguageModel, list[list[int]], Reading]]:
    """What is read from now on: the model, the texts of the pass and what it says of them."""
    made, read = [], Reader.read

    def noted(reader: Reader, texts: list[list[int]], *more: Any) -> Reading:
        made.append((reader.lm, [*map(list, texts)], read(reader, texts, *more)))
        return made[-1][2]

    monkeypatch.setattr(Reader, "read", noted)
    return made


@pytest.fixture
def coin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random models never write an answer: a coin marks theirs."""
    monkeypatch.setattr(rollouts, "check_answer", verdict)


@pytest.fixture(scope="session")
def stored() -> dict[str, Any]:
    """All stored sets of the evidence, read once, by name."""
    from citer_core.evidence.regimes import regimes  # pandas, which a machine that only runs models is without

    return {regime.name: regime for regime in regimes()}
