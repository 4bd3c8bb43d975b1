"""Routing whole questions: one decision, from the prompt alone."""

from __future__ import annotations

from torch import Tensor

from citer_core.routing.router import RouterFeatures
from citer_core.routing.routers.citer import CiterRouter


class QueryLevelRouter(CiterRouter):
    """Predicts from the prompt's last state whether the SLM alone will answer right; the same for every token."""

    kind = "query-level"
    uses_sequence = True

    @classmethod
    def reads(cls, features: RouterFeatures) -> Tensor:
        """The states at the prompt's end."""
        return (features.hidden if features.prompt_hidden is None else features.prompt_hidden).float()
