"""Products of a few rows with a matrix in bfloat16 on a CPU: the known ways to compute them, and which is fastest here.

They give the same numbers up to rounding, and read the weights at bandwidths that differ by a factor of up to three, in
opposite order on different processors. With AMX the product with a vector and the transposed one are up to half as fast
again as the plain one. With AVX-512 BF16 alone they take up to twice as long, and one row is read faster as two equal
ones. So it is measured when a model is loaded; and so is whether bfloat16 is worth it at all (`--dtype auto`). Knows
shapes, not models; called in every pass.
"""

from __future__ import annotations

import logging
import statistics
import time
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from citer_core.hardware import has_bfloat16

log = logging.getLogger(__name__)
Shape = tuple[int, int]  # of a matrix: numbers in, numbers out
Kind = Literal["tall", "square", "wide"]
WIDE = 2  # as many times more numbers out than in
ROW_CLASSES = (1, 2, 4, 8, 16)  # a product of 5 rows is computed as one of 8; above the last the plain one is taken
PLAIN = "plain"
SAMPLE_BYTES = 48 << 20  # of weights in one measurement: more than a processor's caches, as a model is
MATRIX_BYTES = 12 << 20  # of a larger matrix, as many columns are measured
MOST_MATRICES = 32
AUTO = "auto"
DTYPE_FASTER = 1.2  # from which bfloat16 is taken: less is within what a measurement wanders, and float32 rounds less
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


def choose_dtype(
    device: str, *, cuda_has_bfloat16: bool, cpu_has_bfloat16: bool, measure: Callable[[], Mapping[str, float]]
) -> tuple[str, str]:
    """The rule: a dtype as `load_pair` spells it, and the reason.

    Args:
        device: as torch spells it.
        cuda_has_bfloat16, cpu_has_bfloat16: what the hardware can do.
        measure: seconds of the same work in `float32` and `bfloat16` on the processor; asked only where it decides.
    """
    if device.startswith("cuda"):
        if cuda_has_bfloat16:
            return "bfloat16", "half the bytes of float32, and this GPU has it"
        return "float32", "this GPU has no bfloat16"
    if device != "cpu":
        return "float32", f"nothing is known of bfloat16 on {device}"
    if not cpu_has_bfloat16:
        return "float32", "this processor does not multiply bfloat16 itself"
    seconds = measure()
    ours, theirs = 1000 * seconds["bfloat16"], 1000 * seconds["float32"]
    if theirs >= DTYPE_FASTER * ours:
        return "bfloat16", f"one token's products took {ours:.2f} ms instead of {theirs:.2f} ms in float32"
    return "float32", f"bfloat16 is not clearly faster here ({ours:.2f} ms, float32 {theirs:.2f} ms)"


def automatic_dtype(pair: str, device: str) -> str:
    """What `auto` means for a pair on a device, by a rule that measures where it cannot know; logged with its reason.

    bfloat16 halves the bytes that a step streams. A GPU that has it is always faster for it; a processor only where it
    multiplies bfloat16 itself (AVX-512 BF16, AMX), and not even there for every shape. The bundled pair stays in
    float32: it fits into a processor's caches, and float32 is what its stored results were made with.
    """
    if pair == "embedded":
        dtype, why = "float32", "the bundled pair is small, and its stored results were made with it"
    else:
        dtype, why = choose_dtype(
            device,
            cuda_has_bfloat16=torch.cuda.is_available() and torch.cuda.is_bf16_supported(),
            cpu_has_bfloat16=has_bfloat16(),
            measure=measured_seconds,
        )
    log.info("dtype %s: %s", dtype, why)
    return dtype


@torch.inference_mode()
def measured_seconds(size: int = 2048, n_matrices: int = 8, n_rounds: int = 5) -> dict[str, float]:
    """Median seconds in which one token passes through some layers, per format, the formats taking turns.

    Each is computed as the fused pass will: float32 from matrices that lie turned in memory, bfloat16 by the product
    that is the fastest here.

    Args:
        size: rows and columns of a layer; together larger than a core's own caches, as a real model is.
        n_matrices, n_rounds: of the measurement.
    """
    layers = {
        "float32": [torch.full((size, size), 1 / size) for _ in range(n_matrices)],
        "bfloat16": [torch.full((size, size), 1 / size, dtype=torch.bfloat16).t() for _ in range(n_matrices)],
    }
    tokens = {name: torch.ones(1, size, dtype=matrices[0].dtype) for name, matrices in layers.items()}
    products = Products(measure_products({kind_of(size, size): (size, size)}))
    times: dict[str, list[float]] = {name: [] for name in layers}
    for _ in range(n_rounds + 1):
        for name, measured in times.items():
            start, token = time.perf_counter(), tokens[name]
            for layer in layers[name]:
                token = products(token, layer)
            measured.append(time.perf_counter() - start)
    return {name: statistics.median(measured[1:]) for name, measured in times.items()}
