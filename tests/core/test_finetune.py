"""Fine-tuning of tiny models on a CPU: what is learned, what is not, and that a stopped run ends like any other."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import TrainerCallback

from citer_core.assets import ASSETS
from citer_core.cli import finetune as command
from citer_core.cli.main import main
from citer_core.errors import DatasetError, MachineError, ModelFileError, SettingError
from citer_core.labelling.teacher_forcing import example_of
from citer_core.models.batch import batch_completions
from citer_core.models.pair import load_pair
from citer_core.tasks.datasets import bundled_rows, read_rows
from citer_core.training.finetune import IGNORED, PEFT_PIN, Recipe, collate, completions, encode_row, finetune
from tests.core.conftest import tiny_qwen2

ROOT = Path(__file__).resolve().parents[2]
ROWS = bundled_rows("mc")[:16]
QUICK = Recipe(max_steps=8, batch_size=4, learning_rate=1e-2, max_length=200, save_steps=3)
needs_peft = pytest.mark.skipif(importlib.util.find_spec("peft") is None, reason="peft is optional")
WITH_AND_WITHOUT = [None, pytest.param(4, marks=[needs_peft, pytest.mark.slow])]


class StopAt(TrainerCallback):
    """Interrupts after a step, as Ctrl-C would."""

    def __init__(self, step):
        self.step = step
        self.started_at = None

    def on_train_begin(self, args, state, control, **kwargs):
        self.started_at = state.global_step

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step == self.step:
            raise KeyboardInterrupt


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory, tokenizer):
    folder = tmp_path_factory.mktemp("model") / "slm"
    tiny_qwen2(1, initializer_range=0.1).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def tune(model_folder, output, recipe=QUICK, rows=ROWS, **options):
    return finetune(model_folder, rows, "mc", output, recipe, **options)


def weights(folder):
    return load_file(folder / "model.safetensors")


def same(a, b):
    a, b = weights(a), weights(b)
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


# --- what a row teaches


def test_a_row_is_the_prompt_of_inference_and_labels_on_the_completion_and_its_end(tiny_pair):
    for data_type in ("mc", "math"):
        row = bundled_rows(data_type)[0]
        (text,) = completions([row], data_type)
        encoded = encode_row(row.problem.prompt, text, tiny_pair.prompt_form, 0)
        example = example_of(row.row, data_type, tiny_pair)  # what labels and the router are made of
        assert encoded["input_ids"] == example.prompt_ids + example.truth_ids
        assert encoded["labels"] == [IGNORED] * len(example.prompt_ids) + example.truth_ids
        assert encoded["labels"][-1] == 0 == tiny_pair.tokenizer.eos_token_id
        assert example.prompt_ids == tiny_pair.encode(row.problem.prompt)


def test_prompt_and_padding_get_no_gradient_and_the_end_of_text_does():
    model = tiny_qwen2(3)
    rows = [
        {"input_ids": [5, 6, 7, 8, 0], "labels": [IGNORED, IGNORED, 7, 8, 0]},
        {"input_ids": [9, 3, 0], "labels": [IGNORED, 3, 0]},
    ]
    batch = collate(rows, pad_id=0)
    assert batch["attention_mask"].tolist() == [[1] * 5, [1, 1, 1, 0, 0]]
    assert batch["labels"][1].tolist() == [IGNORED, 3, 0, IGNORED, IGNORED]
    found = []
    model.lm_head.register_forward_hook(lambda module, inputs, output: found.append(output) or output.retain_grad())
    model(**batch).loss.backward()
    learns = found[0].grad.abs().sum(-1) > 0  # [B, T]: does the prediction made at a position matter?
    assert learns.tolist() == [[False, True, True, True, False], [True, True, False, False, False]]


def test_a_row_without_a_completion_says_what_to_run(tmp_path):
    path = tmp_path / "rows.jsonl"
    bare = {name: value for name, value in ROWS[0].row.items() if name != "cot"}
    path.write_text(json.dumps(bare), encoding="utf-8")
    with pytest.raises(DatasetError, match=r"has no 'cot'.*make-cot"):
        completions(list(read_rows(path, "mc")), "mc")


# --- training


def test_it_learns_to_write_the_chain_and_to_stop_and_is_half_of_a_pair(model_folder, tmp_path):
    before, rows = weights(model_folder), ROWS[:1]
    result = tune(model_folder, tmp_path / "tuned", Recipe(max_steps=40, batch_size=1, learning_rate=1e-2), rows)
    assert (result.n_steps, result.n_rows, result.n_too_long) == (40, 1, 0)
    assert result.losses[0][0] == 1 and result.losses[-1][0] == 40
    assert result.losses[-1][1] < 0.1 * result.losses[0][1]
    pair = load_pair(f"{tmp_path / 'tuned'},{model_folder}")
    assert pair.info.slm.n_params == pair.info.llm.n_params
    assert pair.info.revision.split("-")[0] != pair.info.revision.split("-")[1]
    assert all(torch.equal(before[name], tensor) for name, tensor in weights(model_folder).items())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tuned"]
    content = (tmp_path / "tuned" / "model.safetensors").read_bytes()
    note = json.loads((tmp_path / "tuned" / "citer.json").read_text())
    assert note == {"files": {"model.safetensors": hashlib.sha256(content).hexdigest()}}
    prompt = pair.encode(rows[0].problem.prompt)
    ((_, ids),) = batch_completions(pair.slm, [prompt], eos_ids=pair.eos_ids, max_new_tokens=100)
    assert ids[-1] in pair.eos_ids
    assert pair.tokenizer.decode(ids, skip_special_tokens=True) == completions(rows, "mc")[0]


def test_rows_that_are_too_long_are_left_out_and_counted(model_folder, tmp_path, tiny_pair):
    lengths = sorted(
        len(encode_row(row.problem.prompt, text, tiny_pair.prompt_form, 0)["input_ids"])
        for row, text in zip(ROWS, completions(ROWS, "mc"), strict=True)
    )
    recipe = Recipe(max_steps=1, max_length=lengths[-2] if lengths[-2] < lengths[-1] else lengths[0])
    result = tune(model_folder, tmp_path / "tuned", recipe)
    assert result.n_too_long == sum(n > recipe.max_length for n in lengths) > 0
    assert result.n_rows == 16 - result.n_too_long
    with pytest.raises(DatasetError, match="None of the 16 rows fits 10 tokens"):
        tune(model_folder, tmp_path / "none", Recipe(max_length=10))


@pytest.mark.parametrize("lora_rank", WITH_AND_WITHOUT)
def test_a_stopped_run_ends_with_the_weights_of_one_that_was_not(model_folder, tmp_path, lora_rank):
    """Stopped at step 5, behind the checkpoint of step 3; a newer checkpoint is torn, as kill -9 leaves it."""
    recipe = Recipe(**{**{name: getattr(QUICK, name) for name in QUICK.__slots__}, "lora_rank": lora_rank})
    whole = tune(model_folder, tmp_path / "whole", recipe)
    with pytest.raises(KeyboardInterrupt):
        tune(model_folder, tmp_path / "stopped", recipe, callbacks=[StopAt(5)])
    work_dir = tmp_path / "stopped.training"
    assert not (tmp_path / "stopped").exists()
    assert (work_dir / "checkpoint-3").is_dir()
    torn = work_dir / "checkpoint-5"
    torn.mkdir()
    (torn / "trainer_state.json").write_text('{"global_st', encoding="utf-8")
    watcher = StopAt(None)
    resumed = tune(model_folder, tmp_path / "stopped", recipe, callbacks=[watcher])
    assert watcher.started_at == 3
    assert same(tmp_path / "whole", tmp_path / "stopped")
    assert resumed.losses == whole.losses
    assert not work_dir.exists()


def test_a_run_that_could_not_save_its_result_needs_no_training_again(model_folder, tmp_path, monkeypatch):
    def disk_full(*args):
        raise ModelFileError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr("citer_core.training.finetune._save", disk_full)
        with pytest.raises(ModelFileError):
            tune(model_folder, tmp_path / "tuned")
    watcher = StopAt(None)
    assert tune(model_folder, tmp_path / "tuned", callbacks=[watcher]).n_steps == 8
    assert watcher.started_at in (8, None)


@pytest.mark.parametrize(
    ("error", "kind", "part"),
    [
        (torch.OutOfMemoryError("CUDA out of memory"), SettingError, "--batch-size 4"),
        (OSError(28, "No space left on device"), MachineError, "No space left.*last checkpoint is kept"),
    ],
)
def test_a_full_gpu_or_disk_is_a_message(model_folder, tmp_path, error, kind, part):
    class Fails(TrainerCallback):
        def on_step_end(self, args, state, control, **kwargs):
            raise error

    with pytest.raises(kind, match=part):
        tune(model_folder, tmp_path / "tuned", callbacks=[Fails()])


def test_another_runs_folder_is_refused(model_folder, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        tune(model_folder, tmp_path / "a", callbacks=[StopAt(4)])
    changed = Recipe(max_steps=8, batch_size=4, learning_rate=2e-2, max_length=200, save_steps=3)
    with pytest.raises(ModelFileError, match=r"another run's: learning_rate was 0\.01 and is 0\.02"):
        tune(model_folder, tmp_path / "a", changed)
    with pytest.raises(ModelFileError, match="rows was"):
        tune(model_folder, tmp_path / "a", rows=ROWS[1:])
    (tmp_path / "b.training" / "checkpoint-9").mkdir(parents=True)
    with pytest.raises(ModelFileError, match=r"no run\.json"):
        tune(model_folder, tmp_path / "b")
    (tmp_path / "c").mkdir()
    with pytest.raises(ModelFileError, match="exists"):
        tune(model_folder, tmp_path / "c")


@pytest.mark.parametrize("lora_rank", WITH_AND_WITHOUT)
def test_bfloat16_is_saved_as_such(model_folder, tmp_path, lora_rank):
    recipe = Recipe(dtype="bfloat16", max_steps=2, batch_size=4, gradient_accumulation=2, lora_rank=lora_rank)
    tune(model_folder, tmp_path / "tuned", recipe)
    assert {tensor.dtype for tensor in weights(tmp_path / "tuned").values()} == {torch.bfloat16}
    assert load_pair(f"{tmp_path / 'tuned'},{tmp_path / 'tuned'}", dtype="bfloat16").info.dtype == "bfloat16"


@needs_peft
def test_lora_leaves_an_ordinary_checkpoint(model_folder, tmp_path):
    recipe = Recipe(max_steps=12, batch_size=4, learning_rate=3e-2, lora_rank=8)
    result = tune(model_folder, tmp_path / "tuned", recipe)
    assert result.losses[-1][1] < 0.9 * result.losses[0][1]
    before, after = weights(model_folder), weights(tmp_path / "tuned")
    assert before.keys() == after.keys()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed == {name for name in before if name.endswith("proj.weight")}
    assert not list((tmp_path / "tuned").glob("adapter*"))
    load_pair(f"{tmp_path / 'tuned'},{model_folder}")


def test_lora_without_peft_names_the_command(model_folder, tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SettingError, match=r"pip install peft=="):
        tune(model_folder, tmp_path / "tuned", Recipe(lora_rank=4))
    assert f"\n{PEFT_PIN} " in (ROOT / "requirements-dev.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "wrong",
    [
        {"dtype": "float16"}, {"n_epochs": 0}, {"max_steps": 0}, {"batch_size": 0}, {"learning_rate": float("nan")},
        {"warmup_share": 1}, {"lora_rank": 0}, {"seed": -1},
    ],
)  # fmt: skip
def test_settings_outside_their_range_are_refused(wrong):
    with pytest.raises(SettingError, match=next(iter(wrong))):
        Recipe(**wrong)


# --- on the command line


def finetune_command(*arguments):
    return main(["finetune", *map(str, arguments)])


def test_the_command_speaks_on_stderr_only(model_folder, tmp_path, capsys):
    data = ["--dataset-path", ASSETS / "datasets" / "math.jsonl", "--limit", 8, "--max-steps", 3, "--batch-size", 2]
    output = tmp_path / "tuned"
    assert finetune_command("--model", model_folder, *data, "--output", output) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "step 3/3 | loss" in err
    assert f"{output}: 8 rows, 3 steps | loss" in err
    assert finetune_command("--model", model_folder, *data, "--output", output) == 2
    assert "exists" in capsys.readouterr().err


def test_the_bundled_slm_by_name(tmp_path):
    data = ["--dataset-path", ASSETS / "datasets" / "mc.jsonl", "--data-type", "mc", "--limit", 2]
    assert finetune_command("--model", "embedded", *data, "--max-steps", 1, "--output", tmp_path / "tuned") == 0
    pair, bundled = load_pair(f"{tmp_path / 'tuned'},embedded"), load_pair()
    assert (pair.info.slm.n_params, pair.info.name) == (bundled.info.slm.n_params, "tuned / Bundled LLM")
    weights = bundled.llm.model.state_dict()
    assert all(torch.equal(value, weights[name]) for name, value in pair.llm.model.state_dict().items())
    assert pair.tokenizer("Tom buys 4 books").input_ids == bundled.tokenizer("Tom buys 4 books").input_ids


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--dataset", "gsm8k:test"], "is for tests"),
        (["--dataset-path", "test-rows.jsonl"], '"gsm8k-test-0001" is from a test split'),
        (["--dataset-path", "no-such-file"], "cannot be read"),
        (["--dataset-path", "rows.jsonl", "--limit", "0"], "--limit"),
        (["--dataset-path", "rows.jsonl", "--device", "tpu"], "cpu or cuda"),
        (["--dataset-path", "rows.jsonl", "--model", "no-such-folder"], "no model folder"),
    ],
)
def test_bad_input_is_one_message(arguments, part, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    row = {"problem": "1+1?", "solution": r"\boxed{2}"}
    Path("rows.jsonl").write_text(json.dumps(row), encoding="utf-8")
    Path("test-rows.jsonl").write_text(json.dumps({"id": "gsm8k-test-0001", **row}), encoding="utf-8")
    assert finetune_command("--model", "embedded", "--output", "out", *arguments) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: ") and part in err and "Traceback" not in err
    assert not Path("out").exists()


def test_only_the_first_process_speaks(monkeypatch, capsys):
    monkeypatch.setenv("RANK", "1")
    command._speaker()("hidden")
    monkeypatch.setenv("RANK", "0")
    command._speaker()("shown")
    assert capsys.readouterr().err == "shown\n"


@pytest.mark.slow
def test_two_processes_train_one_model(model_folder, tmp_path):
    """Half the batch in each of two processes is the same step as the whole batch in one.

    torchrun is what `accelerate launch` starts where there are several GPUs; on a CPU it starts one process only.
    """
    data = ["--dataset-path", str(ASSETS / "datasets" / "math.jsonl"), "--limit", "8", "--max-steps", "4"]
    common = ["-m", "citer_core", "finetune", "--model", str(model_folder), *data, "--learning-rate", "1e-3"]
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    losses = {}
    for name, arguments in (
        ("one", [*common, "--batch-size", "8"]),
        ("two", [*launch, *common, "--batch-size", "4"]),
    ):
        done = subprocess.run(
            [sys.executable, *arguments, "--output", str(tmp_path / name)],
            cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stderr.count("4 steps | loss") == 1
        losses[name] = [line for line in done.stderr.splitlines() if line.startswith("step ")]
    assert losses["one"] == losses["two"] and len(losses["one"]) == 4
    one, two = weights(tmp_path / "one"), weights(tmp_path / "two")
    for name in one:
        torch.testing.assert_close(one[name], two[name], rtol=1e-3, atol=2e-4)
