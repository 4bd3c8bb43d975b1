"""Routers that need no training: what the SLM's distribution says, the published baselines, and the ends of the scale.

The mirror of `assets/engine/routers.js`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from citer_core.models.greedy import greedy_tokens
from citer_core.routing.router import Router, RouterFeatures


class _OfPosition(Router):
    """One that looks at nothing but its position, by the same tensor operations each time."""

    uses_sequence = False
    is_static = True


class MaxProbabilityRouter(_OfPosition):
    """Prefers the SLM as far as it is sure of its first choice: the free baseline that is hardest to beat."""

    name, label, order = "max-probability", "Max probability (no training)", 10

    def confidence(self, features: RouterFeatures) -> Tensor:
        """The probability of the SLM's greedy token."""
        return features.max_probability


class EntropyRouter(_OfPosition):
    """Prefers the SLM as far as its whole distribution is narrow."""

    name, label, order = "entropy", "Entropy (no training)", 20

    def confidence(self, features: RouterFeatures) -> Tensor:
        """exp(-entropy): one over the number of tokens that an equally uncertain uniform choice would be among."""
        return (-features.entropy).exp().clamp(0.0, 1.0)


class MarginRouter(_OfPosition):
    """Prefers the SLM as far as its first choice is ahead of its second."""

    name, label, order = "margin", "Margin (no training)", 30

    def confidence(self, features: RouterFeatures) -> Tensor:
        """Probability of the first choice less that of the second."""
        return features.margin


class BidirectionalEntropyRouter(_OfPosition):
    """Entropy both ways, after R-Stitch (arXiv 2507.17307): the model that writes hands over when the other should.

    The SLM hands over where it is uncertain; the LLM goes on as long as it was uncertain itself. Once it was certain,
    the SLM has its turn again, under its own entropy. In R-Stitch the SLM rests while the LLM writes and catches up
    afterwards. Here it reads every position, as it does everywhere in this project, so only the decisions are
    R-Stitch's.
    """

    name, label, order = "bidirectional-entropy", "Bidirectional entropy, R-Stitch (no training)", 40
    uses_llm_entropy = True

    def confidence(self, features: RouterFeatures) -> Tensor:
        """exp(-entropy), of the greater of two: the SLM's here, and the LLM's where it has just written a token."""
        entropy = features.entropy
        if features.llm_entropy is not None:
            entropy = torch.maximum(entropy, features.llm_entropy.nan_to_num(0.0))
        return (-entropy).exp().clamp(0.0, 1.0)


class RandomRouter(Router):
    """Gives the LLM a share of tau of the tokens, whatever they are: what any router must beat at the same share."""

    name, label, order, default_threshold = "random", "Random (no training)", 50, 0.3
    is_static = True

    def confidence(self, features: RouterFeatures) -> Tensor:
        """A uniform number that is a function of the prompt and the position: the same in every run and batch."""
        n = features.hidden.shape[0]
        zeros = torch.zeros(n, dtype=torch.int64, device=features.hidden.device)
        key = zeros if features.sequence_key is None else features.sequence_key
        position = zeros if features.position is None else features.position
        # SplitMix64's finalizer; int64 products wrap around as they should, and shifts are made logical by a mask.
        z = key + (position + 1) * -7046029254386353131
        z = (z ^ ((z >> 30) & 0x3FFFFFFFF)) * -4658895280553007687
        z = (z ^ ((z >> 27) & 0x1FFFFFFFFF)) * -7723592293110705685
        z = z ^ ((z >> 31) & 0x1FFFFFFFF)
        return (((z >> 40) & 0xFFFFFF).double() / 2**24).float()


class DisagreementRouter(_OfPosition):
    """Prefers the LLM exactly where it would write another token: an upper bound, not a saving, since it pays for both
    models at every step.
    """

    name, label, order, default_threshold = "disagreement", "Disagreement oracle (asks both)", 60, 0.5
    reads_llm = True

    def confidence(self, features: RouterFeatures) -> Tensor:
        """1 where both greedy tokens agree, else 0."""
        assert features.llm_logits is not None, "the decode loop gives these to routers with reads_llm"
        return (greedy_tokens(features.logits) == greedy_tokens(features.llm_logits)).to(torch.float32)


class AlwaysSLMRouter(_OfPosition):
    """The SLM writes everything, at any tau below 1."""

    name, label, order, default_threshold = "always-slm", "Always the SLM", 70, 0.5

    def confidence(self, features: RouterFeatures) -> Tensor:
        """1 everywhere."""
        return torch.ones(features.hidden.shape[0], device=features.hidden.device)


class AlwaysLLMRouter(_OfPosition):
    """The LLM writes everything, at any tau above 0."""

    name, label, order, default_threshold = "always-llm", "Always the LLM", 80, 0.5

    def confidence(self, features: RouterFeatures) -> Tensor:
        """0 everywhere."""
        return torch.zeros(features.hidden.shape[0], device=features.hidden.device)
