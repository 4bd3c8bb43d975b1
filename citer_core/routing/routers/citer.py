"""The published router: an MLP on the SLM's hidden state."""

from __future__ import annotations

from torch import Tensor, nn

from citer_core.routing.router import RouterFeatures
from citer_core.routing.stored import StoredRouter


class CiterMLP(nn.Sequential):
    """H -> 2H, batch norm, ReLU, dropout -> H, dropout -> 1: the logit of preferring the SLM.

    The layers are those of the authors' published code; only H is ours.
    """

    def __init__(self, hidden_size: int, dropout: float = 0.1) -> None:
        super().__init__(
            nn.Linear(hidden_size, 2 * hidden_size),
            nn.BatchNorm1d(2 * hidden_size),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(2 * hidden_size, hidden_size),
            nn.Dropout(dropout),
            nn.Linear(hidden_size, 1),
        )


class CiterRouter(StoredRouter):
    """`CiterMLP` on the state behind the SLM's candidate: CITER, its ablation CITER-S, and Co-LLM's deferral head."""

    kind = "citer"

    @classmethod
    def build(cls, hidden_size: int) -> CiterMLP:
        """A new MLP."""
        return CiterMLP(hidden_size)

    @classmethod
    def logit(cls, network: nn.Module, features: RouterFeatures) -> Tensor:
        """The MLP's output."""
        logit: Tensor = network(features.hidden.float()).squeeze(-1)
        return logit
