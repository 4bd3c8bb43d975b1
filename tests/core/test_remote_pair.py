"""A pair whose LLM is on a server: what is checked before the first token, and who may say where it is."""

from __future__ import annotations

import copy
import dataclasses
import json
import threading

import pytest
import torch

from citer_core.config import AppConfig, LlmServer
from citer_core.engine import Engine
from citer_core.errors import ModelFileError, PairError, ServerError, SettingError
from citer_core.models.remote_lm import RemoteLM
from citer_core.routing.routers.training_free import MaxProbabilityRouter
from citer_core.types import DecodeSettings
from tests.completions_server import CompletionsServer
from tests.core.conftest import tiny_llama, tiny_qwen2
from tests.core.examples import decoded, generated, remote

# --- the handshake


def connect(server, tokenizer, **options):
    return RemoteLM.connect(LlmServer(server.url, **options), tokenizer)


def test_the_handshake_finds_the_model_and_its_length(tiny_pair, server):
    lm = connect(server, tiny_pair.tokenizer)
    assert (lm.name, lm.max_context, lm.vocab_size) == ("tiny-llm", 512, len(tiny_pair.tokenizer))
    server.max_model_len = None
    assert connect(server, tiny_pair.tokenizer, model="tiny-llm").max_context is None


class Shifted:
    """A tokenizer whose words are the same and whose numbers are not."""

    def __init__(self, tokenizer):
        self._tokenizer = tokenizer

    def __call__(self, text):
        ids = self._tokenizer(text)["input_ids"]
        return {"input_ids": [i + 1 if i > 700 else i for i in ids]}

    def __len__(self):
        return len(self._tokenizer)

    def decode(self, ids):
        return self._tokenizer.decode(ids)


def test_another_vocabulary_is_refused(tiny_pair, server):
    server.tokenizer = Shifted(tiny_pair.tokenizer)
    with pytest.raises(PairError, match="do not share one vocabulary"):
        connect(server, tiny_pair.tokenizer)


def test_one_special_token_more_is_another_vocabulary(tiny_pair, tokenizer, server):
    other = copy.deepcopy(tokenizer)
    other.add_special_tokens({"additional_special_tokens": ["<|extra|>"]})
    with pytest.raises(PairError, match="do not share one vocabulary"):
        connect(server, other)


def test_the_model_must_be_named_where_there_are_several(tiny_pair, server):
    server.names = ["small", "large"]
    with pytest.raises(ServerError, match="small, large with --llm-model"):
        connect(server, tiny_pair.tokenizer)
    assert connect(server, tiny_pair.tokenizer, model="large").name == "large"
    with pytest.raises(ServerError, match='does not serve "huge"'):
        connect(server, tiny_pair.tokenizer, model="huge")


def test_a_key_is_sent_and_never_shown(tiny_pair, server):
    server.key = "secret-key"
    with pytest.raises(ServerError, match="CITER_LLM_API_KEY") as refused:
        connect(server, tiny_pair.tokenizer, api_key="wrong-key")
    assert "wrong-key" not in str(refused.value)
    assert connect(server, tiny_pair.tokenizer, api_key="secret-key").name == "tiny-llm"
    assert "secret-key" not in repr(LlmServer(server.url, api_key="secret-key"))


def test_a_url_without_v1_is_explained(tiny_pair, server):
    with pytest.raises(ServerError, match="/v1"):
        RemoteLM.connect(LlmServer(server.url.removesuffix("/v1")), tiny_pair.tokenizer)


def test_a_missing_server(tiny_pair, server):
    server.kill()
    with pytest.raises(ServerError, match="nothing listens there") as error:
        connect(server, tiny_pair.tokenizer)
    assert "127.0.0.1" not in str(error.value)  # a page shows it to everybody


@pytest.mark.parametrize(
    "url", ["", "host:8000", "ftp://host/v1", "http://", "http://host:port/v1", "http://me:key@host/v1"]
)
def test_urls_that_are_none(url):
    with pytest.raises(SettingError, match="URL"):
        LlmServer(url)


def test_a_model_or_a_timeout_needs_a_server():
    assert LlmServer.read(None, None, None) is None
    with pytest.raises(SettingError, match="--llm-url"):
        LlmServer.read(None, "name", None)
    with pytest.raises(SettingError, match="above 0"):
        LlmServer.read("http://host/v1/", None, 0.0)
    found = LlmServer.read("http://host/v1/", None, None, {"CITER_LLM_API_KEY": "k"})
    assert found == LlmServer("http://host/v1", "", 60.0, "k")


def test_requests_of_several_threads_do_not_mix(tiny_pair, server):
    lm, answers = remote(tiny_pair, server).llm, {}

    def ask(i):
        answers[i] = [lm.next_tokens([[i, j]])[0].token_id for j in range(1, 6)]

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with torch.inference_mode():
        for i, found in answers.items():
            expected = [int(tiny_pair.llm.model(torch.tensor([[i, j]])).logits[0, -1].argmax()) for j in range(1, 6)]
            assert found == expected
    assert server.n_connections <= 6


# --- a pair from folders


def test_a_pair_whose_llm_folder_holds_its_configuration_only(tiny_pair, tmp_path):
    llm = tiny_llama(2, dtype="float32")
    tiny_qwen2(1).save_pretrained(tmp_path / "slm")
    tiny_pair.tokenizer.save_pretrained(tmp_path / "slm")
    llm.config.save_pretrained(tmp_path / "llm")
    folders = f"{tmp_path / 'slm'},{tmp_path / 'llm'}"
    with CompletionsServer(llm, tiny_pair.tokenizer, name="/models/secret/llama", max_model_len=300) as server:
        engine = Engine.load(folders, llm_server=LlmServer(server.url))
        pair = engine.pair
        expected = tiny_pair.info.llm
        fields = ("n_params", "n_layers", "n_heads", "n_kv_heads", "head_dim", "vocab_size", "tied_embeddings")
        assert all(getattr(pair.info.llm, name) == getattr(expected, name) for name in fields)
        assert pair.max_context == 300
        assert "secret" not in json.dumps(dataclasses.asdict(pair.info))
        slm_revision = tiny_pair.info.revision.partition("-")[0]
        assert pair.info.revision == f"{slm_revision}-server:llama"
        events, _ = decoded(pair, MaxProbabilityRouter(), [5, 6, 7], DecodeSettings(1.0, 10))
        assert [event.token_id for event in events] == generated(tiny_pair.llm, [5, 6, 7], 10)


def test_an_llm_folder_without_a_configuration_is_refused(tiny_pair, tmp_path, server):
    tiny_qwen2(1).save_pretrained(tmp_path / "slm")
    tiny_pair.tokenizer.save_pretrained(tmp_path / "slm")
    with pytest.raises(ModelFileError, match=r"config\.json"):
        Engine.load(f"{tmp_path / 'slm'},{tmp_path / 'llm'}", llm_server=LlmServer(server.url))


# --- where the page is told


def test_the_page_is_told_by_flags_or_variables():
    env = {"CITER_LLM_URL": "http://a/v1", "CITER_LLM_MODEL": "m", "CITER_LLM_API_KEY": "k"}
    assert AppConfig.read([], {}).llm_server is None
    assert AppConfig.read([], env).llm_server == LlmServer("http://a/v1", "m", api_key="k")
    assert AppConfig.read(["--llm-url", "http://b/v1"], env).llm_server == LlmServer("http://b/v1", "m", api_key="k")
    with pytest.raises(SettingError, match="http://host:8000/v1"):
        AppConfig.read(["--llm-url", "b"], {})
    with pytest.raises(SettingError, match="--llm-url"):
        AppConfig.read([], {"CITER_LLM_MODEL": "m"})
