"""`Regime`: what was measured on one pair, as one table of points for each kind of problem.

Imports no torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, Self

import numpy as np
import pandas as pd

from citer_core.evaluation.metrics import paired_difference, wilson_interval
from citer_core.evidence.stored import StoredPart

NEAR = 0.03  # of the share that was wanted: a point further off says where it is
ALONE = {"always-slm": 0.0, "always-llm": 1.0}  # their share of LLM tokens
SHARES = (0.05, 0.10, 0.20)  # of LLM tokens, at which differences of routers are drawn
COLUMNS = (
    "router", "label", "settings", "seeds", "share_wanted", "tau", "share", "n", "right", "accuracy", "low", "high",
    "passes", "bytes_share", "gb", "tflop", "seconds", "seconds_alone", "is_shipped",
)  # fmt: skip
NAMES = {
    "always-slm": "SLM alone",
    "always-llm": "LLM alone",
    "disagreement": "Disagreement oracle",
    "decisive": "Oracle of decisive tokens",
    "max-probability": "Max-probability (no training)",
    "entropy": "Entropy (no training)",
    "margin": "Margin (no training)",
    "bidirectional-entropy": "Bidirectional entropy (no training)",
    "random": "Random (no training)",
    "citer": "CITER",
    "citer-plus": "CITER plus",
    "citer-s-a": "CITER-S (a): without case 3",
    "citer-s-b": "CITER-S (b): token correctness",
    "co-llm": "Co-LLM",
    "query-level": "Query level",
    **{f"citer-{k}": f"CITER, round {k}" for k in range(1, 11)},
    **{f"citer-plus-{k}": f"CITER plus, round {k}" for k in range(1, 11)},
    "citer-outcome": "Outcome labels",
    "outcome-fail-slm": "Outcome labels, both fail: SLM",
    "outcome-fail-llm": "Outcome labels, both fail: LLM",
    "speculative": "Speculative decoding",
}


@dataclass(frozen=True)
class Regime:
    """What was measured on one pair.

    Attributes:
        name: in addresses and files.
        title: for people.
        pair_revision: of the pair; "" where it is not known.
        date, hardware, command: of the measurement.
        note: what to know about it.
        tables: of each kind of problem, `COLUMNS`; one line for a router at a share, or at its tau. Missing numbers are
            NaN: not measured; `settings` has those beside tau by name.
        bits: right answers problem by problem of each training seed, by (kind, line of its table), where they are kept.
        parts: the other parts of the evidence of this pair.
    """

    name: str
    title: str
    pair_revision: str
    date: str
    hardware: str
    command: str
    note: str
    tables: Mapping[str, pd.DataFrame]
    bits: Mapping[tuple[str, int], Sequence[Any]] = field(default_factory=dict)
    parts: Mapping[str, StoredPart] = field(default_factory=dict)

    def at(self, kind: str, router: str, share: float | None) -> pd.Series | None:
        """A router's line at a share that was wanted; None takes the one without. None where it was not measured."""
        place = self._places.get((kind, router, _rounded(share)))
        return None if place is None else self.tables[kind].iloc[place]

    @cached_property
    def _places(self) -> dict[tuple[str, str, float | None], int]:
        """The first line of each kind, router and share."""
        places: dict[tuple[str, str, float | None], int] = {}
        for kind, table in self.tables.items():
            for place, (router, share) in enumerate(zip(table.router, table.share_wanted, strict=True)):
                places.setdefault((kind, str(router), _rounded(None if pd.isna(share) else float(share))), place)
        return places

    @cached_property
    def difference(self) -> Callable[[str, str, str, float], Difference | None]:
        """Of a kind, how much more the first router gets right at a share than the second; None where one was not
        measured. Sentences, figures and verdicts ask for the same ones.
        """
        return cache(self._difference)

    def _difference(self, kind: str, first: str, second: str, share: float) -> Difference | None:
        a, b = self.at(kind, first, share), self.at(kind, second, share)
        if a is None or b is None:
            return None
        bits = [self.bits.get((kind, int(line.name))) for line in (a, b)]
        if bits[0] is not None and bits[1] is not None:
            return Difference.paired(bits[0], bits[1])
        low, high = newcombe((int(a.right), int(a.n)), (int(b.right), int(b.n)))
        return Difference(float(a.accuracy - b.accuracy), low, high, int(a.n), is_paired=False)


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, 6)


@dataclass(frozen=True, slots=True)
class Difference:
    """Of two shares of right answers on the same n problems, with its 95% interval.

    Attributes:
        is_paired: whether the interval knows which problems each got right; if not, it is wider than it need be.
    """

    mean: float
    low: float
    high: float
    n: int
    is_paired: bool

    @classmethod
    def paired(cls, first: Sequence[Any], second: Sequence[Any]) -> Self:
        """Of right answers problem by problem, [n] bool of each training seed."""
        mean, (low, high) = paired_difference(first, second)
        return cls(mean, low, high, len(first[0]), is_paired=True)

    def __str__(self) -> str:
        return f"{100 * self.mean:+.1f} points ({100 * self.low:+.1f} to {100 * self.high:+.1f}, n = {self.n:,})"


def newcombe(first: tuple[int, int], second: tuple[int, int]) -> tuple[float, float]:
    """95% interval of the difference of two independent shares, each (right, n), from their Wilson intervals.

    Source: Newcombe, Statistics in Medicine 17 (1998), method 10.
    """
    p, q = first[0] / first[1], second[0] / second[1]
    (l1, u1), (l2, u2) = wilson_interval(*first), wilson_interval(*second)
    return p - q - math.hypot(p - l1, u2 - q), p - q + math.hypot(u1 - p, q - l2)


def table_of(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows of `COLUMNS` as a table; a number that a row does not have is NaN."""
    table = pd.DataFrame(rows, columns=COLUMNS)
    numbers = ["share_wanted", "tau", "share", "passes", "bytes_share", "gb", "tflop", "seconds", "seconds_alone"]
    table[numbers] = table[numbers].astype(float)
    return table


def counted(router: str, accuracy: Mapping[str, int]) -> dict[str, Any]:
    """What a row says of who had `n_correct` of `n` right, with Wilson's interval; a model's share is its tau."""
    right, n = accuracy["n_correct"], accuracy["n"]
    low, high = wilson_interval(right, n)
    share = ALONE.get(router)
    return {
        "router": router, "label": NAMES.get(router, router), "settings": {}, "seeds": 1, "n": n, "right": right,
        "accuracy": right / n, "low": low, "high": high, "share": share, "tau": share, "is_shipped": False,
    }  # fmt: skip


def of_seeds(right: Sequence[Any]) -> dict[str, float]:
    """Right answers, averaged over seeds; the interval is Wilson's, of several seeds that of problems drawn again."""
    n, mean = len(right[0]), float(np.mean([seed.mean() for seed in right]))
    if len(right) == 1:
        low, high = wilson_interval(int(right[0].sum()), n)
    else:
        _, (low, high) = paired_difference(right, [np.zeros(n, dtype=bool)])
    return {"right": mean * n, "accuracy": mean, "low": low, "high": high}
