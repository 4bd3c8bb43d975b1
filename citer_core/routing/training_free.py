"""Routers that need no training: they read the SLM's own next-token distribution, or nothing at all."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from citer_core.routing.router import RouterFeatures


class MaxProbabilityRouter:
    """Prefers the SLM as far as it is sure of its first choice."""

    name, label, revision, n_params = "max-probability", "Max probability (no training)", "", 0

    def confidence(self, features: RouterFeatures) -> Tensor:
        """The probability of the SLM's greedy token."""
        return features.log_probs.amax(-1).exp()


class ScriptedRouter:
    """Prefers the SLM where a script says so: a pattern to test, teach and force decisions with."""

    name, label, revision, n_params = "scripted", "Scripted pattern", "", 0

    def __init__(self, confidences: Sequence[float]) -> None:
        self._confidences = tuple(confidences)
        self._next = 0

    def confidence(self, features: RouterFeatures) -> Tensor:
        """The next entries of the script, from its start again when it is used up."""
        n = features.hidden.shape[0]
        entries = [self._confidences[(self._next + i) % len(self._confidences)] for i in range(n)]
        self._next += n
        return torch.tensor(entries, dtype=torch.float32)
