"""The two ends of the scale: either model alone, behind the same interface."""

from __future__ import annotations

import torch
from torch import Tensor

from citer_core.routing.router import Router, RouterFeatures


class AlwaysSLMRouter(Router):
    """The SLM writes everything, at any tau below 1."""

    name, label, order, default_threshold = "always-slm", "Always the SLM", 70, 0.5
    uses_sequence = False
    is_static = True

    def confidence(self, features: RouterFeatures) -> Tensor:
        """1 everywhere."""
        return torch.ones(features.hidden.shape[0], device=features.hidden.device)


class AlwaysLLMRouter(Router):
    """The LLM writes everything, at any tau above 0."""

    name, label, order, default_threshold = "always-llm", "Always the LLM", 80, 0.5
    uses_sequence = False
    is_static = True

    def confidence(self, features: RouterFeatures) -> Tensor:
        """0 everywhere."""
        return torch.zeros(features.hidden.shape[0], device=features.hidden.device)
