"""`--dtype auto`: which number format both models run in, by a rule that measures where it cannot know.

bfloat16 halves the bytes that a step streams. A GPU that has it is always faster for it; a processor only where it
multiplies bfloat16 itself (AVX-512 BF16, AMX), and not even there for every shape, so it is measured. The bundled pair
stays in float32: it fits into a processor's caches, and float32 is what its stored results were made with.
"""

from __future__ import annotations

import logging
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch

from citer_core.hardware import has_bfloat16
from citer_core.models.products import Products, kind_of, measure_products

log = logging.getLogger(__name__)
AUTO = "auto"
CLEARLY_FASTER = 1.2  # less is within what a measurement wanders, and float32 rounds less


@dataclass(frozen=True, slots=True)
class DtypeChoice:
    """A dtype as `load_pair` spells it, and the reason."""

    dtype: str
    why: str


def choose_dtype(
    device: str, *, cuda_has_bfloat16: bool, cpu_has_bfloat16: bool, measure: Callable[[], Mapping[str, float]]
) -> DtypeChoice:
    """The rule.

    Args:
        device: as torch spells it.
        cuda_has_bfloat16, cpu_has_bfloat16: what the hardware can do.
        measure: seconds of the same work in `float32` and `bfloat16` on the processor; asked only where it decides.
    """
    if device.startswith("cuda"):
        if cuda_has_bfloat16:
            return DtypeChoice("bfloat16", "half the bytes of float32, and this GPU has it")
        return DtypeChoice("float32", "this GPU has no bfloat16")
    if device != "cpu":
        return DtypeChoice("float32", f"nothing is known of bfloat16 on {device}")
    if not cpu_has_bfloat16:
        return DtypeChoice("float32", "this processor does not multiply bfloat16 itself")
    seconds = measure()
    ours, theirs = 1000 * seconds["bfloat16"], 1000 * seconds["float32"]
    if theirs >= CLEARLY_FASTER * ours:
        return DtypeChoice("bfloat16", f"one token's products took {ours:.2f} ms instead of {theirs:.2f} ms in float32")
    return DtypeChoice("float32", f"bfloat16 is not clearly faster here ({ours:.2f} ms, float32 {theirs:.2f} ms)")


def automatic_dtype(pair: str, device: str) -> DtypeChoice:
    """What `auto` means for a pair on a device; logged with its reason."""
    if pair == "embedded":
        choice = DtypeChoice("float32", "the bundled pair is small, and its stored results were made with it")
    else:
        choice = choose_dtype(
            device,
            cuda_has_bfloat16=torch.cuda.is_available() and torch.cuda.is_bf16_supported(),
            cpu_has_bfloat16=has_bfloat16(),
            measure=measured_seconds,
        )
    log.info("dtype %s: %s", choice.dtype, choice.why)
    return choice


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
