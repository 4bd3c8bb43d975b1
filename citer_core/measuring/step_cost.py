"""`StepCost`: how long one forward pass takes, as fixed + per new token + per cached token, fitted to measured passes;
what such a pass is bound by: memory, arithmetic, or the overhead of starting the work, which have different remedies;
and up to which share of LLM tokens a pair of such costs saves anything against the LLM alone, in seconds and in bytes.

A share s spread evenly means one LLM call every 1/s tokens, which then feeds 1/s tokens. A pass costs the same per
token fed however tokens are grouped; so what routing saves is the rest of an LLM pass (fixed part and reading of the
context) on tokens without a call, and what it pays is the SLM and the router on every token. Pure arithmetic. Who
measures is `device_probe.py`.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from citer_core.cost import ModelSpec
from citer_core.errors import SettingError
from citer_core.gate.fields import Real

Seconds = Annotated[float, Real(0.0, 1e6)]
Share = Annotated[float, Real(-1e6, 1e6)]
Bound = Literal["memory", "compute", "overhead"]
HALF = 0.5
MAX_BATCH = 1024
Clock = Literal["thread", "wall"]  # the former does not count while other programs have the core


@dataclass(frozen=True, slots=True)
class PassTime:
    """One measured pass: `n_new` tokens fed over `n_cached` cached ones took `seconds` (a median)."""

    n_new: int
    n_cached: int
    seconds: Seconds


@dataclass(frozen=True, slots=True)
class StepCost:
    """Seconds of a forward pass of one sequence; all three are at least 0.

    Attributes:
        fixed_s: paid by every pass, however little it feeds: weights that are streamed, kernels that are launched.
        per_token_s: added by each new token: arithmetic.
        per_context_s: added by each cached token that the pass looks back at.
        error: median relative distance of the measured passes from this formula, 0.1 for 10%.
    """

    fixed_s: Seconds
    per_token_s: Seconds
    per_context_s: Seconds
    error: Seconds = 0.0

    def seconds(self, n_new: float = 1, n_cached: float = 0) -> float:
        """Time of a pass; `n_new` may be an average."""
        return self.fixed_s + self.per_token_s * n_new + self.per_context_s * n_cached


def fit_step_cost(passes: Sequence[PassTime]) -> StepCost:
    """Least squares over relative errors, so that a pass of 64 tokens does not outvote a pass of one.

    No term may be negative: of all subsets of the three terms, the best one without a negative weight is kept.

    Raises:
        SettingError: too few passes to tell the terms apart.
    """
    if len(passes) < 3 or len({p.n_new for p in passes}) < 2:
        raise SettingError(
            "A step cost needs at least three measured passes, of at least two different numbers of new tokens."
        )
    seconds = np.array([p.seconds for p in passes])
    terms = np.array([[1.0, p.n_new, p.n_cached] for p in passes]) / seconds[:, None]
    best, smallest = np.zeros(3), float("inf")
    for kept in itertools.chain.from_iterable(itertools.combinations(range(3), n) for n in (1, 2, 3)):
        chosen = list(kept)
        # Columns of one size, or the seconds per token would drown in the rounding of the fixed ones.
        scale = np.linalg.norm(terms[:, chosen], axis=0)
        scale[scale == 0] = 1.0
        weights = np.linalg.lstsq(terms[:, chosen] / scale, np.ones(len(passes)), rcond=None)[0] / scale
        distance = float(np.square(terms[:, chosen] @ weights - 1).sum())
        if (weights >= 0).all() and distance < smallest - 1e-12:
            best, smallest = np.zeros(3), distance
            best[chosen] = weights
    error = statistics.median(abs(float(row @ best) - 1) for row in terms)
    return StepCost(float(best[0]), float(best[1]), float(best[2]), error)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one model's decoding steps are bound by.

    Attributes:
        bound: memory, compute or overhead.
        reason: the numbers behind it, in a sentence.
        bandwidth_share: estimated bytes of a one-token pass per measured second, of the measured copy bandwidth.
        compute_share: its estimated FLOP/s, of the measured peak.
        growth: share of the pass that grows with every token fed.
    """

    bound: Bound
    reason: str
    bandwidth_share: float
    compute_share: float
    growth: float


def verdict_of(cost: StepCost, n_cached: int, n_bytes: float, flops: float, bandwidth: float, peak: float) -> Verdict:
    """Judges a one-token pass.

    Compute-bound: feeding a second token costs half a pass or more, so nothing is shared between tokens. Otherwise most
    of a pass is paid once; that is memory-bound where the bytes it moves keep half of the measured bandwidth busy, and
    overhead-bound where they do not.

    Args:
        cost: fitted.
        n_cached: context of the pass.
        n_bytes, flops: estimated for it, see `cost.py`.
        bandwidth, peak: measured on this device, bytes/s and FLOP/s.
    """
    seconds = cost.seconds(1, n_cached)
    growth = cost.per_token_s / seconds
    bandwidth_share, compute_share = n_bytes / seconds / bandwidth, flops / seconds / peak
    bound: Bound
    if growth >= HALF:
        bound = "compute"
        reason = f"each further token adds {growth:.0%} of a one-token pass, so a pass shares little between its tokens"
    elif bandwidth_share >= HALF:
        bound = "memory"
        reason = (
            f"a further token adds only {growth:.0%} of a pass, and the bytes of a pass keep {bandwidth_share:.0%} of "
            "the measured copy bandwidth busy"
        )
    else:
        bound = "overhead"
        reason = (
            f"a further token adds only {growth:.0%} of a pass, but the bytes of a pass use {bandwidth_share:.0%} of "
            f"the measured copy bandwidth and its arithmetic {compute_share:.0%} of the measured peak: the rest is the "
            "starting of many small operations"
        )
    return Verdict(bound, reason, bandwidth_share, compute_share, growth)


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
