"""A router that follows a script: a pattern to test, teach and force decisions with. Not in the registry."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from citer_core.routing.router import Router, RouterFeatures


class ScriptedRouter(Router):
    """Prefers the SLM where a script says so, in the order in which it is asked."""

    name, label = "scripted", "Scripted pattern"

    def __init__(self, confidences: Sequence[float]) -> None:
        self._confidences = tuple(confidences)
        self._next = 0

    def confidence(self, features: RouterFeatures) -> Tensor:
        """The next entries of the script, from its start again when it is used up."""
        n = features.hidden.shape[0]
        entries = [self._confidences[(self._next + i) % len(self._confidences)] for i in range(n)]
        self._next += n
        return torch.tensor(entries, dtype=torch.float32)
