"""Up to which share of LLM tokens routing saves anything against the LLM alone: in seconds and in bytes.

A share s spread evenly means one LLM call every 1/s tokens, which then feeds 1/s tokens. A pass costs the same per
token fed however tokens are grouped; so what routing saves is the rest of an LLM pass (fixed part and reading of the
context) on tokens without a call, and what it pays is the SLM and the router on every token. Pure arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from citer_core.cost import ModelSpec
from citer_core.measuring.step_cost import StepCost

MAX_BATCH = 1024


@dataclass(frozen=True, slots=True)
class RoutedCosts:
    """Measured costs of a pair's parts.

    Attributes:
        slm, llm: of a forward pass.
        router_s: of one pass of the router.
        loop_s: of one step outside models and router (candidates, text, bookkeeping). A loop with the LLM alone has it
            too, so it does not move the break-even.
        switch_s: added outside the models by each call of the LLM.
    """

    slm: StepCost
    llm: StepCost
    router_s: float
    loop_s: float = 0.0
    switch_s: float = 0.0

    def routed_s(self, llm_share: float, n_cached: float) -> float:
        """Seconds per token of a routed text over `n_cached` tokens; the share, in [0, 1], is spread evenly."""
        seconds = self.loop_s + self.slm.seconds(1, n_cached) + self.router_s
        if llm_share > 0:  # a call feeds its own token and what was written since the last one
            seconds += llm_share * (self.llm.seconds(1 / llm_share, n_cached) + self.switch_s)
        return seconds

    def llm_only_s(self, n_cached: float) -> float:
        """Seconds per token of the LLM alone."""
        return self.loop_s + self.llm.seconds(1, n_cached)

    def break_even_share(self, n_cached: float, batch_size: int = 1) -> float:
        """The LLM share at which a routed step takes as long as one of the LLM alone.

        For a batch the sequences advance in lockstep: the LLM's fixed part is saved only in steps in which none of
        them calls it, a share (1 - s)^batch_size. Sequences that wait for each other, as `decode_batch` lets them, save
        more.

        Args:
            n_cached: tokens of context.
            batch_size: sequences at once, from 1.

        Returns:
            A share in [0, 1]; 0 where routing takes longer at any share.
        """
        n, llm = batch_size, self.llm
        read = llm.per_context_s * n_cached  # of one sequence's context by the LLM
        slm = self.slm.fixed_s + n * (self.slm.seconds(1, n_cached) - self.slm.fixed_s)

        def lost(share: float) -> float:
            paid = slm + self.router_s + n * share * self.switch_s
            return paid - (1 - share) ** n * llm.fixed_s - (1 - share) * n * read

        return root(lost)

    def largest_batch(self, llm_share: float, n_cached: float) -> int:
        """The largest power of two up to `MAX_BATCH` of sequences at which that share still saves time; 0 for none."""
        largest, size = 0, 1
        while size <= MAX_BATCH and self.break_even_share(n_cached, size) > llm_share:
            largest, size = size, 2 * size
        return largest


def break_even_share_of_bytes(slm: ModelSpec, llm: ModelSpec, router_bytes: float, n_context: int) -> float:
    """The LLM share at which a routed token moves as many bytes as one of the LLM alone, by the model in `cost.py`.

    A pass moves `W + kappa * n_context` bytes whatever part of the context it feeds, so the share is what is left when
    SLM and router are paid: 1 - (B_slm + B_router) / B_llm.

    Args:
        slm, llm: sizes.
        router_bytes: read by the router at each step.
        n_context: tokens of context, the fed ones included, from 1.

    Returns:
        A share in [0, 1]; 0 where routing moves more at any share.
    """
    paid = slm.forward_bytes(1, n_context - 1) + router_bytes
    return max(0.0, 1 - paid / llm.forward_bytes(1, n_context - 1))


def root(grows: Callable[[float], float], low: float = 0.0, high: float = 1.0) -> float:
    """Where a function that grows crosses 0; the nearer end where it does not."""
    if grows(low) >= 0:
        return low
    if grows(high) <= 0:
        return high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if grows(middle) < 0 else (low, middle)
    return (low + high) / 2
