"""Distance between the SLM's first and second choice."""

from __future__ import annotations

from torch import Tensor

from citer_core.routing.router import Router, RouterFeatures


class MarginRouter(Router):
    """Prefers the SLM as far as its first choice is ahead of its second."""

    name, label, order = "margin", "Margin (no training)", 30
    uses_sequence = False
    is_static = True

    def confidence(self, features: RouterFeatures) -> Tensor:
        """Probability of the first choice less that of the second."""
        return features.margin
