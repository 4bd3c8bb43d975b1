"""Chance: what any router must beat at the same share of LLM tokens."""

from __future__ import annotations

import torch
from torch import Tensor

from citer_core.routing.router import Router, RouterFeatures


class RandomRouter(Router):
    """Gives the LLM a share of tau of the tokens, whatever they are."""

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
