"""The bundled pair's generator and its training recipe."""

from __future__ import annotations

import collections
import dataclasses
import hashlib
import json
import random
import re
from fractions import Fraction
from itertools import islice

import pytest
import torch
from safetensors.torch import load_file, save_file

from citer_core.assets import ASSETS
from citer_core.embedded import corpus, multiple_choice, pretrain, publish, stories, wording
from citer_core.errors import SettingError
from citer_core.tasks.answers import check_answer
from citer_core.tasks.problems import problem_from_row
from citer_core.tasks.prompts import row_completion, row_prompt
from tests.sampling import few_or_all, sampled

NUMBERS = {word: str(n) for n, word in enumerate(stories.NUMBER_WORDS)}


def value(expression: str) -> Fraction:
    """An independent reading of the LaTeX that the generator writes: + - x and division, left to right by rank."""
    total = Fraction(0)
    for sign, term in re.findall(r"([+-]?)([^+-]+)", expression):
        factors = re.split(r"(\\times|\\div)", term)
        product = Fraction(factors[0])
        for operator, factor in zip(factors[1::2], factors[2::2], strict=True):
            product = product * int(factor) if operator == r"\times" else product / int(factor)
        total += -product if sign == "-" else product
    return total


@pytest.mark.parametrize("kind", sampled(stories.kinds(), 8), ids=lambda kind: kind.name)
def test_every_step_of_every_kind_is_true_and_follows_from_what_is_known(kind):
    rng = random.Random(kind.name)
    for _ in range(100):
        row = stories.sample(rng, kind)
        problem, solution = row["problem"], row["solution"]
        assert row["kind"] == kind.name and re.search(r"[?]($| )|^Find ", problem)
        assert not re.search(r"[{}]|  ", problem)
        chains = [chain.split("=") for chain in re.findall(r"\$([^$]+)\$", solution) if "boxed" not in chain]
        assert len(chains) == len(kind.steps)
        # Each number of a step was given in the problem or found in an earlier step.
        given = re.sub(r"\w+", lambda word: NUMBERS.get(word[0].lower(), word[0]), problem)
        known = {int(n) for n in re.findall(r"\d+", given)} | {2, 100}
        for first, *others in chains:
            assert {int(n) for n in re.findall(r"\d+", first)} <= known, row
            assert len({value(side) for side in (first, *others)}) == 1, row
            known.add(int(value(first)))
        # Nobody is named whom the problem does not name.
        for name in re.findall(r"(?<![.?!] )(?<!^)\b[A-Z][a-z]+", solution.split(" The final answer")[0]):
            assert name.lower() in problem.lower() or solution.startswith((name, *wording.OPENINGS[1:])), row


def arithmetic_is_true(text):
    """Recomputes every chain of equations between dollar signs; returns how many there were."""
    chains = [chain for chain in re.findall(r"\$([^$]+)\$", text) if "boxed" not in chain]
    for chain in chains:
        assert len({value(side) for side in chain.split("=")}) == 1, text
    return len(chains)


@pytest.mark.parametrize("n", few_or_all(300, 10_000))
def test_every_statement_of_many_samples_is_true_however_it_is_worded(n):
    rng, n_steps = random.Random(20261122), collections.Counter()
    for _ in range(n):
        row = stories.sample(rng)
        n_steps[arithmetic_is_true(row["solution"])] += 1
        assert check_answer(row_completion(row, "math"), problem_from_row(row, "math")).is_correct
        results = re.findall(r"=(\d+)\$", row["solution"])
        assert row["solution"].endswith(f" The final answer is $\\boxed{{{results[-1]}}}$.")
        assert not re.search(r"[.] [a-z]|  |[.][.]", row["solution"]), row["solution"]
    assert set(n_steps) == {2, 3, 4}
    for _ in range(n):
        row = multiple_choice.sample(rng)
        for label, text in zip(row["choices"]["label"], row["choices"]["text"], strict=True):
            is_read = any(f"{label} {verb} {text}" in row["cot"] for verb in ("is", "says", "has", "gives"))
            assert is_read == (label <= row["answerKey"]), row


def test_the_generator_is_the_one_that_was_frozen_before_the_first_router():
    assert corpus.fingerprint() == corpus.FROZEN["fingerprint"]


def test_questions_have_one_right_option_among_true_facts():
    facts = {r.name: dict(r.facts) for r in multiple_choice.relations()}
    assert multiple_choice.n_facts() >= 1000
    for relation in multiple_choice.relations():
        assert len(facts[relation.name]) == len(relation.facts), f"{relation.name} asks one subject twice"
        assert len(relation.options) >= 3
    rng = random.Random(0)
    for _ in range(200):
        row = multiple_choice.sample(rng)
        texts, labels = row["choices"]["text"], row["choices"]["label"]
        assert 3 <= len(texts) == len(labels) == len(set(texts)) <= 5
        problem = problem_from_row(row, "mc")
        assert check_answer(row["cot"], problem).is_correct
        right = texts[labels.index(row["answerKey"])]
        assert f"Therefore, the answer is {right} ({row['answerKey']})." in row["cot"]


def test_training_never_sees_a_held_out_prompt():
    held_out = {
        row_prompt(row, kind) for kind in ("math", "mc") for row in islice(corpus.held_out_rows(kind, "test"), 100)
    }
    seen = {prompt for step in range(8) for prompt, _ in corpus.training_texts(7, step, 100)}
    assert len(held_out) == 200 and not held_out & seen
    assert corpus.training_texts(7, 3, 20) == corpus.training_texts(7, 3, 20) != corpus.training_texts(7, 4, 20)


@pytest.mark.parametrize("n", few_or_all(10, publish.N_CARD))
def test_what_is_tested_on_is_noted(n):
    noted = publish.TESTED.read_text(encoding="utf-8").split()
    assert len(noted) == len(publish.tested()) == 2 * publish.N_CARD
    for kind, ids in zip(publish.FORMATS, (noted[: publish.N_CARD], noted[publish.N_CARD :]), strict=True):
        assert ids[:n] == [row["id"] for row in publish.held_out(kind, "test", n)]


def test_rows_of_a_stream_are_the_same_however_many_were_asked_for_and_none_is_one_that_was_ruled_out():
    stream = list(islice(corpus.held_out_rows("mc", "router"), 30))
    few, without = (
        publish.held_out("mc", "router", 3),
        publish.held_out("mc", "router", 20, without={row["id"] for row in stream[2:9]}),
    )
    assert without == stream[:2] + stream[9:27]
    few[0]["id"] = "changed by the caller"
    assert publish.held_out("mc", "router", 30) == stream


def test_targets_are_the_completion_and_its_end_alone(tokenizer):
    texts = [pretrain.encode_text("Question: one?\nAnswer:", " It is one.", tokenizer), ([5, 6, 7, 0], 2)]
    for inputs, targets in pretrain.collate(texts):
        assert inputs.shape == targets.shape and inputs.shape[1] in pretrain.WIDTHS
        for row_inputs, row_targets in zip(inputs.tolist(), targets.tolist(), strict=True):
            kept = [t for t in row_targets if t != pretrain.IGNORED]
            ids, n_prompt = next((ids, n) for ids, n in texts if row_inputs[: len(ids) - 1] == ids[:-1])
            assert kept == ids[n_prompt:] and kept[-1] == tokenizer.eos_token_id


TINY = pretrain.Recipe(16, 32, 1, 2, 1, 8, learning_rate=1e-3, n_steps=4, rows_per_step=6, warmup_steps=2)


class KilledError(Exception):
    """Stands in for kill -9 between two steps."""


def test_a_killed_training_ends_with_the_same_weights(tmp_path, tokenizer, monkeypatch):
    monkeypatch.setattr(pretrain, "SAVE_EVERY", 1)
    monkeypatch.setattr(pretrain, "VALIDATE_EVERY", 100)
    monkeypatch.setattr(pretrain, "greedy_accuracy", lambda *_: 0.0)
    whole = pretrain.pretrain(TINY, tokenizer, tmp_path / "whole")

    def killed_at_step_2(seed, step, *others):
        if step == 2:
            raise KilledError
        return corpus.training_texts(seed, step, *others)

    with monkeypatch.context() as context:
        context.setattr(pretrain, "training_texts", killed_at_step_2)
        with pytest.raises(KilledError):
            pretrain.pretrain(TINY, tokenizer, tmp_path / "killed")
    assert json.loads((tmp_path / "killed" / "state.json").read_text())["step"] == 2
    resumed = pretrain.pretrain(TINY, tokenizer, tmp_path / "killed")
    for (name, a), b in zip(whole.state_dict().items(), resumed.state_dict().values(), strict=True):
        assert torch.equal(a, b), name


@pytest.mark.parametrize("mean_of", sampled([2, 1], 2))
def test_a_recipe_goes_on_with_the_next(tmp_path, tokenizer, monkeypatch, mean_of):
    """What is published is the second training's model, which began with the weights of the first; or their mean."""
    then = dataclasses.replace(TINY, n_steps=1, seed=8, warmup_steps=20, often={"votes/gap": 1e9})
    recipe = dataclasses.replace(TINY, n_steps=1)
    stage = pretrain.Stage(1, then.learning_rate, then.decay_share, 8, then.often, then.mc_share)
    monkeypatch.setattr(publish, "RECIPES", {"llm": dataclasses.replace(recipe, then=(stage,), mean_of=mean_of)})
    monkeypatch.setattr(publish, "tokenizer_for", lambda _: tokenizer)
    monkeypatch.setattr(publish, "publish_model_hashes", lambda _: None)
    monkeypatch.setattr(pretrain, "greedy_accuracy", lambda *_: 0.0)
    publish.publish_model("llm", tmp_path / "work", tmp_path / "assets")
    first = pretrain.pretrain(recipe, tokenizer, tmp_path / "alone")
    save_file({k: v for k, v in first.state_dict().items() if k != "lm_head.weight"}, tmp_path / "first.safetensors")
    both = pretrain.pretrain(then, tokenizer, tmp_path / "then", first_weights=tmp_path / "first.safetensors")
    shipped = load_file(tmp_path / "assets" / "models" / "llm" / "model.safetensors")
    assert shipped
    for name, weights in shipped.items():
        wanted = both.state_dict()[name]
        if mean_of == 2:
            wanted = (first.state_dict()[name] + wanted) / 2
        assert torch.equal(weights, wanted.bfloat16()), name


def test_kinds_are_drawn_as_often_as_a_recipe_says():
    rng = random.Random(1)
    assert {stories.sample(rng, often={"votes/gap": 1e9})["kind"] for _ in range(50)} == {"votes/gap"}
    assert sum("votes" in prompt for prompt, _ in corpus.training_texts(7, 1, 100, {"votes/gap": 1e9})) > 30


def test_validation_counts_right_answers_whatever_their_wording(tokenizer, monkeypatch):
    """A model that writes another right solution of the first three problems, and nonsense for the fourth."""
    rows = list(islice(corpus.held_out_rows("mc", "validation"), 4))
    model = pretrain.build_model(TINY, tokenizer)

    def generate(*, input_ids, attention_mask, **_):
        written = []
        for row, ids, mask in zip(rows, input_ids, attention_mask, strict=True):
            assert tokenizer.decode(ids[mask.bool()]) == row_prompt(row, "mc")
            right = row["choices"]["text"][row["choices"]["label"].index(row["answerKey"])]
            text = f" Yes. Therefore, the answer is {right} ({row['answerKey']})." if row is not rows[3] else " No."
            written.append(tokenizer.encode(text))
        longest = max(map(len, written))
        ends = torch.tensor([ids + [tokenizer.eos_token_id] * (longest - len(ids)) for ids in written])
        return torch.cat([input_ids, ends], 1)

    monkeypatch.setattr(model, "generate", generate)
    assert pretrain.greedy_accuracy(model, tokenizer, "mc", 4) == 0.75


def test_learning_rate_rises_stays_and_falls_to_zero():
    recipe = dataclasses.replace(TINY, n_steps=100, warmup_steps=10, decay_share=0.5)
    shares = [pretrain.learning_rate_share(step, recipe) for step in range(101)]
    assert (
        shares[0] == 0.1 and shares[9] == shares[49] == 1.0 and shares[75] == pytest.approx(0.5) and shares[100] == 0.0
    )


@pytest.mark.parametrize("kind", ["math", "mc"])
def test_bundled_problems_are_held_out_rows_with_right_solutions(kind):
    lines = (ASSETS / "datasets" / f"{kind}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert len(rows) == 200 == len({row["id"] for row in rows})
    for row in rows:
        assert corpus.is_held_out(row, kind)
        assert check_answer(row_completion(row, kind), problem_from_row(row, kind)).is_correct


def test_an_edition_asks_for_the_weights_of_the_one_before_by_their_hash(tmp_path):
    """The shipped file is another by now; what the message tells to do brings the right one."""
    (tmp_path / "shipped").mkdir()
    (tmp_path / "shipped" / "model.safetensors").write_bytes(b"another model")
    with pytest.raises(SettingError, match=rf"git show {publish.BEFORE_COMMIT}:assets/models/slm/.* > .*slm-before"):
        publish.edition_before("slm", tmp_path / "work", tmp_path / "shipped")


def test_first_weights_are_kept_beside_the_checkpoints(tmp_path, monkeypatch):
    (tmp_path / "shipped").mkdir()
    shipped = tmp_path / "shipped" / "model.safetensors"
    shipped.write_bytes(b"the edition before")
    monkeypatch.setitem(publish.BEFORE, "slm", hashlib.sha256(b"the edition before").hexdigest())
    kept = publish.edition_before("slm", tmp_path / "work", tmp_path / "shipped")
    shipped.write_bytes(b"the next edition")
    assert publish.edition_before("slm", tmp_path / "work", tmp_path / "shipped") == kept
    assert kept.read_bytes() == b"the edition before"
