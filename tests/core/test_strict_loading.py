"""A checkpoint is loaded as it is or not at all: no missing, extra, misshapen or infinite weights, no absurd sizes."""

from __future__ import annotations

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from citer_core.errors import ModelFileError
from citer_core.models.checkpoint import eos_ids_of, load_model, load_tokenizer
from citer_core.models.hashes import check_files
from tests.core.conftest import tiny_qwen2
from tests.own_time import OwnTime

NORM = "model.norm.weight"
PROJECTION = "model.layers.1.self_attn.q_proj.weight"


@pytest.fixture
def folder(tmp_path):
    tiny_qwen2(1).save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def load(folder):
    return load_model(folder, "cpu", torch.float32)


def change(folder, edit):
    tensors = load_file(folder / "model.safetensors")
    edit(tensors)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def edit_config(folder, **changes):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda t: [t.pop(name) for name in list(t)] and t.update(other=torch.zeros(20_000)), "lacks .* tensors"),
        (lambda t: t.pop(PROJECTION), rf"lacks 1 of the model's tensors, {PROJECTION}"),
        (lambda t: t.update(extra=torch.zeros(3)), "has 1 tensors that the model does not have, extra"),
        (lambda t: t.update({NORM: torch.zeros(33)}), rf"another shape.*{NORM}"),
        (lambda t: t[NORM].__setitem__(3, float("nan")), rf"not finite numbers, in {NORM}"),
        (lambda t: t[PROJECTION].__setitem__((1, 2), float("-inf")), rf"not finite numbers, in {PROJECTION}"),
    ],
)
def test_weights_that_are_not_the_models_are_refused(folder, edit, said, caplog):
    """transformers would fill what is missing with random numbers, and run."""
    change(folder, edit)
    with pytest.raises(ModelFileError, match=rf"(?s){said}.*Nothing was loaded"):
        load(folder)
    assert "LOAD REPORT" not in caplog.text, "said once, by the error"


def test_a_head_that_its_config_does_not_tie_must_be_there(folder):
    edit_config(folder, tie_word_embeddings=False)
    with pytest.raises(ModelFileError, match=r"lacks 1 of the model's tensors, lm_head\.weight"):
        load(folder)


@pytest.mark.parametrize(
    "changes",
    [{"num_hidden_layers": 10**9}, {"max_position_embeddings": None}, {"num_attention_heads": 0}, {"model_type": 7}],
)
def test_a_config_of_nonsense_is_a_message_before_it_is_memory(folder, changes):
    edit_config(folder, **changes)
    with OwnTime() as spent, pytest.raises(ModelFileError, match="model"):
        load(folder)
    assert spent.seconds < 2


def test_no_code_of_a_checkpoint_is_run_and_no_question_is_asked(folder, monkeypatch):
    (folder / "mine.py").write_text("raise SystemExit('run')\n")
    edit_config(folder, model_type="mine", auto_map={"AutoConfig": "mine.C", "AutoModelForCausalLM": "mine.M"})
    monkeypatch.setattr("builtins.input", lambda *_: pytest.fail("a question on the terminal"))
    with pytest.raises(ModelFileError, match=r"config\.json describes no language model"):
        load(folder)


@pytest.mark.parametrize("eos", ["0", -1, [[0]]])
def test_an_end_of_text_that_is_no_token_is_refused(tokenizer, eos):
    model = tiny_qwen2(1)
    model.generation_config.eos_token_id = eos
    with pytest.raises(ModelFileError, match=r"generation_config\.json cannot be used: eos_token_id"):
        eos_ids_of(tokenizer, model)


@pytest.mark.parametrize("content", [b"{", b'{"model": {"type": "BPE"}}'])
def test_a_damaged_tokenizer_is_a_message(tmp_path, content):
    (tmp_path / "tokenizer.json").write_bytes(content)
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    with pytest.raises(ModelFileError, match="tokenizer"):
        load_tokenizer(tmp_path)


def test_a_note_beside_weights_is_compared_and_a_folder_without_one_is_not(folder):
    check_files(folder)
    note = folder / "citer.json"
    note.write_text('{"files": {"model.safetensors": "' + "0" * 64 + '"}}')
    with pytest.raises(ModelFileError, match=r"model/model\.safetensors is not the file.*delete its citer\.json"):
        load(folder)
    note.write_text('{"sha256": "of a GGUF file", "dtype": "float32"}')  # by an older version
    assert load(folder)
    note.write_text('{"files": {"../model.safetensors": "' + "0" * 64 + '"}}')
    with pytest.raises(ModelFileError, match=r"model/citer\.json, .* cannot be read"):
        load(folder)
