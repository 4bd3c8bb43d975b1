"""`sides_of`: who says what the models of a pair say, computed, replayed from CUDA graphs, or asked of a server."""

from __future__ import annotations

from citer_core.models.pair import ModelPair
from citer_core.models.remote_lm import RemoteLM
from citer_core.routing.computed import ComputedLlm, ComputedSlm
from citer_core.routing.replayed import ReplayedLlm, ReplayedSlm
from citer_core.routing.said import LlmSide, SlmSide
from citer_core.routing.server import ServerLlm


def sides_of(pair: ModelPair, n_slots: int, *, reuses: bool = True) -> tuple[SlmSide, LlmSide]:
    """Who says what the models of a pair say.

    Args:
        pair: the two models.
        n_slots: sequences.
        reuses: False feeds the LLM the whole text at every call, as the authors' published code does.
    """
    slm: SlmSide = ReplayedSlm(pair, n_slots) if pair.slm.is_replayed else ComputedSlm(pair, n_slots)
    if isinstance(pair.llm, RemoteLM):
        return slm, ServerLlm(pair, pair.llm)
    if pair.llm.is_replayed and reuses:
        return slm, ReplayedLlm(pair, n_slots)
    return slm, ComputedLlm(pair, n_slots, reuses=reuses)
