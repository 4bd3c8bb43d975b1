"""A trained router with its card: what `train-router` and `iterate` write."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import torch

from citer_core.errors import DatasetError, SettingError
from citer_core.hardware import hardware_in_words
from citer_core.labelling.label_header import LabelHeader
from citer_core.labelling.labels import Labels, Ties
from citer_core.routing.stored import StoredRouter
from citer_core.training.objectives import OBJECTIVES
from citer_core.training.router_training import RouterRecipe, train_router

_WRONG_LABELS = {
    "outcome": "A router of the kind {kind} learns the published labels, and these are by outcome: train --kind "
    "citer-outcome on them, or label without --labels outcome.",
    "published": "A router of the kind {kind} learns labels by outcome, and these are the published ones: label with "
    "--labels outcome, or train --kind citer-plus on them.",
}


def train_and_describe(
    headers: Sequence[LabelHeader],
    labels: Labels,
    rows: Sequence[Mapping[str, Any]],
    kind: str,
    recipe: RouterRecipe,
    share: float,
    *,
    command: str,
    name: str | None = None,
    ties: Ties | None = None,
) -> StoredRouter:
    """Trains a router and writes its card.

    Args:
        headers, labels, rows: from `load_label_folders`.
        kind: of `OBJECTIVES`.
        recipe: how.
        share: of tokens for the LLM, which the recommended tau aims at.
        command: that the card says made it.
        name: of the router; None takes the kind.
        ties: of labels by outcome, how they are read; None reads them as `Ties` does.

    Raises:
        DatasetError: there is nothing to learn.
        SettingError: the labels lack what the kind learns from, or are not those that it learns.
    """
    objective = OBJECTIVES[kind]
    first = headers[0]
    if objective.labels not in (None, first.labels):
        raise SettingError(_WRONG_LABELS[first.labels].format(kind=kind))
    ties = ties or Ties()
    labels = ties.settle(labels)
    data_types = [row["data_type"] for row in rows]
    number_of = {data_type: number for number, data_type in enumerate(sorted(set(data_types)))}
    group_of_question = torch.tensor([number_of[data_type] for data_type in data_types])
    try:
        trained = train_router(labels, recipe, objective, group_of_question[labels.question.long()])
    except ValueError as error:
        raise DatasetError(str(error)) from error
    router = objective.architecture(
        trained.network,
        {
            "name": name or kind,
            "label": objective.label,
            "hidden_size": labels.hidden.shape[1],
            "pair": first.pair,
            "pair_revision": first.pair_revision,
            "prompt_version": first.prompt_version,
            "prompt_form": first.prompt_form,
            "date": datetime.date.today().isoformat(),
            "hardware": hardware_in_words(),
            "command": command,
            "labels": [asdict(header) for header in headers],
            "label_shares": {case: round(value, 4) for case, value in labels.case_shares().items()}
            | {"n_tokens": len(labels), "n_unknown": int((labels.label < 0).sum())},
            **({"ties": asdict(ties)} if objective.labels == "outcome" else {}),
            "prior": "confidence is for equal priors in each format: the loss adds the format's log-odds to the logit, "
            "so 0.5 is no frequency; what share of tokens a tau gives to the LLM is in training.llm_shares_at_tau",
            "training": trained.report,
        },
    )
    threshold = round(router.threshold_at(share), 4)
    router.card |= {"recommended_threshold": threshold, "recommended_for_share": share}
    router.default_threshold = threshold
    return router
