"""Pairs by name, hub id and file: what a person may type, what the table says, what memory and options they take."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from citer_core.assets import ASSETS
from citer_core.config import AppConfig
from citer_core.cost import ModelSpec
from citer_core.errors import PairError, SettingError
from citer_core.models import checkpoint
from citer_core.models.pair import load_pair
from citer_core.models.presets import PRESETS, parse_pair
from citer_core.models.sources import FolderSource, GgufSource, HubSource, parse_source
from citer_core.models.spec import model_bytes
from citer_core.routing.catalog import stored_router_names
from citer_core.types import PairOptions
from tests.sampling import sampled

CODER = PRESETS["qwen2.5-coder-0.5b-1.5b"]
pytestmark = pytest.mark.usefixtures("empty_caches")


# --- what a person types


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Qwen/Qwen2.5-0.5B-Instruct", HubSource("Qwen/Qwen2.5-0.5B-Instruct")),
        (" org/name:dir/File.GGUF ", GgufSource("dir/File.GGUF", repo_id="org/name")),
        ("./models/x.gguf", GgufSource("models/x.gguf")),
        ("/models/slm", FolderSource(Path("/models/slm"))),
        ("slm", FolderSource(Path("slm"))),
        ("a/b/c", FolderSource(Path("a/b/c"))),
    ],
)
def test_each_half_of_a_pair_is_one_of_four_kinds(text, expected):
    assert parse_source(text) == expected


def test_a_folder_that_is_there_wins_over_a_hub_id(tmp_path, monkeypatch):
    (tmp_path / "models" / "slm").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert parse_source("models/slm") == FolderSource(Path("models/slm"))
    assert parse_source("models/llm") == HubSource("models/llm")


def test_any_two_kinds_make_a_pair():
    choice = parse_pair("/models/slm,Qwen/Qwen2.5-7B-Instruct")
    assert (choice.name, choice.llm) == ("slm / Qwen2.5-7B-Instruct", HubSource("Qwen/Qwen2.5-7B-Instruct"))
    # A file that a preset knows is checked even where it was not named by the preset.
    mixed = parse_pair(f"/models/a.gguf,{CODER.llm.source}")
    assert mixed.slm == GgufSource("/models/a.gguf")
    assert mixed.llm == CODER.llm.source and mixed.llm.sha256 is not None


@pytest.mark.parametrize("text", ["no-such-pair", "a,b,c", ""])
def test_what_is_no_pair_says_what_one_is(text):
    with pytest.raises(PairError, match=r"Give one of embedded, .*llama3\.1-8b-70b.*hub id.*\.gguf"):
        parse_pair(text)


def test_a_half_may_be_the_bundled_model_of_its_place(tmp_path, monkeypatch):
    (tmp_path / "embedded").mkdir()
    monkeypatch.chdir(tmp_path)
    bundled = PRESETS["embedded"]
    choice = parse_pair("/models/ft, embedded")
    assert (choice.slm, choice.llm) == (FolderSource(Path("/models/ft")), bundled.llm.source)
    assert choice.name == "ft / Bundled LLM"
    choice = parse_pair("embedded,Qwen/Qwen2.5-7B-Instruct")
    assert (choice.slm, choice.llm) == (bundled.slm.source, HubSource("Qwen/Qwen2.5-7B-Instruct"))
    assert choice.name == "Bundled SLM / Qwen2.5-7B-Instruct"
    assert parse_pair("./embedded,embedded").slm == FolderSource(Path("embedded"))


def test_half_a_pair_is_no_pair():
    with pytest.raises(PairError, match="One half of the pair is empty"):
        parse_pair("Qwen/Qwen2-7B,")


# --- the table

# What a shape needs beyond the numbers in the table: the width of the MLP, and whether attention has biases.
WIDTHS = {
    "Qwen2.5-0.5B-Instruct": ("qwen2", 4864), "Qwen2.5-7B-Instruct": ("qwen2", 18944),
    "Qwen2-1.5B-Instruct": ("qwen2", 8960), "Qwen2-7B-Instruct": ("qwen2", 18944),
    "Qwen2-72B-Instruct": ("qwen2", 29568), "Llama-3.1-8B-Instruct": ("llama", 14336),
    "Llama-3.1-70B-Instruct": ("llama", 28672), "Qwen2.5-Coder-0.5B-Instruct": ("qwen2", 4864),
    "Qwen2.5-Coder-1.5B-Instruct": ("qwen2", 8960),
}  # fmt: skip
MODELS = {model.spec.name: model for preset in PRESETS.values() for model in (preset.slm, preset.llm)}


@pytest.mark.parametrize("name", sampled([name for name in MODELS if not name.startswith("Bundled")], 3))
def test_parameter_counts_are_those_of_models_of_that_shape(name):
    """Built without memory, on torch's meta device, and counted."""
    spec, (kind, width) = MODELS[name].spec, WIDTHS[name]
    config = AutoConfig.for_model(
        kind,
        hidden_size=spec.hidden_size,
        intermediate_size=width,
        num_hidden_layers=spec.n_layers,
        num_attention_heads=spec.n_heads,
        num_key_value_heads=spec.n_kv_heads,
        vocab_size=spec.vocab_size,
        tie_word_embeddings=spec.tied_embeddings,
    )
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    assert sum(parameter.numel() for parameter in model.parameters()) == spec.n_params
    assert model.model.layers[0].self_attn.head_dim == spec.head_dim


def test_the_bundled_pair_is_described_as_it_is_loaded():
    info, preset = load_pair().info, PRESETS["embedded"]
    assert info.name == preset.title
    for loaded, listed in ((info.slm, preset.slm.spec), (info.llm, preset.llm.spec)):
        assert dataclasses.replace(loaded, name=listed.name) == listed


def test_routers_are_found_by_the_pair_that_their_cards_name(tmp_path):
    assert "co-llm" in stored_router_names("Bundled pair")
    assert stored_router_names(CODER.title) == ["citer", "citer-outcome", "citer-plus"]
    card = json.loads((ASSETS / "routers" / "embedded" / "citer.json").read_text())
    (tmp_path / "mine.json").write_text(json.dumps(card | {"pair": CODER.title}))
    (tmp_path / "broken.json").write_text("{")
    assert stored_router_names(CODER.title, tmp_path) == ["mine"]


# --- memory

SPEC = ModelSpec("m", 1_000_000, 4, 8, 2, 16, 500, 128, False)


def test_memory_is_weights_and_cache():
    kv = 2 * 4 * 2 * 16
    assert model_bytes(SPEC, "bfloat16", n_context=0) == 2_000_000
    assert model_bytes(SPEC, "float32", n_context=10) == 4_000_000 + kv * 4 * 10
    tables = 2 * 500 * 128
    assert model_bytes(SPEC, "bfloat16", "8bit", n_context=0) == 2 * tables + (1_000_000 - tables)
    assert model_bytes(SPEC, "bfloat16", "4bit", n_context=0) == 2 * tables + (1_000_000 - tables) * 9 // 16
    tied = dataclasses.replace(SPEC, tied_embeddings=True)
    assert model_bytes(tied, "bfloat16", "8bit", n_context=0) == 2 * tables // 2 + (1_000_000 - tables // 2)
    with pytest.raises(PairError, match="float32, bfloat16"):
        model_bytes(SPEC, "int3")
    with pytest.raises(PairError, match="4bit or 8bit"):
        model_bytes(SPEC, "bfloat16", "2bit")


def test_memory_of_a_loaded_model_is_what_was_estimated(tiny_pair):
    for spec, lm in ((tiny_pair.info.slm, tiny_pair.slm), (tiny_pair.info.llm, tiny_pair.llm)):
        assert model_bytes(spec, "float32", n_context=0) == sum(p.nbytes for p in lm.model.parameters())


# --- options


def test_quantization_needs_a_gpu_and_bitsandbytes(monkeypatch):
    quantized = PairOptions(llm_quantization="4bit")
    with pytest.raises(PairError, match=r"needs an NVIDIA GPU.*loaded on cpu"):
        load_pair(options=quantized)
    with pytest.raises(PairError, match="4bit or 8bit"):
        load_pair(options=PairOptions(llm_quantization="2bit"))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(checkpoint.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(PairError, match="pip install bitsandbytes=="):
        load_pair(device="cuda", options=quantized)
    monkeypatch.setattr(checkpoint.importlib.util, "find_spec", lambda name: object())
    four, eight = (checkpoint.quantization_config(bits, "cuda", "bfloat16") for bits in ("4bit", "8bit"))
    assert (four.load_in_4bit, four.bnb_4bit_quant_type, four.bnb_4bit_compute_dtype) == (True, "nf4", torch.bfloat16)
    assert eight.load_in_8bit


def test_a_device_map_gives_the_same_pair():
    spread = load_pair(options=PairOptions(device_map="cpu"))
    assert spread.info == load_pair().info
    assert spread.llm.device.type == "cpu"


def test_the_page_takes_the_same_options():
    assert AppConfig.read([], {}).options == PairOptions()
    found = AppConfig.read(
        ["--pair", "qwen2.5-coder-0.5b-1.5b", "--no-chat"],
        {"CITER_LLM_QUANTIZATION": "8bit", "CITER_DEVICE_MAP": "auto", "CITER_DOWNLOAD": "1"},
    )
    assert found.pair == "qwen2.5-coder-0.5b-1.5b"
    assert found.options == PairOptions(llm_quantization="8bit", device_map="auto", chat=False, download=True)
    for name, value in (("CITER_LLM_QUANTIZATION", "2bit"), ("CITER_NO_CHAT", "maybe")):
        with pytest.raises(SettingError, match=name):
            AppConfig.read([], {name: value})


def test_only_what_changes_tokens_keeps_two_runs_apart():
    assert PairOptions(download=True).identity() == {}
    assert PairOptions(llm_quantization="4bit", chat=False).identity() == {"llm_quantization": "4bit", "chat": False}
