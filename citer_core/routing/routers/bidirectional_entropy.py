"""Entropy both ways, after R-Stitch (arXiv 2507.17307): the model that writes hands over when the other should."""

from __future__ import annotations

import torch
from torch import Tensor

from citer_core.routing.router import Router, RouterFeatures


class BidirectionalEntropyRouter(Router):
    """The SLM hands over where it is uncertain; the LLM goes on as long as it was uncertain itself.

    Once the LLM was certain, the SLM has its turn again, under its own entropy. In R-Stitch the SLM rests while the LLM
    writes and catches up afterwards. Here it reads every position, as it does everywhere in this project, so only the
    decisions are R-Stitch's.
    """

    name, label, order = "bidirectional-entropy", "Bidirectional entropy, R-Stitch (no training)", 40
    uses_llm_entropy = True
    uses_sequence = False
    is_static = True

    def confidence(self, features: RouterFeatures) -> Tensor:
        """exp(-entropy), of the greater of two: the SLM's here, and the LLM's where it has just written a token."""
        entropy = features.entropy
        if features.llm_entropy is not None:
            entropy = torch.maximum(entropy, features.llm_entropy.nan_to_num(0.0))
        return (-entropy).exp().clamp(0.0, 1.0)
