"""The `Router` protocol and the registry: a router is one class, a score and nothing else.

Who writes the token is decided in one place, `citer_core.types.prefers_llm`. Knows nothing about the decode loop.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import torch
from torch import Tensor


@dataclass(frozen=True)
class RouterFeatures:
    """What a router may look at: the SLM's forward at B positions, on the SLM's device.

    Attributes:
        hidden: [B, H], the SLM's last hidden state.
        logits: [B, V], the logits that were read from it.
    """

    hidden: Tensor
    logits: Tensor

    @cached_property
    def log_probs(self) -> Tensor:
        """[B, V] float32, log-probabilities of the next token; computed once, and only if somebody asks."""
        return torch.log_softmax(self.logits.float(), dim=-1)


class Router(Protocol):
    """Scores positions.

    Attributes:
        name: key in the registry, as the command line and the page spell it.
        label: for people.
        revision: hash of its weights, or "" where it has none.
        n_params: parameters read at every step.
    """

    name: str
    label: str
    revision: str
    n_params: int

    def confidence(self, features: RouterFeatures) -> Tensor:
        """[B] float32 in [0, 1]: how surely the SLM is to be preferred at each position."""
        ...
