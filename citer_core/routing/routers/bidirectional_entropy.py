"""Entropy both ways, after R-Stitch (arXiv 2507.17307): whoever is writing hands over when the other should."""

from __future__ import annotations

import torch
from torch import Tensor

from citer_core.routing.router import Router, RouterFeatures


class BidirectionalEntropyRouter(Router):
    """The SLM hands over when it is uncertain; the LLM hands back when it has become certain.

    In R-Stitch the SLM rests while the LLM writes and catches up afterwards. Here it reads every position, as it does
    everywhere in this project, so only the decisions are R-Stitch's.
    """

    name, label, order = "bidirectional-entropy", "Bidirectional entropy, R-Stitch (no training)", 40
    uses_llm_entropy = True

    def confidence(self, features: RouterFeatures) -> Tensor:
        """exp(-entropy) of the LLM at the token that it has just written, else of the SLM at the token to come."""
        entropy = features.entropy
        if features.llm_entropy is not None:
            entropy = torch.where(features.llm_entropy.isnan(), entropy, features.llm_entropy)
        return (-entropy).exp().clamp(0.0, 1.0)
