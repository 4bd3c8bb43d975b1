"""Routers, their files, labels and training."""

from __future__ import annotations

import dataclasses
import json
import math
import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from citer_core.errors import DatasetError, RouterError
from citer_core.evaluation.metrics import expected_calibration_error, reliability, roc_auc, wilson_interval
from citer_core.routing.catalog import load_router, load_routers
from citer_core.routing.router import RouterFeatures
from citer_core.routing.routers.citer import CiterMLP, CiterRouter
from citer_core.routing.routers.max_probability import MaxProbabilityRouter
from citer_core.tasks.answers import check_answer
from citer_core.training.labels import Labels, example_of, label_dataset, label_examples, label_header
from citer_core.training.router_training import RouterRecipe, router_loss, split_by_question, train_router

FAST = RouterRecipe(learning_rates=(3e-3, 1e-3), batch_size=64, max_epochs=40)


def features(n, hidden_size=32, vocab=50):
    generator = torch.Generator().manual_seed(0)
    return RouterFeatures(
        torch.randn(n, hidden_size, generator=generator), 3 * torch.randn(n, vocab, generator=generator)
    )


def card_of(pair, **changes):
    card = {"name": "citer", "label": "CITER", "hidden_size": pair.hidden_size, "pair_revision": pair.info.revision}
    return card | changes


def test_max_probability_is_the_greedy_tokens():
    f = features(6)
    expected = torch.softmax(f.logits, -1).max(-1).values
    torch.testing.assert_close(MaxProbabilityRouter().confidence(f), expected)


def test_the_mlp_has_the_published_layers():
    shapes = [
        (type(m).__name__, getattr(m, "in_features", None), getattr(m, "out_features", None)) for m in CiterMLP(8)
    ]
    assert [s for s in shapes if s[0] != "Dropout"] == [
        ("Linear", 8, 16), ("BatchNorm1d", None, None), ("ReLU", None, None), ("Linear", 16, 8), ("Linear", 8, 1),
    ]  # fmt: skip


def test_a_router_survives_its_files(tiny_pair, tmp_path):
    router = CiterRouter(CiterMLP(tiny_pair.hidden_size), card_of(tiny_pair))
    router.save(tmp_path)
    again = load_router(tmp_path / "citer.json", tiny_pair)
    f = features(5)
    assert torch.equal(router.confidence(f), again.confidence(f))
    assert (again.revision, again.n_params) == (router.revision, router.n_params)
    assert router.n_params == 32 * 64 + 64 + 4 * 64 + 64 * 32 + 32 + 32 + 1
    assert ((again.confidence(f) >= 0) & (again.confidence(f) <= 1)).all()


@pytest.mark.parametrize(
    "damage", ["size", "other-pair", "truncated", "no-weights", "bad-card", "weights-of-other-size"]
)
def test_a_router_that_does_not_fit_says_so_and_spares_the_others(tiny_pair, tmp_path, damage):
    CiterRouter(CiterMLP(32), card_of(tiny_pair, name="good")).save(tmp_path)
    size = 16 if damage in ("size", "weights-of-other-size") else 32
    CiterRouter(CiterMLP(size), card_of(tiny_pair, name="bad", hidden_size=size)).save(tmp_path)
    card, weights = tmp_path / "bad.json", tmp_path / "bad.safetensors"
    if damage == "other-pair":
        card.write_text(json.dumps(json.loads(card.read_text()) | {"pair_revision": "elsewhere"}))
    elif damage == "weights-of-other-size":
        card.write_text(json.dumps(json.loads(card.read_text()) | {"hidden_size": 32}))
    elif damage == "truncated":
        weights.write_bytes(weights.read_bytes()[:200])
    elif damage == "no-weights":
        weights.unlink()
    elif damage == "bad-card":
        card.write_text("{")
    with pytest.raises(RouterError, match=r'"bad".*embedded router'):
        load_router(card, tiny_pair)
    routers, problems = load_routers(tiny_pair, tmp_path)
    assert list(routers)[:2] == ["good", "max-probability"] and "bad" not in routers and len(problems) == 1


ROWS = [
    (
        {
            "id": f"r{i}",
            "problem": f"What is {i} plus {i}?",
            "solution": f"${i}+{i}={2 * i}$. It is $\\boxed{{{2 * i}}}$.",
        },
        "math",
    )
    for i in range(6)
]


def naive_cases(pair, example):
    """The definition, spelled out: two one-token generations for every ground-truth token."""
    cases = []
    for position, truth in enumerate(example.truth_ids):
        ids = torch.tensor([example.prompt_ids + example.truth_ids[:position]])
        answers = [
            int(lm.model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=1)[0, -1])
            for lm in (pair.slm, pair.llm)
        ]
        cases.append(1 if answers[0] == truth else 2 if answers[1] == truth else 3)
    return cases


def test_cases_are_those_of_one_token_generations_and_the_end_is_labelled(tiny_pair):
    examples = [example_of(row, kind, tiny_pair) for row, kind in ROWS[:3]]
    labels = label_examples(tiny_pair, examples)
    expected = [case for example in examples for case in naive_cases(tiny_pair, example)]
    assert labels.case.tolist() == expected
    assert all(example.truth_ids[-1] in tiny_pair.eos_ids for example in examples)
    assert labels.hidden.shape == (sum(len(e.truth_ids) for e in examples), tiny_pair.hidden_size)
    assert labels.question.tolist() == [n for n, e in enumerate(examples) for _ in e.truth_ids]


def test_case_three_follows_the_rollout_and_only_the_completion_is_searched(tiny_pair, monkeypatch):
    """The published code looked for the answer in the prompt and the completion, so its math labels were always 0."""
    example = example_of(*ROWS[2], tiny_pair)
    n = len(example.truth_ids)
    seen = []

    def rollouts(lm, prompts, **_):
        assert lm is tiny_pair.slm
        for i, prompt in enumerate(prompts):
            position = len(prompt) - len(example.prompt_ids)
            seen.append(position)
            answer = 4 if position % 2 == 0 else 5
            yield i, tiny_pair.tokenizer.encode(f" so \\boxed{{{answer}}}")

    monkeypatch.setattr("citer_core.training.labels.greedy_completions", rollouts)
    labels = label_examples(tiny_pair, [example])
    for position in range(n):
        case, label = int(labels.case[position]), int(labels.label[position])
        if case == 3:
            text = tiny_pair.tokenizer.decode(example.truth_ids[:position])
            right = check_answer(f"{text} so \\boxed{{{4 if position % 2 == 0 else 5}}}", example.problem).is_correct
            assert label == int(bool(right))
        else:
            assert label == (1 if case == 1 else 0)
    assert seen == (labels.case == 3).nonzero().flatten().tolist() and len(seen) > 5
    assert labels.label[labels.case == 3].unique().numel() == 2  # some rollouts succeed, some do not


def test_labelling_resumes_and_refuses_other_labels(tiny_pair, tmp_path, monkeypatch):
    whole = Labels.concatenate(list(label_dataset(tiny_pair, ROWS, tmp_path / "a", shard_size=2)))
    stream = label_dataset(tiny_pair, ROWS, tmp_path / "b", shard_size=2)
    next(stream)
    stream.close()  # killed after the first shard
    resumed = Labels.concatenate(list(label_dataset(tiny_pair, ROWS, tmp_path / "b", shard_size=2)))
    for name in Labels.__slots__:
        assert torch.equal(getattr(whole, name), getattr(resumed, name))
    for shard in sorted((tmp_path / "a").iterdir()):
        assert shard.read_bytes() == (tmp_path / "b" / shard.name).read_bytes()
    with pytest.raises(DatasetError, match="rows"):
        list(label_dataset(tiny_pair, ROWS[:4], tmp_path / "a", shard_size=2))
    shard = sorted((tmp_path / "a").iterdir())[0]
    with pytest.raises(DatasetError, match="dtype"):
        Labels.load(shard, label_header(tiny_pair) | {"dtype": "bfloat16"})
    shard.write_bytes(shard.read_bytes()[:100])
    with pytest.raises(DatasetError, match="could not be read"):
        Labels.load(shard, label_header(tiny_pair))


def separable(n_questions=60, tokens=12, noise=0.0):
    generator = torch.Generator().manual_seed(1)
    n = n_questions * tokens
    hidden = torch.randn(n, 8, generator=generator)
    label = (hidden[:, 0] + noise * torch.randn(n, generator=generator) > 0).to(torch.int8)
    question = torch.arange(n_questions, dtype=torch.int32).repeat_interleave(tokens)
    case = torch.where(label == 1, 1, 2).to(torch.int8)
    return Labels(hidden, case, label, question, torch.rand(n, generator=generator))


def test_training_finds_what_is_there_and_nothing_where_there_is_nothing():
    assert train_router(separable(), FAST).report["auc"] > 0.99
    noise = dataclasses.replace(separable(), hidden=torch.randn(720, 8))
    assert abs(train_router(noise, FAST).report["auc"] - 0.5) < 0.15


def test_the_kept_checkpoint_is_the_best_one_and_reproduces_its_loss():
    """The published code calls its last checkpoint the best one."""
    labels = separable(noise=1.0)
    recipe = dataclasses.replace(FAST, learning_rates=(3e-2,), max_epochs=25, patience=25)
    trained = train_router(labels, recipe)
    _, validation = split_by_question(labels, recipe.validation_share, recipe.seed)
    prior = labels.prior_logits(torch.zeros(720))
    loss = router_loss(trained.mlp, labels, validation, prior)
    assert loss == pytest.approx(trained.report["validation_loss"], abs=1e-7)
    assert trained.report["best_epoch"] < 24  # it overfits after its best epoch, so last and best differ


def test_no_question_is_in_both_splits_and_the_seed_fixes_all():
    labels = separable()
    train, validation = split_by_question(labels, 0.2, seed=3)
    assert not set(labels.question[train].tolist()) & set(labels.question[validation].tolist())
    assert len(train) + len(validation) == 720 and len(validation) == 12 * 12
    first, second = (train_router(labels, FAST).mlp.state_dict() for _ in range(2))
    assert all(torch.equal(first[k], second[k]) for k in first)


def test_labels_of_one_kind_cannot_train():
    labels = separable()
    with pytest.raises(ValueError, match="the same"):
        train_router(dataclasses.replace(labels, label=torch.ones_like(labels.label)), FAST)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=2, max_size=60).filter(
        lambda x: len({b for _, b in x}) == 2
    )
)
def test_auc_is_sklearns_ties_included(pairs):
    score = torch.tensor([s / 6 for s, _ in pairs])
    label = torch.tensor([int(b) for _, b in pairs])
    assert roc_auc(score, label) == pytest.approx(roc_auc_score(label, score))


def test_calibration_by_hand():
    confidence = torch.tensor([0.05, 0.05, 0.95, 0.95, 1.0])
    label = torch.tensor([0, 1, 1, 1, 0])
    curve = reliability(confidence, label)
    assert [(round(a, 4), round(b, 4), n) for a, b, n in curve] == [(0.05, 0.5, 2), (0.9667, 0.6667, 3)]
    assert expected_calibration_error(confidence, label) == pytest.approx((2 * 0.45 + 3 * 0.3) / 5)


def test_wilson_interval_against_published_values():
    assert wilson_interval(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-3)
    assert wilson_interval(95, 100) == pytest.approx((0.8882, 0.9785), abs=1e-3)
    assert wilson_interval(0, 0) == (0.0, 1.0)


def test_wilson_covers_as_often_as_it_says():
    rng = random.Random(0)
    hits = 0
    for _ in range(400):
        low, high = wilson_interval(sum(rng.random() < 0.3 for _ in range(80)), 80)
        hits += low <= 0.3 <= high
    assert hits / 400 > 0.92


def test_priors_are_the_log_odds_of_each_group():
    labels = dataclasses.replace(separable(), label=(torch.arange(720) % 4 == 0).to(torch.int8))
    group = (torch.arange(720) >= 360).int()
    labels.label[:4] = torch.tensor([1, 1, 1, 0])
    n_slm = int(labels.label[:360].sum())
    prior = labels.prior_logits(group)
    assert prior[:360].unique().tolist() == pytest.approx([math.log(n_slm / (360 - n_slm))])
    assert prior[360:].unique().tolist() == pytest.approx([math.log(90 / 270)])
    one_sided = dataclasses.replace(labels, label=torch.ones_like(labels.label))
    assert not one_sided.prior_logits(group).any()


def test_confidence_is_for_equal_priors_and_calibration_for_the_true_ones():
    """Nine of ten tokens prefer the SLM and the state says nothing: the router is to say 0.5 and know of the 0.9."""
    noise = dataclasses.replace(separable(), hidden=torch.randn(720, 8), label=(torch.rand(720) < 0.9).to(torch.int8))
    trained = train_router(noise, dataclasses.replace(FAST, learning_rates=(1e-3,)))
    with torch.no_grad():
        confidence = torch.sigmoid(trained.mlp(noise.hidden)).mean()
    assert abs(float(confidence) - 0.5) < 0.12
    assert trained.report["ece"] < 0.1
