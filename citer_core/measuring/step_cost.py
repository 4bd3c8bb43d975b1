"""`StepCost`: how long one forward pass takes, as fixed + per new token + per cached token, fitted to measured passes;
and what such a pass is bound by: memory, arithmetic, or the overhead of starting the work.

The three have different remedies, and token-level routing helps only where most of a step is paid once per pass. Pure
arithmetic. Who measures is `device_probe.py`; who concludes from it are `break_even.py` and `capacity.py`.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from citer_core.errors import SettingError
from citer_core.gate.fields import Real

Seconds = Annotated[float, Real(0.0, 1e6)]
Share = Annotated[float, Real(-1e6, 1e6)]
Bound = Literal["memory", "compute", "overhead"]
HALF = 0.5
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
