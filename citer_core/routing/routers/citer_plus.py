"""`citer-plus`: the published MLP as a correction to what the SLM's own distribution says for free."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from citer_core.routing.router import RouterFeatures
from citer_core.routing.routers.citer import CiterMLP
from citer_core.routing.stored import StoredRouter

N_UNCERTAINTIES = 3
EPSILON = 1e-6


class CiterPlusNetwork(nn.Module):
    """logit = w . u + b + MLP([hidden, u]); u are the SLM's uncertainties, and the MLP's last layer starts at zero.

    So training starts from a calibrated max-probability router and only departs from it where the state knows better.
    """

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.linear = nn.Linear(N_UNCERTAINTIES, 1)
        self.scale = nn.BatchNorm1d(N_UNCERTAINTIES, affine=False)
        self.residual = CiterMLP(hidden_size + N_UNCERTAINTIES)
        nn.init.zeros_(self.linear.bias)
        with torch.no_grad():
            self.linear.weight.copy_(torch.tensor([[1.0, 0.0, 0.0]]))
        for parameter in self.residual[-1].parameters():
            nn.init.zeros_(parameter)

    def for_inference(self) -> CiterPlusNetwork:
        """The same function in eval mode with fewer operations."""
        fast = copy.copy(self)
        fast._modules = {**self._modules, "residual": self.residual.for_inference()}
        return fast

    def forward(self, hidden: Tensor, uncertainties: Tensor) -> Tensor:
        """[B] logits from [B, H] states and [B, 3] uncertainties, both float32."""
        scaled = self.scale(uncertainties)
        logit: Tensor = self.linear(scaled) + self.residual(torch.cat((hidden, scaled), dim=-1))
        return logit.squeeze(-1)


class CiterPlusRouter(StoredRouter):
    """Hidden state and the SLM's own uncertainty together."""

    kind, build = "citer-plus", CiterPlusNetwork
    uses_sequence = False
    is_static = True

    @classmethod
    def logit(cls, network: nn.Module, features: RouterFeatures) -> Tensor:
        """The network's output for the SLM's uncertainties."""
        logit: Tensor = network(features.hidden.float(), cls.uncertainties(features))
        return logit

    @staticmethod
    def uncertainties(features: RouterFeatures) -> Tensor:
        """[B, 3]: the log-odds of the greedy token, the log of the entropy, and the margin."""
        p = features.max_probability.clamp(EPSILON, 1 - EPSILON)
        return torch.stack((p.logit(), (features.entropy + EPSILON).log(), features.margin), dim=-1)

    def layers(self, features: RouterFeatures) -> tuple[nn.Sequential, Tensor]:
        """The correction, which reads the scaled uncertainties too."""
        scaled = self._fast.scale(self.uncertainties(features))
        return self._fast.residual, torch.cat((features.hidden.float(), scaled), dim=-1)
