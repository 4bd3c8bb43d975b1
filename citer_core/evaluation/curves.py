"""How a router's confidences separate labelled tokens, at every tau at once: ROC, precision-recall, reliability.

The tokens to be found are the critical ones (label 0): the LLM should write them. Pure functions of numbers. What holds
at one tau, and the tau that costs least, is computed where tau moves, in the browser (`assets/labels/verdict.js`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from citer_core.evaluation.metrics import expected_calibration_error, reliability, roc_auc, wilson_interval

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
N_HISTOGRAM_BINS = 20
MAX_DECIMALS = 12


@dataclass(frozen=True, slots=True)
class RouterCurves:
    """One router on N labelled tokens.

    Attributes:
        auc: area under `roc`; NaN where all tokens have one label.
        average_precision: of finding critical tokens; NaN where there are none.
        ece: expected calibration error of the confidence, against the labels as they are.
        roc: (tau, share of easy tokens wasted, share of critical tokens caught), from none to all by the LLM; points on
            a straight line are left out.
        pr: (tau, share of critical tokens caught, share of critical ones among the LLM's); steps without a gain are
            left out.
        reliability: (mean confidence, share of label 1, its 95% Wilson interval, tokens) per non-empty tenth.
        easy, critical: tokens per twentieth of confidence.
    """

    auc: float
    average_precision: float
    ece: float
    roc: list[tuple[float, float, float]]
    pr: list[tuple[float, float, float]]
    reliability: list[tuple[float, float, float, float, int]]
    easy: list[int]
    critical: list[int]


@dataclass(frozen=True, slots=True)
class _Cuts:
    """Every way in which a tau can divide the tokens: cut k gives the k lowest of m distinct confidences to the LLM.

    Attributes:
        edges: [m], the distinct confidences in order.
        waste, caught: [m + 1], easy and critical tokens below each cut.
    """

    edges: Floats
    waste: Counts
    caught: Counts

    def tau(self, k: int) -> float:
        """The tau with the fewest decimals that makes cut k."""
        if k == 0:
            return 0.0
        return 1.0 if k == len(self.edges) else shortest_between(float(self.edges[k - 1]), float(self.edges[k]))


def curves_of(confidence: Floats, label: Counts) -> RouterCurves:
    """All curves of one router; see `RouterCurves`."""
    cuts = _cuts(confidence, label)
    scores, labels = torch.from_numpy(confidence), torch.from_numpy(label)
    bins = np.clip((confidence * N_HISTOGRAM_BINS).astype(np.int64), 0, N_HISTOGRAM_BINS - 1)
    return RouterCurves(
        auc=roc_auc(scores, labels),
        average_precision=_average_precision(cuts),
        ece=expected_calibration_error(scores, labels),
        roc=_roc(cuts),
        pr=_pr(cuts),
        reliability=[
            (mean, share, *wilson_interval(round(share * n), n), n) for mean, share, n in reliability(scores, labels)
        ],
        easy=np.bincount(bins[label == 1], minlength=N_HISTOGRAM_BINS).tolist(),
        critical=np.bincount(bins[label == 0], minlength=N_HISTOGRAM_BINS).tolist(),
    )


def shortest_between(low: float, high: float) -> float:
    """The number with the fewest decimals in (low, high], but below 1, where tau would hand over every token.

    Args:
        low, high: in [0, 1], low < high.
    """
    for decimals in range(1, MAX_DECIMALS + 1):
        scale = 10.0**decimals
        number = math.floor(high * scale) / scale
        if number >= 1.0:
            number = (scale - 1) / scale
        if low < number <= high:
            return number
    return high if high < 1.0 else (low + high) / 2


def _cuts(confidence: Floats, label: Counts) -> _Cuts:
    edges, group = np.unique(confidence, return_inverse=True)
    easy = np.bincount(group[label == 1], minlength=len(edges))
    critical = np.bincount(group[label == 0], minlength=len(edges))
    zero = np.zeros(1, dtype=np.int64)
    return _Cuts(edges, np.concatenate([zero, easy.cumsum()]), np.concatenate([zero, critical.cumsum()]))


def _roc(cuts: _Cuts) -> list[tuple[float, float, float]]:
    n_easy, n_critical = int(cuts.waste[-1]), int(cuts.caught[-1])
    if not n_easy or not n_critical:
        return []
    d_waste, d_caught = np.diff(cuts.waste), np.diff(cuts.caught)
    turns = d_waste[:-1] * d_caught[1:] != d_waste[1:] * d_caught[:-1]
    kept = [0, *(np.flatnonzero(turns) + 1).tolist(), len(cuts.edges)]
    return [(cuts.tau(k), int(cuts.waste[k]) / n_easy, int(cuts.caught[k]) / n_critical) for k in kept]


def _pr(cuts: _Cuts) -> list[tuple[float, float, float]]:
    n_critical = int(cuts.caught[-1])
    if not n_critical:
        return []
    gains = np.diff(cuts.caught) > 0  # gains[k - 1]: cut k catches more than the one before
    kept = [k for k in range(1, len(cuts.edges) + 1) if gains[k - 1] or k == len(cuts.edges) or gains[k]]
    return [
        (cuts.tau(k), int(cuts.caught[k]) / n_critical, int(cuts.caught[k]) / int(cuts.caught[k] + cuts.waste[k]))
        for k in kept
    ]


def _average_precision(cuts: _Cuts) -> float:
    """Precision at every cut, weighted by the recall that it adds."""
    if not cuts.caught[-1]:
        return math.nan
    precision = cuts.caught[1:] / (cuts.caught[1:] + cuts.waste[1:])
    return float((np.diff(cuts.caught) * precision).sum() / cuts.caught[-1])
