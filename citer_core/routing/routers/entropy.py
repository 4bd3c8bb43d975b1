"""Entropy of the SLM's distribution, one way."""

from __future__ import annotations

from torch import Tensor

from citer_core.routing.router import Router, RouterFeatures


class EntropyRouter(Router):
    """Prefers the SLM as far as its whole distribution is narrow."""

    name, label, order = "entropy", "Entropy (no training)", 20
    uses_sequence = False
    is_static = True

    def confidence(self, features: RouterFeatures) -> Tensor:
        """exp(-entropy): one over the number of tokens that an equally uncertain uniform choice would be among."""
        return (-features.entropy).exp().clamp(0.0, 1.0)
