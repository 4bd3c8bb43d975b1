"""`ScriptRouter`: who writes each token is written down before, at any share of LLM tokens, for models whose own
answers say nothing: spread evenly, or as the hand-offs of a recorded run.

Knows nothing about what is measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from citer_core.assets import ASSETS
from citer_core.routing.router import Router, RouterFeatures
from citer_core.trace import RoutingTrace

RECORDED = ASSETS / "traces" / "qwen-long.json"
HALF = 0.5  # the threshold for scripts of 0 and 1


def even_script(share: float, n_tokens: int) -> list[float]:
    """Confidences of 0 and 1 for `n_tokens` positions: 0, which asks for the LLM, is spread evenly."""
    due = (torch.arange(n_tokens + 1, dtype=torch.float64) * share).floor().diff() > 0
    confidences: list[float] = (~due).float().tolist()
    return confidences


@cache
def recorded_confidences(path: Path = RECORDED) -> tuple[float, ...]:
    """Confidences of a trained router, token by token of a recorded run."""
    trace = RoutingTrace.from_json(path.read_text(encoding="utf-8"))
    return tuple(event.slm_confidence for event in trace.events)


def recorded_script(share: float, n_tokens: int, confidences: Sequence[float] | None = None) -> list[float]:
    """Confidences of 0 and 1 for `n_tokens` positions: 0 where the recorded router was the least sure.

    Args:
        share: of the tokens that the LLM writes, in [0, 1]; met to the token.
        n_tokens: of the script, which may be repeated from any place without changing the share.
        confidences: that say where; None takes those of the recorded run.
    """
    known = confidences or recorded_confidences()
    spread = [known[place % len(known)] for place in range(n_tokens)]
    # Of equal ones the earlier first.
    by_llm = set(sorted(range(n_tokens), key=lambda place: (spread[place], place))[: round(share * n_tokens)])
    return [0.0 if place in by_llm else 1.0 for place in range(n_tokens)]


class ScriptRouter(Router):
    """Runs a real router for its time, and answers by a script that lies on the device, as a real answer would.

    A sequence begins at a place of its own in the script, whatever it is decoded with; behind the end the script begins
    again.
    """

    name, label, default_threshold, uses_sequence = "script", "By a script", HALF, True

    def __init__(self, inner: Router, script: Sequence[float], device: torch.device) -> None:
        self.n_params, self.revision, self.is_static = inner.n_params, inner.revision, inner.is_static
        self._inner = inner
        self._script = torch.tensor(script, device=device)

    def confidence(self, features: RouterFeatures) -> Tensor:
        """[B] of the script."""
        self._inner.confidence(features)
        assert features.position is not None and features.sequence_key is not None
        n_tokens = len(self._script)
        places = (features.position + features.sequence_key % n_tokens) % n_tokens
        return self._script.index_select(0, places)
