"""Families of every kind of cache: token-equal to transformers' own `generate`, or refused in one sentence."""

from __future__ import annotations

import dataclasses
import json
import shutil

import pytest
import torch
from transformers import CONFIG_MAPPING, AutoModelForCausalLM

from citer_core.assets import ASSETS
from citer_core.errors import ModelFileError, PairError
from citer_core.models.checkpoint import load_model
from citer_core.models.pair import ModelPair, load_pair
from citer_core.routing.decode import decode, decode_batch
from citer_core.routing.routers.training_free import RandomRouter
from citer_core.routing.speculative import speculate
from citer_core.speculation import Drafting
from citer_core.types import DecodeSettings
from tests.sampling import sampled

N_TOKENS = 16  # with the prompt more than LONG has
PROMPT = [(7 + 13 * i) % 1500 for i in range(20)]
BASE = dict(
    vocab_size=1536, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2, max_position_embeddings=256, bos_token_id=None, eos_token_id=0, pad_token_id=0,
)  # fmt: skip
LONG = dict(
    rope_type="longrope", rope_theta=10000.0, short_factor=[1.0] * 4, long_factor=[3.0] * 4,
    original_max_position_embeddings=32, factor=8.0,
)  # fmt: skip
OPT = dict(
    vocab_size=1536, hidden_size=32, ffn_dim=64, num_hidden_layers=2, num_attention_heads=4, eos_token_id=0,
    max_position_embeddings=256, word_embed_proj_dim=16, do_layer_norm_before=False, bos_token_id=0, pad_token_id=1,
)  # fmt: skip
GPT = dict(vocab_size=1536, n_embd=32, n_layer=2, n_head=4, n_positions=256, bos_token_id=0, eos_token_id=0)
SERVED = {
    "window": ("mistral", BASE | dict(sliding_window=8)),
    "biases": ("llama", BASE | dict(attention_bias=True, mlp_bias=True)),
    "no sdpa": ("gemma2", BASE | dict(head_dim=8, sliding_window=8, query_pre_attn_scalar=8)),
    "no inner size": ("gpt2", GPT),
    "no context length": ("bloom", dict(vocab_size=1536, hidden_size=32, n_layer=2, n_head=4, eos_token_id=0)),
    "projected states": ("opt", OPT),
    "read again": ("phi3", BASE | dict(sliding_window=None, original_max_position_embeddings=32, rope_parameters=LONG)),
    "turned otherwise": ("llama", BASE | dict(rope_parameters=LONG)),
    "convolutions": (
        "lfm2",
        BASE | dict(layer_types=["conv", "full_attention"], block_multiple_of=8, block_auto_adjust_ff_dim=False),
    ),
}
REFUSED = {
    "state in the model": ("recurrent_gemma", BASE | dict(lru_width=32, attention_window_size=8, num_hidden_layers=3)),
    "no cache": ("openai-gpt", dict(vocab_size=1536, n_embd=32, n_layer=2, n_head=4, n_positions=256)),
    "no attention": ("mamba", dict(vocab_size=1536, hidden_size=32, num_hidden_layers=2, state_size=8)),
}


def save(folder, kind, settings, seed):
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(CONFIG_MAPPING[kind](**settings)).eval().float()
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        if parameter.dim() == 2 or "bias" in name:
            parameter.data.copy_(torch.randn(parameter.shape, generator=generator) * 0.3)
    model.generation_config.eos_token_id = 0
    model.save_pretrained(folder)
    shutil.copytree(ASSETS / "models" / "tokenizer", folder, dirs_exist_ok=True)
    return folder


def saved_pair(place, kind, settings):
    return save(place / "slm", kind, settings, 1), save(place / "llm", kind, settings, 2)


def generated(folder):
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    ids = torch.tensor([PROMPT])
    with torch.inference_mode():
        out = model.generate(
            ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=N_TOKENS, eos_token_id=None,
            pad_token_id=0,
        )  # fmt: skip
    return out[0, len(PROMPT) :].tolist()


@pytest.mark.parametrize("name", sampled(SERVED, 3))
def test_a_family_writes_what_generate_writes_in_every_way(tmp_path, name):
    slm, llm = saved_pair(tmp_path, *SERVED[name])
    pair = dataclasses.replace(load_pair(f"{slm},{llm}"), eos_ids=frozenset())
    assert not pair.slm.is_fused
    theirs = generated(slm), generated(llm)
    for tau in (0, 1):
        events = decode(pair, RandomRouter(), PROMPT, DecodeSettings(float(tau), N_TOKENS))
        assert [event.token_id for event in events] == theirs[tau]
    batch = decode_batch(pair, RandomRouter(), [PROMPT, PROMPT[:9]], DecodeSettings(0.0, N_TOKENS))
    assert {done.index: done.token_ids for done in batch}[0] == theirs[0]
    passes = list(speculate(pair, PROMPT, N_TOKENS, Drafting(4, 0.0)))
    assert [token for one in passes for token in one.token_ids] == theirs[1]
    _, hidden = pair.slm.forward([PROMPT], pair.slm.new_cache())
    assert hidden.shape == (1, pair.hidden_size)


@pytest.mark.parametrize("name", REFUSED)
def test_a_family_that_cannot_run_is_refused_by_name(tmp_path, name):
    kind, settings = REFUSED[name]
    slm, llm = saved_pair(tmp_path, kind, settings)
    with pytest.raises(ModelFileError, match=f"family {kind}.*another family"):
        load_pair(f"{slm},{llm}")


def llama_pair(place):
    return saved_pair(place, "llama", BASE)


def test_ids_with_gaps_keep_their_end_token(tmp_path):
    """The head was cut at the number of tokens, which leaves out the end of a turn behind a gap: a run never ended."""
    folders = llama_pair(tmp_path)
    for folder in folders:
        path = folder / "tokenizer.json"
        document = json.loads(path.read_text(encoding="utf-8"))
        vocab = {token: i for token, i in document["model"]["vocab"].items() if i < 1400}
        merges = [m if isinstance(m, str) else " ".join(m) for m in document["model"]["merges"]]
        document["model"]["merges"] = [merge for merge in merges if merge.replace(" ", "") in vocab]
        document["model"]["vocab"] = vocab | {"<|end|>": 1501}
        added = dict(document["added_tokens"][0], id=1501, content="<|end|>", special=True)
        document["added_tokens"] = [token for token in document["added_tokens"] if token["id"] < 1400] + [added]
        path.write_text(json.dumps(document), encoding="utf-8")
        (folder / "generation_config.json").write_text('{"eos_token_id": 1501}')
    pair = load_pair(f"{folders[0]},{folders[1]}")
    assert len(pair.tokenizer) < 1501 < pair.vocab_size == 1502 and 1501 in pair.eos_ids
    logits, _ = pair.slm.forward([[5]], pair.slm.new_cache())
    assert logits.shape == (1, 1502)


AWQ = '{"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": true}, '


def without_adapter_base(folder):
    (folder / "adapter_config.json").write_text("{}")


def pickled(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def pointing_outside(folder):
    (folder / "model.safetensors.index.json").write_text('{"weight_map": {"a": "../outside.safetensors"}}')


def quantized(folder):
    path = folder / "config.json"
    path.write_text(path.read_text().replace("{", AWQ, 1))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (without_adapter_base, "holds an adapter"),
        (pickled, "pytorch_model.bin only"),
        (pointing_outside, "names .*outside.*no such file"),
        (quantized, r"quantized \(awq\).*install"),
        (shutil.rmtree, "no model folder"),
    ],
)
def test_what_a_folder_lacks_is_said(tmp_path, change, words):
    folder, _ = llama_pair(tmp_path)
    change(folder)
    with pytest.raises(ModelFileError, match=words):
        load_model(folder, "cpu", torch.float32)


def test_a_pipe_is_no_configuration_and_too_many_added_tokens_are_refused(tmp_path):
    import os

    slm, llm = llama_pair(tmp_path)
    (slm / "config.json").unlink()
    os.mkfifo(slm / "config.json")
    with pytest.raises(ModelFileError, match="not a regular file"):
        load_model(slm, "cpu", torch.float32)
    (llm / "tokenizer_config.json").write_text(json.dumps([{"single_word": False}] * 20_001))
    with pytest.raises(ModelFileError, match=r"adds more than 20,000 tokens"):
        load_pair(f"{llm},{llm}")


def test_masks_that_old_versions_saved_are_passed_over(tmp_path):
    from safetensors.torch import load_file, save_file

    folder = save(tmp_path / "old", "gpt2", GPT, 1)
    path = folder / "model.safetensors"
    tensors = load_file(path) | {"transformer.h.0.attn.masked_bias": torch.tensor(-1e4)}
    save_file(tensors, path, metadata={"format": "pt"})
    assert isinstance(load_pair(f"{folder},{folder}"), ModelPair)


def test_a_comma_in_a_path_is_named(tmp_path):
    with pytest.raises(PairError, match="comma parts the two"):
        load_pair(f"{tmp_path}/com,ma,{tmp_path}/b")
