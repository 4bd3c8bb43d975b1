"""Who writes each labelled token at a tau, and the tau of least cost, by trying all: what the browser is held to."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np


class Confusion(NamedTuple):
    """Tokens by label (easy: kept, waste; critical: risk, caught; none: open) and writer (SLM: kept, risk)."""

    kept: int
    waste: int
    risk: int
    caught: int
    open: int
    llm: int


class BestThreshold(NamedTuple):
    """Where `cost`, `ratio * risk + waste`, is least; among equals with the fewest LLM tokens."""

    tau: float
    cost: float
    risk: int
    waste: int


def confusion(confidence: Any, label: Any, tau: float) -> Confusion:
    """Counts; the rule is `citer_core.types.prefers_llm`."""
    by_llm = (np.asarray(confidence) < tau) | (tau >= 1.0)
    easy, critical, unlabelled = (np.asarray(label) == one for one in (1, 0, 2))
    cells = (easy & ~by_llm, easy & by_llm, critical & ~by_llm, critical & by_llm, unlabelled, by_llm)
    return Confusion(*(int(cell.sum()) for cell in cells))


def best_threshold(confidence: Any, label: Any, ratio: float) -> BestThreshold:
    """Every cut between two distinct confidences is tried, from none to all by the LLM."""
    edges = [float(edge) for edge in np.unique(np.asarray(confidence)[np.asarray(label) != 2])]
    taus = [0.0, *(shortest_between(low, high) for low, high in pairwise(edges)), 1.0]
    tried = [(tau, confusion(confidence, label, tau)) for tau in taus]
    found = [BestThreshold(tau, ratio * there.risk + there.waste, there.risk, there.waste) for tau, there in tried]
    return min(found, key=lambda one: one.cost)


def shortest_between(low: float, high: float) -> float:
    """The number with the fewest decimals in (low, high], but below 1, where tau would hand over every token."""
    for decimals in range(1, 13):
        scale = 10.0**decimals
        number = min(math.floor(high * scale), scale - 1) / scale
        if low < number <= high:
            return number
    return high if high < 1.0 else (low + high) / 2
