"""Co-LLM on data whose optimum is known: what its likelihood finds, where its start leaves the rest, its scale."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from citer_core.evaluation.metrics import expected_calibration_error, roc_auc
from citer_core.labelling.labels import UNKNOWN, Labels, prior_logits
from citer_core.training import router_training
from citer_core.training.objectives import OBJECTIVES, MarginalLikelihood
from citer_core.training.router_training import RouterRecipe, router_logits, split_by_question, train_router

CO_LLM = OBJECTIVES["co-llm"]
# State: (share of its tokens, p of the SLM, p of the LLM, case); a state says no more about a token than this.
STATES = {
    "the SLM's": [(0.75, 0.9, 0.1, 1), (0.25, 0.1, 0.9, 2)],
    "the LLM's": [(0.3, 0.9, 0.1, 1), (0.7, 0.1, 0.9, 2)],
    "either's": [(0.92, 0.5, 0.5, 1), (0.08, 0.5, 0.5, 2)],
    "the LLM's by a hair": [(0.98, 0.97, 0.99, 1), (0.02, 0.3, 0.6, 2)],
}
N_QUESTIONS, N_TOKENS = 100, 40
RECIPE = RouterRecipe(learning_rates=(1e-2,), batch_size=500, max_epochs=25, patience=25)


def labels_of_states():
    """Every question has tokens of all states, in the shares above to within a token."""
    rng = np.random.default_rng(3)
    kinds = [(n, *kind[1:]) for n, some in enumerate(STATES.values()) for kind in some]
    weights = np.array([kind[0] for some in STATES.values() for kind in some]) / len(STATES)
    drawn = rng.choice(len(kinds), N_QUESTIONS * N_TOKENS, p=weights)
    state, by_slm, by_llm, case = (torch.tensor([kinds[k][i] for k in drawn]) for i in range(4))
    n = len(drawn)
    nothing, numbers = torch.full((n,), UNKNOWN, dtype=torch.int8), torch.zeros(n)
    return state, Labels(
        hidden=torch.nn.functional.one_hot(state, 4).float(),
        case=case.to(torch.int8),
        label=nothing,
        question=torch.arange(N_QUESTIONS, dtype=torch.int32).repeat_interleave(N_TOKENS),
        position=torch.arange(N_TOKENS, dtype=torch.int32).repeat(N_QUESTIONS),
        max_probability=numbers + 0.5,
        margin=numbers,
        entropy=numbers,
        slm_log_prob=by_slm.float().log(),
        llm_log_prob=by_llm.float().log(),
        slm_is_correct=nothing,
        slm_branch=nothing,
        llm_branch=nothing,
    )


def optimum(labels, tokens):
    """The p(slm) of greatest likelihood for some tokens that share it, by trying 1,001 of them."""
    grid = np.linspace(0, 1, 1001)[:, None]
    by_slm, by_llm = (x[tokens].exp().double().numpy() for x in (labels.slm_log_prob, labels.llm_log_prob))
    return float(grid[np.log(grid * by_slm + (1 - grid) * by_llm).mean(1).argmax(), 0])


@pytest.fixture(scope="module")
def trained():
    state, labels = labels_of_states()
    router = train_router(labels, RECIPE, CO_LLM)
    logits = router_logits(CO_LLM, router.network, labels, torch.arange(len(labels)))
    return state, labels, router.report, logits


def test_the_likelihood_finds_its_optimum_where_it_has_one(trained):
    """Before its rescaling, sigmoid(logit + log-odds of the target) is p(slm)."""
    state, labels, report, logits = trained
    train, _ = split_by_question(labels, RECIPE.validation_share, RECIPE.seed)
    offset = prior_logits((labels.case != 2).to(torch.int8), torch.zeros(len(labels)))[0]
    a, b = report["rescaled_by"]
    for n, wanted in ((0, 0.81), (1, 0.25)):
        best = optimum(labels, train[state[train] == n])
        assert best == pytest.approx(wanted, abs=0.06)
        found = torch.sigmoid((logits[state == n][0] - b) / a + offset)
        assert float(found) == pytest.approx(best, abs=0.08)


def test_it_stays_where_it_started_where_the_likelihood_says_nothing(trained):
    """Both models give these tokens the same probability: no p(slm) is better than another."""
    state, labels, report, logits = trained
    offset = prior_logits((labels.case != 2).to(torch.int8), torch.zeros(len(labels)))[0]
    a, b = report["rescaled_by"]
    found = float(torch.sigmoid((logits[state == 2][0] - b) / a + offset))
    assert found == pytest.approx(float((labels.case[state == 2] != 2).double().mean()), abs=0.1)


def test_it_is_calibrated_and_no_worse_ordered_than_its_start(trained):
    state, labels, report, logits = trained
    _, validation = split_by_question(labels, RECIPE.validation_share, RECIPE.seed)
    target = (labels.case[validation] != 2).to(torch.int8)
    offset = prior_logits((labels.case != 2).to(torch.int8), torch.zeros(len(labels)))[0]
    assert report["auc"] == pytest.approx(roc_auc(logits[validation], target))
    assert report["auc"] > 0.8 and report["auc"] > report["start"]["auc"] - 0.02
    assert report["ece"] == expected_calibration_error(torch.sigmoid(logits[validation] + offset), target) < 0.1
    # From random weights, with nothing to hold it, a hair's breadth decided.
    by_a_hair = float(torch.sigmoid(logits[state == 3][0] + offset))
    assert by_a_hair > 0.9


def test_rescaling_keeps_the_order_and_is_the_best_there_is(monkeypatch):
    _, labels = labels_of_states()
    labels = dataclasses.replace(
        labels, hidden=labels.hidden + 0.3 * torch.randn(len(labels), 4, generator=torch.Generator().manual_seed(0))
    )
    short = dataclasses.replace(RECIPE, max_epochs=4)
    everything = torch.arange(len(labels))
    rescaled = train_router(labels, short, CO_LLM)
    monkeypatch.setattr(MarginalLikelihood, "is_rescaled", False)
    plain = train_router(labels, short, CO_LLM)
    one, other = (router_logits(CO_LLM, run.network, labels, everything) for run in (plain, rescaled))
    a, b = rescaled.report["rescaled_by"]
    assert a > 0 and "rescaled_by" not in plain.report
    torch.testing.assert_close(a * one + b, other, rtol=1e-3, atol=1e-3)
    assert rescaled.report["validation_loss"] == plain.report["validation_loss"]
    train, _ = split_by_question(labels, short.validation_share, short.seed)
    target = (labels.case != 2).double()
    offset = prior_logits((labels.case != 2).to(torch.int8), torch.zeros(len(labels)))

    def loss(scale, level):
        logits = scale * one[train].double() + level + offset[train]
        return float(torch.nn.functional.binary_cross_entropy_with_logits(logits, target[train]))

    best = loss(a, b)
    assert all(loss(a * x, b + y) > best for x, y in ((1.05, 0), (0.95, 0), (1, 0.05), (1, -0.05)))


def test_the_start_is_a_checkpoint_like_others(monkeypatch):
    """Where no step of the likelihood is a gain, what the pseudo-labels made is kept."""
    _, labels = labels_of_states()
    monkeypatch.setattr(router_training, "RATE_AFTER_START", 1e3)
    monkeypatch.setattr(MarginalLikelihood, "is_rescaled", False)
    short = dataclasses.replace(RECIPE, max_epochs=2)
    report = train_router(labels, short, CO_LLM).report
    start = CO_LLM.start()
    alone = train_router(labels, short, start)
    assert report["best_epoch"] == -1 and report["auc"] == report["start"]["auc"] == alone.report["auc"]
    assert report["start"]["validation_loss"] == alone.report["validation_loss"]
