"""The free baseline that is hardest to beat."""

from __future__ import annotations

from torch import Tensor

from citer_core.routing.router import Router, RouterFeatures


class MaxProbabilityRouter(Router):
    """Prefers the SLM as far as it is sure of its first choice."""

    name, label, order = "max-probability", "Max probability (no training)", 10
    uses_sequence = False
    is_static = True

    def confidence(self, features: RouterFeatures) -> Tensor:
        """The probability of the SLM's greedy token."""
        return features.max_probability
