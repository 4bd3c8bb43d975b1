"""How well a score separates and how honest it is, on labels in {0, 1}; right answers as bits; and intervals of shares
and of their differences. Pure functions of numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor

N_DRAWS = 10_000
Interval = tuple[float, float]


def roc_auc(score: Tensor, label: Tensor) -> float:
    """Area under the ROC curve: the chance that a random positive outscores a random negative, ties counting half.

    Args:
        score: [N] float.
        label: [N] in {0, 1}.

    Returns:
        0 to 1; NaN where one class is missing.
    """
    positive = label.bool()
    n_positive, n_negative = int(positive.sum()), int((~positive).sum())
    if not n_positive or not n_negative:
        return math.nan
    _, inverse, counts = score.double().unique(return_inverse=True, return_counts=True)
    last_rank = counts.cumsum(0).double()
    mean_rank = (last_rank - (counts - 1) / 2)[inverse]  # tied scores share their mean rank
    rank_sum = float(mean_rank[positive].sum())
    return (rank_sum - n_positive * (n_positive + 1) / 2) / (n_positive * n_negative)


def reliability(confidence: Tensor, label: Tensor, n_bins: int = 10) -> list[tuple[float, float, int]]:
    """(mean confidence, share of label 1, count) of each non-empty bin of equal width over [0, 1]."""
    bins = (confidence.double() * n_bins).long().clamp(0, n_bins - 1)
    curve = []
    for b in range(n_bins):
        inside = bins == b
        n = int(inside.sum())
        if n:
            curve.append((float(confidence[inside].double().mean()), float(label[inside].double().mean()), n))
    return curve


def expected_calibration_error(confidence: Tensor, label: Tensor, n_bins: int = 10) -> float:
    """Mean distance between confidence and observed share over the bins of `reliability`, weighted by their counts."""
    curve = reliability(confidence, label, n_bins)
    total = sum(n for _, _, n in curve)
    return sum(abs(mean - share) * n for mean, share, n in curve) / total


def wilson_interval(n_right: int, n: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson score interval of a proportion; 95% for the default z."""
    if n == 0:
        return 0.0, 1.0
    share = n_right / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return max(0.0, centre - half), min(1.0, centre + half)


def pack(flags: Sequence[bool]) -> str:
    """Flags as hexadecimal digits, four in one, the first flag the highest bit; a rest is filled with zeros."""
    return np.packbits(np.asarray(flags, dtype=bool)).tobytes().hex()


def unpack(text: str, n: int) -> NDArray[np.bool_]:
    """[n] of the flags of `pack`.

    Raises:
        ValueError: there are not so many, or it is something else.
    """
    flags = np.unpackbits(np.frombuffer(bytes.fromhex(text), dtype=np.uint8)).astype(bool)
    if len(flags) != -(-n // 8) * 8:
        raise ValueError(f"{len(flags)} flags where {n} are said to be")
    return flags[:n]


def paired_difference(
    first: Sequence[NDArray[np.bool_]], second: Sequence[NDArray[np.bool_]], seed: int = 0
) -> tuple[float, Interval]:
    """The mean of `first` less that of `second` over the same problems, with its 95% bootstrap interval.

    Args:
        first, second: [n] right answers of each training seed; seeds are averaged in each problem first.
        seed: of the draws.
    """
    gain = np.stack(first).mean(axis=0) - np.stack(second).mean(axis=0)
    values, counts = np.unique(gain, return_counts=True)
    # Problems drawn with replacement are counts of these few values drawn from a multinomial.
    draws = np.random.default_rng(seed).multinomial(len(gain), counts / len(gain), size=N_DRAWS) @ values / len(gain)
    low, high = np.quantile(draws, (0.025, 0.975))
    return float(gain.mean()), (float(low), float(high))
