"""Trains a router on labels: any objective, one loop.

Split by question, seeded, the best checkpoint truly kept, learning rate chosen on validation. Knows nothing about where
labels come from or what an objective means.
"""

from __future__ import annotations

import copy
import logging
import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from citer_core.errors import SettingError
from citer_core.evaluation.metrics import expected_calibration_error, reliability, roc_auc
from citer_core.labelling.labels import Labels
from citer_core.routing.router import RouterFeatures
from citer_core.routing.router_card import N_TAUS, SHARES_AT_TAU
from citer_core.training.objectives import OBJECTIVES, Objective

log = logging.getLogger(__name__)
N_QUANTILES = 100
WOLFE = "strong_wolfe"
RATE_AFTER_START = 0.1  # of the learning rate of what a network was started with


@dataclass(frozen=True, slots=True)
class RouterRecipe:
    """How a router is trained.

    Attributes:
        learning_rates: each is tried; the lowest validation loss wins. The authors' 1e-7 hardly moves the weights.
        batch_size: tokens per step.
        max_epochs, patience: stop after `patience` epochs without a better validation loss.
        validation_share: of the questions.
        seed: of the split, the initial weights and the order of tokens.

    Raises:
        SettingError: a value with which nothing would be trained.
    """

    learning_rates: tuple[float, ...] = (3e-4, 1e-3, 3e-3)
    batch_size: int = 512
    max_epochs: int = 100
    patience: int = 5
    validation_share: float = 0.2
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.learning_rates or not all(rate > 0 for rate in self.learning_rates):
            raise SettingError(f"learning_rates is {list(self.learning_rates)}: give one or more numbers above 0.")
        for name, low in (("batch_size", 2), ("max_epochs", 1), ("patience", 1)):
            if getattr(self, name) < low:
                raise SettingError(f"{name} is {getattr(self, name)}: give a whole number from {low}.")


@dataclass(frozen=True, slots=True)
class TrainedRouter:
    """The best network and what is honest to say about it."""

    network: nn.Module
    report: dict[str, Any]


def split_by_question(labels: Labels, share: float, seed: int) -> tuple[Tensor, Tensor]:
    """Token indices of the training and of the validation questions; no question is in both."""
    questions = labels.question.unique()
    order = questions[torch.randperm(len(questions), generator=torch.Generator().manual_seed(seed))]
    held_out = order[: max(1, round(share * len(questions)))]
    is_validation = torch.isin(labels.question, held_out)
    return (~is_validation).nonzero().flatten(), is_validation.nonzero().flatten()


def train_router(
    labels: Labels, recipe: RouterRecipe, objective: Objective = OBJECTIVES["citer"], group: Tensor | None = None
) -> TrainedRouter:
    """Trains one router per learning rate and keeps the one with the lowest validation loss.

    Args:
        labels: of all questions; which of them validate is the recipe's choice.
        recipe: how.
        objective: what; see `OBJECTIVES`.
        group: [N] int, tokens with one prior, such as those of one format; None takes all as one group.

    Raises:
        ValueError: there is nothing to learn, because all targets are the same or one question has all of them.
        SettingError: the labels lack what the objective learns from.
    """
    usable = objective.tokens(labels)
    target = objective.target(labels)
    if target[usable].unique().numel() < 2:
        raise ValueError("All labels are the same, so there is nothing to learn. Label more examples.")
    train, validation = split_by_question(labels, recipe.validation_share, recipe.seed)
    # Priors are those of the tokens that are learned from, in their groups.
    offset = torch.zeros(len(labels))
    used = labels.take(usable)
    groups = torch.zeros(len(labels), dtype=torch.int8) if group is None else group
    offset[usable] = objective.offset(used, groups[usable])
    job = _Job(labels, offset, train[torch.isin(train, usable)], validation[torch.isin(validation, usable)], objective)
    if len(job.train) < 2 or not len(job.validation):
        raise ValueError("One part of the questions trains and another validates: label at least 2 questions.")
    runs = [_train_once(job, rate, recipe) for rate in recipe.learning_rates]
    network, history = min(runs, key=lambda run: run[1]["validation_loss"])
    if objective.is_rescaled:
        history["rescaled_by"] = _rescale(job, network)
    return TrainedRouter(network, _report(job, network, recipe, validation) | history)


@torch.no_grad()
def _rescale(job: _Job, network: nn.Module) -> tuple[float, float]:
    """Makes the logit a * logit + b, where it says the targets of the training tokens best; gives a > 0 and b.

    The order of tokens stays, and with it what any share of LLM tokens means (Platt scaling).
    """
    target = job.objective.target(job.labels)[job.train].double()
    logits = router_logits(job.objective, network, job.labels, job.train).double()
    scale, level = torch.zeros((), dtype=torch.float64), torch.zeros((), dtype=torch.float64)  # a is exp(scale)
    optimizer = torch.optim.LBFGS([scale.requires_grad_(), level.requires_grad_()], max_iter=100, line_search_fn=WOLFE)
    offset = job.offset[job.train].double()

    @torch.enable_grad()
    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(scale.exp() * logits + level + offset, target)
        loss.backward()
        return loss

    optimizer.step(closure)
    a, b = float(scale.exp()), float(level)
    if not (math.isfinite(a) and math.isfinite(b)):  # targets that a logit separates have no best scale
        return 1.0, 0.0
    last = [module for module in network.modules() if isinstance(module, nn.Linear)][-1]
    last.weight.mul_(a)
    last.bias.mul_(a).add_(b)
    return a, b


@dataclass(frozen=True, slots=True)
class _Job:
    """What one training sees: all labels, the loss's offsets, and which tokens train and validate."""

    labels: Labels
    offset: Tensor
    train: Tensor
    validation: Tensor
    objective: Objective


def _report(job: _Job, network: nn.Module, recipe: RouterRecipe, validation: Tensor) -> dict[str, Any]:
    labels = job.labels
    target = job.objective.target(labels)[job.validation]
    logits = router_logits(job.objective, network, labels, job.validation)
    confidence, probability = torch.sigmoid(logits), torch.sigmoid(logits + job.offset[job.validation])
    # Over all tokens of the validation questions, those that it did not learn from included: what a tau would take.
    everywhere = torch.sigmoid(router_logits(job.objective, network, labels, validation)).double()
    levels = torch.linspace(0, 1, N_QUANTILES + 1, dtype=torch.float64)
    return {
        "recipe": asdict(recipe),
        "n_questions": {"train": _n_questions(labels, job.train), "validation": _n_questions(labels, job.validation)},
        "n_tokens": {"train": len(job.train), "validation": len(job.validation)},
        "prefer_slm_share": float(job.objective.target(labels)[job.train].float().mean()),
        # None where the validation questions have labels of one kind only.
        "auc": _number(roc_auc(confidence, target)),
        "auc_max_probability": _number(roc_auc(labels.max_probability[job.validation], target)),
        # Calibration can be read where confidences mean frequencies, so the priors are put back in.
        "ece": expected_calibration_error(probability, target),
        "reliability": [[round(a, 4), round(b, 4), n] for a, b, n in reliability(probability, target)],
        "confidence_quantiles": [round(q, 6) for q in torch.quantile(everywhere, levels).tolist()],
        SHARES_AT_TAU: shares_at_tau(everywhere),
    }


def shares_at_tau(confidence: Tensor) -> list[float]:
    """What share of [N] confidences, float64, goes to the LLM at each of `N_TAUS` taus from 0 to 1: `prefers_llm`."""
    taus = torch.linspace(0, 1, N_TAUS, dtype=torch.float64)
    below = torch.searchsorted(confidence.sort().values, taus).double() / len(confidence)
    below[-1] = 1.0  # a confidence of 1 is not below 1, but tau = 1 hands over everything
    return [round(share, 6) for share in below.tolist()]


def _number(value: float) -> float | None:
    """The value, None for NaN, which JSON does not know."""
    return None if math.isnan(value) else value


def _n_questions(labels: Labels, tokens: Tensor) -> int:
    return int(labels.question[tokens].unique().numel())


def _train_once(job: _Job, rate: float, recipe: RouterRecipe) -> tuple[nn.Module, dict[str, Any]]:
    torch.manual_seed(recipe.seed)
    network = job.objective.architecture.build(job.labels.hidden.shape[1])
    start = job.objective.start()
    if start is None:
        return network, _fit(job, network, rate, recipe)
    started = _fit(replace(job, objective=start), network, rate, recipe)
    target = job.objective.target(job.labels)[job.validation]
    started["auc"] = _number(roc_auc(router_logits(start, network, job.labels, job.validation), target))
    return network, _fit(job, network, rate * RATE_AFTER_START, recipe, is_started=True) | {"start": started}


def _fit(
    job: _Job, network: nn.Module, rate: float, recipe: RouterRecipe, *, is_started: bool = False
) -> dict[str, Any]:
    """Trains a network in place up to its best epoch; -1 is where it started, if that is a checkpoint like others."""
    labels, objective = job.labels, job.objective
    optimizer = torch.optim.Adam(network.parameters(), lr=rate)
    generator = torch.Generator().manual_seed(recipe.seed)
    features = labels.features(job.train)
    best_loss = router_loss(objective, network, labels, job.validation, job.offset) if is_started else math.inf
    best_epoch, best_state = -1, copy.deepcopy(network.state_dict())
    for epoch in range(recipe.max_epochs):
        network.train()
        for batch in torch.randperm(len(job.train), generator=generator).split(recipe.batch_size):
            if len(batch) < 2:  # batch norm has no variance of one token
                continue
            tokens = job.train[batch]
            logit = objective.architecture.logit(network, features.take(batch)) + job.offset[tokens]
            loss = objective.loss(logit, labels, tokens)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        validation_loss = router_loss(objective, network, labels, job.validation, job.offset)
        log.info("%s, rate %g, epoch %d: validation loss %.5f", objective.name, rate, epoch, validation_loss)
        if validation_loss < best_loss:
            best_loss, best_epoch, best_state = validation_loss, epoch, copy.deepcopy(network.state_dict())
        elif epoch - best_epoch >= recipe.patience:
            break
    network.load_state_dict(best_state)
    network.eval()
    return {"learning_rate": rate, "best_epoch": best_epoch, "validation_loss": best_loss}


@torch.no_grad()
def router_logits(objective: Objective, network: nn.Module, labels: Labels, tokens: Tensor) -> Tensor:
    """[n] logits of a network at some tokens, in eval mode."""
    network.eval()
    features: RouterFeatures = labels.features(tokens)
    return objective.architecture.logit(network, features)


def router_loss(objective: Objective, network: nn.Module, labels: Labels, tokens: Tensor, offset: Tensor) -> float:
    """The objective's mean loss on some tokens; `offset` is that of all tokens."""
    return float(objective.loss(router_logits(objective, network, labels, tokens) + offset[tokens], labels, tokens))
