"""`StepCost`: how long one forward pass takes, as fixed + per new token + per cached token, fitted to measured passes.

Pure arithmetic. Who measures is `device_probe.py`; who concludes from it are `break_even.py` and `capacity.py`.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from citer_core.errors import SettingError

Clock = Literal["thread", "wall"]  # the former does not count while other programs have the core


@dataclass(frozen=True, slots=True)
class PassTime:
    """One measured pass: `n_new` tokens fed over `n_cached` cached ones took `seconds` (a median)."""

    n_new: int
    n_cached: int
    seconds: float


@dataclass(frozen=True, slots=True)
class StepCost:
    """Seconds of a forward pass of one sequence; all three are at least 0.

    Attributes:
        fixed_s: paid by every pass, however little it feeds: weights that are streamed, kernels that are launched.
        per_token_s: added by each new token: arithmetic.
        per_context_s: added by each cached token that the pass looks back at.
        error: median relative distance of the measured passes from this formula, 0.1 for 10%.
    """

    fixed_s: float
    per_token_s: float
    per_context_s: float
    error: float = 0.0

    def seconds(self, n_new: float = 1, n_cached: float = 0) -> float:
        """Time of a pass; `n_new` may be an average."""
        return self.fixed_s + self.per_token_s * n_new + self.per_context_s * n_cached

    @property
    def growth(self) -> float:
        """Share of a one-token pass on an empty cache that grows with the tokens fed: near 0, catching up is free."""
        return self.per_token_s / max(self.seconds(), 1e-30)


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
