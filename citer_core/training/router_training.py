"""Trains the published router on preference labels: binary cross-entropy, which is Bradley-Terry on the policy.

Split by question, seeded, the best checkpoint truly kept, learning rate chosen on validation. Knows nothing about
where labels come from.

Nearly all tokens prefer the SLM, in one format more than in another. A router trained on them as they are has every tau
that matters above 0.99, and another one for each format. So the loss sees the MLP's logit plus the log-odds of its
token's group (Menon et al., "Long-tail learning via logit adjustment", arXiv 2007.07314), and the MLP learns what the
state adds to them: its confidence is meant for equal priors. No token is repeated or weighted.
"""

from __future__ import annotations

import copy
import logging
import math
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch.nn import functional as F

from citer_core.evaluation.metrics import expected_calibration_error, reliability, roc_auc
from citer_core.routing.routers.citer import CiterMLP
from citer_core.training.labels import Labels

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RouterRecipe:
    """How a router is trained.

    Attributes:
        learning_rates: each is tried; the lowest validation loss wins. The authors' 1e-7 hardly moves the weights.
        batch_size: tokens per step.
        max_epochs, patience: stop after `patience` epochs without a better validation loss.
        validation_share: of the questions.
        seed: of the split, the initial weights and the order of tokens.
    """

    learning_rates: tuple[float, ...] = (3e-4, 1e-3, 3e-3)
    batch_size: int = 512
    max_epochs: int = 100
    patience: int = 5
    validation_share: float = 0.2
    seed: int = 0


@dataclass(frozen=True, slots=True)
class TrainedRouter:
    """The best MLP and what is honest to say about it."""

    mlp: CiterMLP
    report: dict[str, Any]


def split_by_question(labels: Labels, share: float, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Token indices of the training and of the validation questions; no question is in both."""
    questions = labels.question.unique()
    order = questions[torch.randperm(len(questions), generator=torch.Generator().manual_seed(seed))]
    held_out = order[: max(1, round(share * len(questions)))]
    is_validation = torch.isin(labels.question, held_out)
    return (~is_validation).nonzero().flatten(), is_validation.nonzero().flatten()


def train_router(labels: Labels, recipe: RouterRecipe, group: torch.Tensor | None = None) -> TrainedRouter:
    """Trains one router per learning rate and keeps the one with the lowest validation loss.

    Args:
        labels: of all questions; which of them validate is the recipe's choice.
        recipe: how.
        group: [N] int, tokens with one prior, such as those of one format; None takes all as one group.

    Raises:
        ValueError: there is nothing to learn, because all labels are the same.
    """
    if labels.label.unique().numel() < 2:
        raise ValueError("All labels are the same, so there is nothing to learn. Label more examples.")
    train, validation = split_by_question(labels, recipe.validation_share, recipe.seed)
    prior = labels.prior_logits(torch.zeros_like(labels.label) if group is None else group)
    runs = [_train_once(labels, prior, train, validation, rate, recipe) for rate in recipe.learning_rates]
    best = min(runs, key=lambda run: run[1]["validation_loss"])
    mlp, history = best
    target = labels.label[validation].float()
    with torch.no_grad():
        logits = mlp(labels.hidden[validation]).squeeze(-1)
    confidence, probability = torch.sigmoid(logits), torch.sigmoid(logits + prior[validation])
    report = {
        "recipe": asdict(recipe),
        "n_questions": {"train": _n_questions(labels, train), "validation": _n_questions(labels, validation)},
        "n_tokens": {"train": len(train), "validation": len(validation)},
        "prefer_slm_share": float(labels.label.float().mean()),
        "cases": {str(case): float((labels.case == case).float().mean()) for case in (1, 2, 3)},
        **history,
        "auc": roc_auc(confidence, target),
        "auc_max_probability": roc_auc(labels.max_probability[validation], target),
        # Calibration can be read where confidences mean frequencies, so the priors are put back in.
        "ece": expected_calibration_error(probability, target),
        "reliability": [[round(a, 4), round(b, 4), n] for a, b, n in reliability(probability, target)],
    }
    return TrainedRouter(mlp, report)


def _n_questions(labels: Labels, tokens: torch.Tensor) -> int:
    return int(labels.question[tokens].unique().numel())


def _train_once(
    labels: Labels,
    prior: torch.Tensor,
    train: torch.Tensor,
    validation: torch.Tensor,
    rate: float,
    recipe: RouterRecipe,
) -> tuple[CiterMLP, dict[str, Any]]:
    torch.manual_seed(recipe.seed)
    mlp = CiterMLP(labels.hidden.shape[1])
    optimizer = torch.optim.Adam(mlp.parameters(), lr=rate)
    generator = torch.Generator().manual_seed(recipe.seed)
    hidden, target = labels.hidden[train], labels.label[train].float()
    best_loss, best_epoch, best_state = math.inf, -1, copy.deepcopy(mlp.state_dict())
    for epoch in range(recipe.max_epochs):
        mlp.train()
        for batch in torch.randperm(len(train), generator=generator).split(recipe.batch_size):
            if len(batch) < 2:  # batch norm has no variance of one token
                continue
            loss = F.binary_cross_entropy_with_logits(
                mlp(hidden[batch]).squeeze(-1) + prior[train[batch]], target[batch]
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        validation_loss = router_loss(mlp, labels, validation, prior)
        log.info("rate %g epoch %d validation loss %.5f", rate, epoch, validation_loss)
        if validation_loss < best_loss:
            best_loss, best_epoch, best_state = validation_loss, epoch, copy.deepcopy(mlp.state_dict())
        elif epoch - best_epoch >= recipe.patience:
            break
    mlp.load_state_dict(best_state)
    mlp.eval()
    return mlp, {"learning_rate": rate, "best_epoch": best_epoch, "validation_loss": best_loss}


@torch.no_grad()
def router_loss(mlp: CiterMLP, labels: Labels, tokens: torch.Tensor, prior: torch.Tensor) -> float:
    """Mean binary cross-entropy of an MLP on some tokens of `labels`, in eval mode; `prior` is `prior_logits`."""
    mlp.eval()
    logits = mlp(labels.hidden[tokens]).squeeze(-1) + prior[tokens]
    return float(F.binary_cross_entropy_with_logits(logits, labels.label[tokens].float()))
