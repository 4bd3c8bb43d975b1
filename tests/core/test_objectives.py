"""What each kind of router learns: tokens, targets and losses, by hand."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch
from torch import tensor

from citer_core.errors import SettingError
from citer_core.labelling.labels import Labels
from citer_core.training.objectives import OBJECTIVES

SLM, LLM, UNKNOWN = 1, 0, -1
# Two questions: 0 with four tokens, 1 with three.
LABELS = Labels(
    hidden=torch.zeros(7, 2),
    case=tensor([1, 3, 2, 3, 1, 3, 2], dtype=torch.int8),
    label=tensor([SLM, SLM, LLM, UNKNOWN, SLM, LLM, LLM], dtype=torch.int8),
    question=tensor([0, 0, 0, 0, 1, 1, 1], dtype=torch.int32),
    position=tensor([0, 1, 2, 3, 0, 1, 2], dtype=torch.int32),
    max_probability=torch.full((7,), 0.5),
    margin=torch.zeros(7),
    entropy=torch.ones(7),
    slm_log_prob=tensor([0.8, 0.1, 0.2, 0.3, 0.5, 0.01, 0.4]).log(),
    llm_log_prob=tensor([0.9, 0.2, 0.7, 0.1, 0.5, 0.02, 0.6]).log(),
    slm_is_correct=tensor([1, 1, 1, 1, 0, 0, 0], dtype=torch.int8),
    slm_branch=torch.full((7,), UNKNOWN, dtype=torch.int8),
    llm_branch=torch.full((7,), UNKNOWN, dtype=torch.int8),
)
GROUPS = tensor([0, 0, 0, 0, 1, 1, 1])


@pytest.mark.parametrize(
    ("name", "tokens", "targets"),
    [
        ("citer", [0, 1, 2, 4, 5, 6], [1, 1, 0, 1, 0, 0]),  # all that are known
        ("citer-plus", [0, 1, 2, 4, 5, 6], [1, 1, 0, 1, 0, 0]),
        ("citer-outcome", [0, 1, 2, 4, 5, 6], [1, 1, 0, 1, 0, 0]),
        ("citer-outcome-mlp", [0, 1, 2, 4, 5, 6], [1, 1, 0, 1, 0, 0]),
        ("citer-s-a", [0, 2, 4, 6], [1, 0, 1, 0]),  # without case 3
        ("citer-s-b", [0, 1, 2, 3, 4, 5, 6], [1, 0, 0, 0, 1, 0, 0]),  # the SLM's token is the true one
        ("co-llm", [0, 1, 2, 3, 4, 5, 6], [1, 1, 0, 1, 1, 1, 0]),  # deferred where only the LLM is right
        ("query-level", [0, 4], [1, 0]),  # the prompt's end of each question
    ],
)
def test_tokens_and_targets(name, tokens, targets):
    objective = OBJECTIVES[name]
    assert objective.name == name
    assert objective.tokens(LABELS).tolist() == tokens
    assert objective.target(LABELS)[tokens].tolist() == targets


def test_all_objectives_are_in_the_table():
    names = ["citer", "citer-plus", "citer-outcome", "citer-outcome-mlp", "citer-s-a", "citer-s-b", "co-llm"]
    assert list(OBJECTIVES) == [*names, "query-level"]


@pytest.mark.parametrize("name", ["citer", "citer-plus", "citer-s-a", "citer-s-b", "query-level"])
def test_the_loss_is_binary_cross_entropy_on_the_target(name):
    objective, tokens = OBJECTIVES[name], tensor([0, 6, 4])
    logit = tensor([0.5, -1.0, 2.0])
    by_hand = [
        -math.log(1 / (1 + math.exp(-z))) if t else -math.log(1 - 1 / (1 + math.exp(-z)))
        for z, t in zip(logit.tolist(), objective.target(LABELS)[tokens].tolist(), strict=True)
    ]
    assert float(objective.loss(logit, LABELS, tokens)) == pytest.approx(sum(by_hand) / 3, rel=1e-5)


def test_co_llm_is_the_marginal_likelihood_by_hand():
    """p(slm) = sigmoid(logit): 0.75 and 0.2, so 0.75 * 0.1 + 0.25 * 0.2 = 0.125 and 0.2 * 0.4 + 0.8 * 0.6 = 0.56."""
    logit, tokens = tensor([math.log(3), math.log(0.25)]), tensor([1, 6])
    expected = -(math.log(0.125) + math.log(0.56)) / 2
    assert float(OBJECTIVES["co-llm"].loss(logit, LABELS, tokens)) == pytest.approx(expected, rel=1e-5)


def test_co_llm_survives_tokens_that_neither_model_expects():
    labels = dataclasses.replace(LABELS, slm_log_prob=torch.full((7,), -200.0), llm_log_prob=torch.full((7,), -300.0))
    logit = tensor([0.0, 60.0], requires_grad=True)
    loss = OBJECTIVES["co-llm"].loss(logit, labels, tensor([0, 1]))
    loss.backward()
    assert loss.item() == pytest.approx((200 + math.log(2) + 200) / 2) and logit.grad.isfinite().all()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("citer", [math.log(2 / 1)] * 4 + [math.log(1 / 2)] * 3),
        ("citer-s-b", [math.log(1 / 3)] * 4 + [math.log(1 / 2)] * 3),
        ("query-level", [0.0] * 7),  # within each group all questions have one target
    ],
)
def test_offsets_are_the_log_odds_of_the_target_in_each_group(name, expected):
    assert OBJECTIVES[name].offset(LABELS, GROUPS).tolist() == pytest.approx(expected)


def test_query_level_needs_the_question_to_be_asked():
    labels = dataclasses.replace(LABELS, slm_is_correct=torch.full((7,), -1, dtype=torch.int8))
    with pytest.raises(SettingError, match="--ask-slm"):
        OBJECTIVES["query-level"].tokens(labels)
    some = dataclasses.replace(LABELS, slm_is_correct=tensor([-1, -1, -1, -1, 0, 0, 0], dtype=torch.int8))
    assert OBJECTIVES["query-level"].tokens(some).tolist() == [4]
