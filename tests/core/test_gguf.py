"""GGUF files: unpacked once, under a name that appears only when all is there; and the real pair, where it is here."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import GenerationConfig

from citer_core.assets import ASSETS
from citer_core.config import cache_folder
from citer_core.errors import ModelFileError
from citer_core.models import gguf_conversion, store
from citer_core.models.gguf_conversion import convert, converted_folder
from citer_core.models.pair import load_pair
from citer_core.models.presets import PRESETS
from citer_core.routing.decode import decode
from citer_core.routing.routers.training_free import MaxProbabilityRouter
from citer_core.types import DecodeSettings
from tests.core.conftest import tiny_qwen2
from tests.own_time import OwnTime
from tests.sampling import sampled

gguf = pytest.importorskip("gguf")

NAMES = {
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
}  # fmt: skip


def write_gguf(path, model):
    """A tiny Qwen2 with the bundled tokenizer, float32, as llama.cpp's converter would write it."""
    config = model.config
    writer = gguf.GGUFWriter(path, "qwen2")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(10000.0)
    document = json.loads((ASSETS / "models" / "tokenizer" / "tokenizer.json").read_text(encoding="utf-8"))
    tokens = sorted(document["model"]["vocab"], key=document["model"]["vocab"].get)
    tokens += [t["content"] for t in document["added_tokens"] if t["content"] not in document["model"]["vocab"]]
    merges = [m if isinstance(m, str) else " ".join(m) for m in document["model"]["merges"]]
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    writer.add_token_types([gguf.TokenType.NORMAL] * len(tokens))
    writer.add_token_merges(merges)
    writer.add_eos_token_id(0)
    writer.add_bos_token_id(0)
    writer.add_tensor("token_embd.weight", model.model.embed_tokens.weight.detach().numpy())
    writer.add_tensor("output_norm.weight", model.model.norm.weight.detach().numpy())
    for name, parameter in model.model.layers.named_parameters():
        layer, _, rest = name.partition(".")
        module, _, kind = rest.rpartition(".")
        writer.add_tensor(f"blk.{layer}.{NAMES[module]}.{kind}", parameter.detach().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.fixture(autouse=True)
def _own_cache(request, tmp_path, monkeypatch):
    if request.function is not test_the_real_pair_at_both_ends_of_tau_is_generate:
        monkeypatch.setenv("CITER_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def tiny_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    write_gguf(path, tiny_qwen2(1))
    return path


def test_a_gguf_file_becomes_a_checkpoint_once_and_loads_as_a_pair(tiny_file, monkeypatch):
    pair = load_pair(f"{tiny_file},{tiny_file}")
    assert pair.info.name == "tiny / tiny" and pair.info.slm.n_layers == 2
    original = tiny_qwen2(1)
    ids = torch.tensor([[5, 6, 7, 900]])
    with torch.inference_mode():
        torch.testing.assert_close(pair.slm.model(ids).logits, original(ids).logits, rtol=1e-4, atol=1e-4)
    folder = converted_folder(tiny_file, "float32")
    assert json.loads((folder / "citer.json").read_text())["sha256"] == store.sha256_of(tiny_file)
    assert [path.name for path in folder.parent.iterdir()] == [folder.name], "nothing partial is left"
    monkeypatch.setattr(gguf_conversion, "_write", lambda *_: pytest.fail("converted again"))
    assert load_pair(f"{tiny_file},{tiny_file}").info == pair.info
    assert converted_folder(tiny_file, "bfloat16") != folder


def test_a_conversion_notes_its_files_and_a_changed_one_is_not_loaded(tiny_file):
    folder = convert(tiny_file, "float32")
    files = json.loads((folder / "citer.json").read_text())["files"]
    assert set(files) == {path.name for path in folder.iterdir()} - {"citer.json"}
    assert {"model.safetensors", "config.json", "tokenizer.json"} <= set(files)
    weights = folder / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1000] ^= 4
    weights.write_bytes(content)
    with pytest.raises(ModelFileError, match=r"model\.safetensors is not the file.*delete a converted folder"):
        load_pair(f"{tiny_file},{tiny_file}")
    weights.unlink()
    with pytest.raises(ModelFileError, match=r"model\.safetensors is missing"):
        load_pair(f"{tiny_file},{tiny_file}")


@pytest.mark.parametrize("damage", sampled(["layers", "NaN", "truncated", "missing", *gguf_conversion.SIZES], 4))
def test_a_damaged_gguf_file_is_not_converted(tmp_path, damage):
    path, model = tmp_path / "bad.gguf", tiny_qwen2(1)
    if damage == "layers":
        model.config.num_hidden_layers = 4_000_000_000
    elif damage == "NaN":
        model.model.layers[1].mlp.up_proj.weight.data[3, 3] = float("nan")
    elif damage == "missing":
        model.config.num_hidden_layers = 3
    write_gguf(path, model)
    if damage == "truncated":
        path.write_bytes(path.read_bytes()[:-5000])
    said = {"layers": "block_count", "NaN": "not finite numbers", "missing": "block_count = 3"}.get(damage, "unpacked")
    if damage in gguf_conversion.SIZES:  # a flipped letter of its name; transformers' own default would be built
        key, damaged = f"qwen2.{damage}".encode(), f"qwen3.{damage}".encode()
        assert key in path.read_bytes()
        path.write_bytes(path.read_bytes().replace(key, damaged, 1))
        said = f"does not say {damage}"
    with OwnTime() as spent, pytest.raises(ModelFileError, match=rf"bad\.gguf.*{said}"):
        convert(path, "float32")
    assert spent.seconds < 2
    assert not list(cache_folder().glob("converted/*"))


def test_what_a_killed_conversion_left_is_swept_and_one_in_progress_is_not(tiny_file):
    target = converted_folder(tiny_file, "float32")
    dead, alive = (target.with_name(f"{target.name}.{pid}.partial") for pid in (2**22 + 1, os.getppid()))
    for folder in (dead, alive):
        folder.mkdir(parents=True)
    convert(tiny_file, "float32")
    assert not dead.exists() and alive.exists()


def test_a_file_that_is_no_gguf_and_a_missing_package_are_messages(tmp_path, tiny_file, monkeypatch):
    (tmp_path / "bad.gguf").write_bytes(b"not a model")
    with pytest.raises(ModelFileError, match=r"bad\.gguf could not be unpacked"):
        convert(tmp_path / "bad.gguf", "float32")
    assert not list(cache_folder().glob("converted/*"))
    monkeypatch.setattr(gguf_conversion.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModelFileError, match=r"pip install gguf=="):
        convert(tiny_file, "float32")


# --- the real pair

QUESTIONS = [
    "What is 17 * 3?", "Name the capital of France.", "Write a Python function that reverses a list.",
    "Translate 'good night' to German.", "Erkläre das Wort Heimat.", "¿Cuántos días tiene un año?",
]  # fmt: skip


def _available_gb():
    meminfo = Path("/proc/meminfo")
    if not meminfo.exists():
        return 1e9  # unknown: try
    line = next(line for line in meminfo.read_text().splitlines() if line.startswith("MemAvailable"))
    return int(line.split()[1]) / 1e6


@pytest.mark.slow
def test_the_real_pair_at_both_ends_of_tau_is_generate():
    """Float32, so that the cached and the reference pass agree to the token; needs about 10 GB of memory."""
    preset = PRESETS["qwen2.5-coder-0.5b-1.5b"]
    files = [store.find(model.source) for model in (preset.slm, preset.llm)]
    if None in files:
        pytest.skip(f"run `python -m citer_core fetch {preset.name}` first")
    if (free := _available_gb()) < 12:
        pytest.skip(f"needs 12 GB of free memory, and {free:.0f} GB are")
    # Unpacked in bfloat16, which takes half the memory, and computed in float32.
    folders = [convert(path, "bfloat16") for path in files]
    pair = load_pair(",".join(map(str, folders)), dtype="float32")
    assert pair.prompt_form.chat and pair.tokenizer.decode([pair.end_id]) == "<|im_end|>"
    n_new = 12
    for question in QUESTIONS:
        ids = pair.encode(question)
        for threshold, lm in ((0.0, pair.slm), (1.0, pair.llm)):
            settings = DecodeSettings(threshold=threshold, max_new_tokens=n_new)
            ours = [event.token_id for event in decode(pair, MaxProbabilityRouter(), ids, settings)]
            config = GenerationConfig(
                max_new_tokens=n_new, do_sample=False, eos_token_id=sorted(pair.eos_ids), pad_token_id=pair.end_id
            )
            with torch.inference_mode():
                theirs = lm.model.generate(torch.tensor([ids]), generation_config=config)[0, len(ids) :].tolist()
            assert ours == theirs, (question, threshold)


def rewritten(path, change):
    """The tiny file with more in it: `change` gets its writer before it is closed."""
    original = gguf.GGUFWriter.write_header_to_file

    def write(writer, *arguments):
        change(writer)
        return original(writer, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gguf.GGUFWriter, "write_header_to_file", write)
        write_gguf(path, tiny_qwen2(1))
    return path


def linear(writer):
    writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
    writer.add_rope_scaling_factor(4.0)


def yarn(writer):
    writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
    writer.add_rope_scaling_factor(4.0)
    writer.add_rope_scaling_orig_ctx_len(128)


def frequencies(writer):
    writer.add_tensor("rope_freqs.weight", np.array([1, 2, 4, 8], dtype=np.float32))


FREQUENCIES = {"long_factor": [1, 2, 4, 8], "short_factor": [1, 2, 4, 8], "attention_factor": 1}
SCALED = [
    (frequencies, {"rope_type": "longrope", **FREQUENCIES}),
    (linear, {"rope_type": "linear", "factor": 4}),
    (yarn, {"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 128}),
]


@pytest.mark.parametrize(("change", "rope"), sampled(SCALED, 3))
def test_how_positions_are_scaled_is_read(tmp_path, change, rope):
    """It was dropped without a word, and the model wrote another text."""
    path = rewritten(tmp_path / "scaled.gguf", change)
    pair = load_pair(f"{path},{path}")
    said = pair.slm.model.config.rope_parameters
    assert {name: said[name] for name in rope} == rope and said["rope_theta"] == 10000.0
    assert pair.slm.is_fused == (rope["rope_type"] != "yarn")
    plain = tiny_qwen2(1)
    ids = torch.arange(5, 45)[None]
    with torch.inference_mode():
        assert not torch.allclose(pair.slm.model(ids).logits, plain(ids).logits, atol=1e-2)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda writer: writer.add_tensor("blk.0.attn_sinks.weight", np.ones(4, dtype=np.float32)), "attn_sinks"),
        (lambda writer: writer.add_sliding_window(8), r"attention\.sliding_window"),
        (lambda writer: writer.add_rope_scaling_type(gguf.RopeScalingType.LONGROPE), "longrope"),
        (lambda writer: writer.add_uint16("split.count", 2), "one of 2 parts"),
    ],
    ids=["tensor", "key", "scaling", "parts"],
)
def test_what_is_not_read_is_refused_by_name(tmp_path, change, words):
    path = rewritten(tmp_path / "more.gguf", change)
    with pytest.raises(ModelFileError, match=words):
        load_pair(f"{path},{path}")
