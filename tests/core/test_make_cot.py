"""Chains of thought from the pair's own LLM: only right ones are kept, and a stopped run finds what any other does."""

from __future__ import annotations

import contextlib
import io
import json

import pytest
import torch
from transformers import TopPLogitsWarper

from citer_core.assets import ASSETS
from citer_core.cli.main import main
from citer_core.errors import SettingError
from citer_core.models.batch import batch_completions, nucleus_choice, sampled_completions
from citer_core.tasks.answers import check_answer
from citer_core.tasks.datasets import read_rows, validate_rows
from citer_core.training import make_cot
from citer_core.training.finetune import completions
from citer_core.training.make_cot import CotSettings, make_cots
from tests.cli.examples import lines
from tests.core.conftest import tiny_qwen2
from tests.sampling import sampled


@pytest.fixture(scope="module")
def pair(engine):
    return engine.pair


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """Eight multiple-choice rows without chains."""
    lines = (ASSETS / "datasets" / "mc.jsonl").read_text(encoding="utf-8").splitlines()[8:16]
    path = tmp_path_factory.mktemp("bare") / "bare.jsonl"
    rows = [{name: value for name, value in json.loads(line).items() if name != "cot"} for line in lines]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def command(bare, out, *more):
    options = "--data-type mc --n-samples 2 --temperature 1.8 --top-p 1.0 --seed 5 --max-new-tokens 40 --batch-size 4"
    return main(["make-cot", "--dataset-path", str(bare), "--output-file", str(out), *options.split(), *more])


# --- sampling


def sample(lm, prompts, **options):
    settings = {"eos_ids": frozenset({0}), "max_new_tokens": 20, "temperature": 1.0, "top_p": 1.0, "seed": 3}
    return sampled_completions(lm, prompts, **(settings | options))


def test_samples_follow_the_seed_and_nothing_else(tiny_pair):
    prompts = [[5, 6, 7], [900, 3], [44] * 12]
    torch.manual_seed(1)
    first = sample(tiny_pair.llm, prompts)
    untouched = torch.rand(1)
    torch.manual_seed(1)
    assert torch.equal(untouched, torch.rand(1))  # the caller's random numbers are the caller's
    assert sample(tiny_pair.llm, prompts) == first
    assert sample(tiny_pair.llm, prompts, seed=4) != first
    assert sample(tiny_pair.llm, prompts, temperature=0.3) != first


def test_a_tiny_nucleus_is_greedy_with_padding_and_all(tiny_pair):
    prompts = [[5, 6, 7], [900, 3], [44] * 12]
    greedy = dict(batch_completions(tiny_pair.llm, prompts, eos_ids=frozenset({0}), max_new_tokens=20))
    assert sample(tiny_pair.llm, prompts, top_p=1e-6) == [greedy[i] for i in range(3)]


@pytest.mark.parametrize("top_p", sampled([0.9, 1.0, 0.3, 0.999], 2))
def test_tokens_are_drawn_as_often_as_their_probability_in_the_nucleus_says(top_p):
    """Against the nucleus as transformers cuts it; evenly spaced points make the counts exact up to one."""
    logits = torch.randn(1, 3000, generator=torch.Generator().manual_seed(0)) * 2
    n = 4_000
    points = (torch.arange(n, dtype=torch.float64) + 0.5) / n
    drawn = torch.tensor(nucleus_choice(logits.expand(n, -1), points, 0.8, top_p)).bincount(minlength=3000)
    warped = TopPLogitsWarper(top_p)(None, logits.double() / 0.8) if top_p < 1 else logits.double() / 0.8
    expected = torch.softmax(warped[0], -1) * n
    assert (drawn - expected).abs().max() <= 1


def test_a_checkpoints_own_decoding_defaults_change_nothing(tokenizer):
    """Instruct models ship a repetition penalty and a top-k, which `generate` would take over unasked."""
    from citer_core.models.language_model import LanguageModel

    plain, penalized = tiny_qwen2(1), tiny_qwen2(1)
    penalized.generation_config.update(repetition_penalty=5.0, top_k=1, no_repeat_ngram_size=1, do_sample=True)
    found = []
    for model in (plain, penalized):
        lm = LanguageModel(model, len(tokenizer))
        greedy = list(batch_completions(lm, [[5, 6, 7]], eos_ids=frozenset({0}), max_new_tokens=30))
        found.append((greedy, sample(lm, [[5, 6, 7]] * 3)))
    assert found[0] == found[1]


# --- which chains are kept


def test_seed_and_attempt_both_choose_the_samples(pair, bare, monkeypatch):
    rows = list(read_rows(bare, "mc"))[:4]
    drawn = []
    monkeypatch.setattr(
        make_cot, "sampled_completions", lambda lm, ids, seed, **_: drawn.append(seed) or [[1]] * len(ids)
    )
    for seed in (5, 6, 5):
        list(make_cots(pair, rows, CotSettings(n_samples=2, seed=seed)))
    assert len(set(drawn[:4])) == 4
    assert drawn[4:] == drawn[:2]


def test_a_chain_that_was_cut_off_is_not_kept(pair, bare, monkeypatch):
    (row,) = list(read_rows(bare, "mc"))[:1]
    right = pair.tokenizer(f" Therefore, the answer is ({row.problem.true_answer}).", add_special_tokens=False)
    for ids, kept in ((right["input_ids"], False), ([*right["input_ids"], min(pair.eos_ids)], True)):
        monkeypatch.setattr(make_cot, "sampled_completions", lambda *args, ids=ids, **options: [ids])
        (outcome,) = make_cots(pair, [row], CotSettings())
        assert (outcome.cot is not None) == kept


def test_a_prompt_without_room_fails_and_the_others_go_on(pair, bare, monkeypatch):
    def length(row):
        return len(pair.encode(row.problem.prompt))

    short, *_, long = sorted(read_rows(bare, "mc"), key=length)
    settings = CotSettings(max_new_tokens=pair.max_context - length(short), n_samples=1)
    answer = pair.tokenizer(f" Therefore, the answer is ({short.problem.true_answer}).")["input_ids"]
    monkeypatch.setattr(make_cot, "sampled_completions", lambda *args, **options: [[*answer, min(pair.eos_ids)]])
    failed, kept = make_cots(pair, [short, long], settings)
    assert (failed.row, failed.n_tried) == (long, 0)
    assert failed.reason == f"its prompt has {length(long)} tokens, more than {length(short)}"
    assert kept.row == short and kept.cot is not None


def test_a_full_gpu_is_a_message(pair, bare, monkeypatch):
    def full(*args, **options):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(make_cot, "sampled_completions", full)
    with pytest.raises(SettingError, match="--batch-size 4"):
        next(make_cots(pair, list(read_rows(bare, "mc")), CotSettings(batch_size=4)))


@pytest.mark.parametrize(
    "wrong", [{"temperature": 0}, {"temperature": 3}, {"n_samples": 0}, {"batch_size": 0}, {"seed": -1}, {"top_p": 0}]
)
def test_settings_outside_their_range_are_refused(wrong):
    with pytest.raises(SettingError, match=next(iter(wrong))):
        CotSettings(**wrong)


# --- the command


@pytest.fixture(scope="module")
def whole(bare, tmp_path_factory):
    """The whole command once: (its rows, what it said)."""
    out, said = tmp_path_factory.mktemp("whole") / "out.jsonl", io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()) as stdout:
        assert command(bare, out) == 0
    assert stdout.getvalue() == ""
    return out, said.getvalue()


def test_the_command_writes_training_rows_and_sets_the_others_aside(whole):
    out, err = whole
    found, failed = lines(out), lines(out.with_name("out.failed.jsonl"))
    assert found and failed and len(found) + len(failed) == 8
    assert f"{len(found)} of 8 rows have a chain" in err
    assert f"{len(failed)} failed: no right answer in 2 samples" in err
    assert validate_rows(out, "mc") == []
    completions(list(read_rows(out, "mc")), "mc")
    for row in read_rows(out, "mc"):
        assert check_answer(row.row["cot"], row.problem).is_correct
    made_by = found[0]["cot_made_by"]
    assert (made_by["llm"], made_by["seed"], made_by["temperature"]) == ("Bundled pair LLM", 5, 1.8)
    assert {row["id"] for row in failed}.isdisjoint(row["id"] for row in found)


def test_a_stopped_run_finds_what_an_uninterrupted_one_does(bare, whole, tmp_path, monkeypatch, capsys):
    """Stopped inside a group, with a torn last line; failed rows are remembered and never sampled again."""
    real = make_cot.make_cots

    def stopping(*args):
        for n, outcome in enumerate(real(*args)):
            if n == 6:
                raise KeyboardInterrupt
            yield outcome

    out = tmp_path / "out.jsonl"
    with monkeypatch.context() as patch:
        patch.setattr(make_cot, "make_cots", stopping)
        assert command(bare, out) == 130
    n_done = len(lines(out)) + len(lines(tmp_path / "out.failed.jsonl"))
    assert n_done == 6
    with out.open("ab") as file:
        file.write(b'{"id": "torn')
    assert command(bare, out) == 0
    for name in ("out.jsonl", "out.failed.jsonl"):
        assert lines(tmp_path / name) == lines(whole[0].with_name(name))

    def no_model(*args, **options):
        raise AssertionError("nothing is left to do")

    monkeypatch.setattr("citer_core.models.pair.load_pair", no_model)
    capsys.readouterr()
    assert command(bare, out) == 0
    assert "of 8 rows have a chain" in capsys.readouterr().err


def test_rows_with_a_chain_are_taken_over_and_rows_without_an_answer_fail(tmp_path, monkeypatch):
    path = tmp_path / "rows.jsonl"
    choices = {"text": ["x", "y"], "label": ["A", "B"]}
    rows = [
        {"id": 7, "question": "Has one?", "choices": choices, "answerKey": "A", "cot": "Yes. Therefore, x (A)."},
        {"question": "Secret?", "choices": choices, "answerKey": ""},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    monkeypatch.setattr("citer_core.models.pair.load_pair", None)  # no model is needed for either
    out = tmp_path / "out.jsonl"
    assert command(path, out) == 0
    assert lines(out) == [{**rows[0], "id": "7"}]
    assert lines(tmp_path / "out.failed.jsonl") == [{"id": "row-2", "n_tried": 0, "reason": "no known answer"}]


def test_a_changed_row_and_rows_of_other_settings_are_refused(bare, tmp_path, capsys):
    rows = tmp_path / "rows.jsonl"
    rows.write_bytes(bare.read_bytes())
    assert command(rows, tmp_path / "out.jsonl", "--limit", "4") == 0
    (first, *_) = lines(tmp_path / "out.jsonl")
    rows.write_text(rows.read_text(encoding="utf-8").replace(first["question"], "Another one?"), encoding="utf-8")
    assert command(rows, tmp_path / "out.jsonl", "--limit", "4") == 2
    assert "choose another output file" in capsys.readouterr().err
    for more, part in (("--seed", "6"), "seed was 5 and is 6"), (("--pair", "a,b"), "pair was 'embedded'"):
        assert command(bare, tmp_path / "out.jsonl", *more) == 2
        assert part in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--dataset", "cqa:test"], ["--dataset", "cqa", "--split", "test"]])
def test_test_splits_are_never_read(arguments, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("citer_core.tasks.dataset_cache.fetch_from_hub", None)
    assert main(["make-cot", *arguments, "--output-file", str(tmp_path / "out.jsonl")]) == 2
    assert "is for tests" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
