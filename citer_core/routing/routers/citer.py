"""The published router, an MLP on the SLM's hidden state; and the same on the prompt's, for whole questions."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_linear_bn_eval

from citer_core.routing.router import RouterFeatures
from citer_core.routing.stored import StoredRouter


class CiterMLP(nn.Sequential):
    """H -> 2H, batch norm, ReLU, dropout -> H, dropout -> 1: the logit of preferring the SLM.

    The layers are those of the authors' published code; only H is ours.
    """

    def __init__(self, hidden_size: int) -> None:
        super().__init__(
            nn.Linear(hidden_size, 2 * hidden_size),
            nn.BatchNorm1d(2 * hidden_size),
            nn.ReLU(),
            nn.Dropout(0.1),
            nn.Linear(2 * hidden_size, hidden_size),
            nn.Dropout(0.1),
            nn.Linear(hidden_size, 1),
        )

    def for_inference(self) -> nn.Sequential:
        """The same function in eval mode with three operations in place of seven.

        The batch norm goes into the layer before it, and the last two layers, which nothing bends between them, into
        one.
        """
        first, norm, _, _, second, _, third = self
        assert isinstance(first, nn.Linear) and isinstance(norm, nn.BatchNorm1d)
        assert isinstance(second, nn.Linear) and isinstance(third, nn.Linear)
        last = nn.Linear(second.in_features, 1, device=second.weight.device)
        last.weight = nn.Parameter(third.weight @ second.weight, requires_grad=False)
        last.bias = nn.Parameter(third.weight @ second.bias + third.bias, requires_grad=False)
        return nn.Sequential(fuse_linear_bn_eval(first, norm), nn.ReLU(), last)


class CiterRouter(StoredRouter):
    """`CiterMLP` on the state behind the SLM's candidate: CITER, its ablation CITER-S, and Co-LLM's deferral head."""

    kind, build = "citer", CiterMLP
    uses_sequence = False
    is_static = True

    @classmethod
    def reads(cls, features: RouterFeatures) -> Tensor:
        """[B, H], the states that the MLP is asked about."""
        return features.hidden.float()

    @classmethod
    def logit(cls, network: nn.Module, features: RouterFeatures) -> Tensor:
        """The MLP's output."""
        logit: Tensor = network(cls.reads(features)).squeeze(-1)
        return logit

    def layers(self, features: RouterFeatures) -> tuple[nn.Sequential, Tensor]:
        """All of it."""
        return self._fast, self.reads(features)


class QueryLevelRouter(CiterRouter):
    """Predicts from the prompt's last state whether the SLM alone will answer right; the same for every token."""

    kind = "query-level"
    uses_sequence = True

    @classmethod
    def reads(cls, features: RouterFeatures) -> Tensor:
        """The states at the prompt's end."""
        return (features.hidden if features.prompt_hidden is None else features.prompt_hidden).float()
