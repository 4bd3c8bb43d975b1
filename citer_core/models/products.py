"""Products of a few rows with a matrix in bfloat16 on a CPU: the known ways to compute them, and which is fastest here.

They give the same numbers up to rounding, and read the weights at bandwidths that differ by a factor of up to three, in
opposite order on different processors. With AMX the product with a vector and the transposed one are up to half as fast
again as the plain one. With AVX-512 BF16 alone they take up to twice as long, and one row is read faster as two equal
ones. So it is measured when a model is loaded. Knows shapes, not models; called in every pass.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

Shape = tuple[int, int]  # of a matrix: numbers in, numbers out
Kind = Literal["tall", "square", "wide"]
WIDE = 2  # as many times more numbers out than in
ROW_CLASSES = (1, 2, 4, 8, 16)  # a product of 5 rows is computed as one of 8; above the last the plain one is taken
PLAIN = "plain"
SAMPLE_BYTES = 48 << 20  # of weights in one measurement: more than a processor's caches, as a model is
MATRIX_BYTES = 12 << 20  # of a larger matrix, as many columns are measured
MOST_MATRICES = 32
CLEARLY_FASTER = 1.05  # less is within what a measurement wanders, and the plain product may take an addition along


def _plain(x: Tensor, weight: Tensor) -> Tensor:
    return torch.mm(x, weight)


def _vector(x: Tensor, weight: Tensor) -> Tensor:
    return torch.mv(weight.t(), x[0])[None]


def _doubled(x: Tensor, weight: Tensor) -> Tensor:
    return torch.mm(x.expand(2, -1), weight)[:1]


def _transposed(x: Tensor, weight: Tensor) -> Tensor:
    return torch.mm(weight.t(), x.t()).t().contiguous()


Way = Callable[[Tensor, Tensor], Tensor]
# [N, out] of [N, in] and a matrix [in, out].
WAYS: Mapping[str, Way] = {PLAIN: _plain, "vector": _vector, "doubled": _doubled, "transposed": _transposed}
FOR_ONE_ROW = frozenset({"vector", "doubled"})


def ways_for(n_rows: int) -> tuple[str, ...]:
    """The ways that can compute a product of so many rows."""
    return tuple(name for name in WAYS if n_rows == 1 or name not in FOR_ONE_ROW)


def kind_of(n_in: int, n_out: int) -> Kind:
    """What decides about the way, beside the rows: whether the matrix makes more of its input, or less."""
    if n_out > WIDE * n_in:
        return "wide"
    return "tall" if n_in > WIDE * n_out else "square"


@dataclass(frozen=True, slots=True)
class Measured:
    """One kind of matrix and class of rows.

    Attributes:
        way: the fastest one.
        bytes_per_s: at which each way reads the weights.
    """

    way: str
    bytes_per_s: Mapping[str, float]


Measurements = Mapping[Kind, Mapping[int, Measured]]  # by class of rows


class Products:
    """Which way computes which product; the plain one where nothing was measured.

    Args:
        measured: all classes of rows of each kind of matrix in it.
    """

    def __init__(self, measured: Measurements | None = None) -> None:
        self.measured = measured or {}
        self._ways: dict[Kind, list[Way]] = {
            kind: [WAYS[by_rows[rows].way] for rows in ROW_CLASSES] for kind, by_rows in self.measured.items()
        }

    def __call__(self, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        """[N, out] of [N, in] and a matrix [in, out], with a bias [out] or none."""
        way = self._other_way(x, weight)
        if way is None:
            return torch.mm(x, weight) if bias is None else torch.addmm(bias, x, weight)
        y = way(x, weight)
        return y if bias is None else y.add_(bias)

    def add_to(self, hidden: Tensor, x: Tensor, weight: Tensor) -> None:
        """Adds the product to `hidden`, [N, out], in place."""
        way = self._other_way(x, weight)
        if way is None:
            hidden.addmm_(x, weight)
        else:
            hidden.add_(way(x, weight))

    def _other_way(self, x: Tensor, weight: Tensor) -> Way | None:
        """None for the plain one, which can take the addition along."""
        if not self._ways or len(x) > ROW_CLASSES[-1] or not is_measurable(x):
            return None
        ways = self._ways.get(kind_of(weight.shape[0], weight.shape[1]))
        way = None if ways is None else ways[bisect_left(ROW_CLASSES, len(x))]
        return None if way is _plain else way

    def lines(self) -> list[dict[str, Any]]:
        """The choices as rows of a report: kind of matrix, rows, way, and the GB/s of each way."""
        return [
            {
                "kind": kind,
                "rows": rows,
                "way": measured.way,
                "gb_per_s": {way: round(speed / 1e9, 1) for way, speed in measured.bytes_per_s.items()},
            }
            for kind, by_rows in self.measured.items()
            for rows, measured in by_rows.items()
        ]


def is_measurable(weight: Tensor) -> bool:
    """Whether there is more than one way: in float32, and on a device, the plain product is the fastest known."""
    return weight.dtype == torch.bfloat16 and weight.device.type == "cpu"


def representatives(n_bytes: Mapping[Shape, int]) -> dict[Kind, Shape]:
    """Of each kind of matrix the shape that most of a model's bytes are in.

    Args:
        n_bytes: of all matrices of a shape.
    """
    found: dict[Kind, Shape] = {}
    for shape in sorted(n_bytes, key=lambda shape: n_bytes[shape]):
        found[kind_of(*shape)] = shape
    return found


@torch.inference_mode()
def measure_products(shapes: Mapping[Kind, Shape]) -> Measurements:
    """Measures every way for each kind of matrix and class of rows, in a few tenths of a second.

    Each product is timed by itself and the shortest time is taken, because another program that has the core for a
    while spoils a few times and not all. On one thread it is the thread's own time.
    """
    return {kind: _measure_kind(*shape) for kind, shape in shapes.items()}


def _measure_kind(n_in: int, n_out: int) -> dict[int, Measured]:
    n_out = max(1, min(n_out, MATRIX_BYTES // (2 * n_in)))
    n_matrices = min(MOST_MATRICES, max(2, SAMPLE_BYTES // (2 * n_in * n_out)))
    # As they lie in memory: [out, in], turned.
    matrices = [torch.full((n_out, n_in), 0.01, dtype=torch.bfloat16).t() for _ in range(n_matrices)]
    return {rows: _fastest(torch.ones(rows, n_in, dtype=torch.bfloat16), matrices) for rows in ROW_CLASSES}


def _fastest(x: Tensor, matrices: list[Tensor]) -> Measured:
    clock = time.thread_time if torch.get_num_threads() == 1 else time.perf_counter
    seconds = dict.fromkeys(ways_for(len(x)), float("inf"))
    for way in seconds:
        for matrix in matrices:
            start = clock()
            WAYS[way](x, matrix)
            seconds[way] = min(seconds[way], clock() - start)
    return choose({way: matrices[0].nbytes / max(least, 1e-9) for way, least in seconds.items()})


def choose(bytes_per_s: Mapping[str, float]) -> Measured:
    """The fastest way; the plain one unless another is clearly faster."""
    best = max(bytes_per_s, key=lambda way: bytes_per_s[way])
    return Measured(best if bytes_per_s[best] > CLEARLY_FASTER * bytes_per_s[PLAIN] else PLAIN, dict(bytes_per_s))
