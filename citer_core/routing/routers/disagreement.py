"""The oracle that asks both models everywhere: an upper bound, not a saving."""

from __future__ import annotations

import torch
from torch import Tensor

from citer_core.models.greedy import greedy_tokens
from citer_core.routing.router import Router, RouterFeatures


class DisagreementRouter(Router):
    """Prefers the LLM exactly where it would write another token. Runs both models at every step, and pays for both."""

    name, label, order, default_threshold = "disagreement", "Disagreement oracle (asks both)", 60, 0.5
    reads_llm = True
    uses_sequence = False
    is_static = True

    def confidence(self, features: RouterFeatures) -> Tensor:
        """1 where both greedy tokens agree, else 0."""
        assert features.llm_logits is not None, "the decode loop gives these to routers with reads_llm"
        return (greedy_tokens(features.logits) == greedy_tokens(features.llm_logits)).to(torch.float32)
