"""What a decoding step is bound by: memory, arithmetic, or the overhead of starting the work. Pure arithmetic.

The three have different remedies, and token-level routing helps only where most of a step is paid once per pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from citer_core.measuring.step_cost import StepCost

Bound = Literal["memory", "compute", "overhead"]
HALF = 0.5

# Data sheets' memory bandwidth in bytes/s, by a part of the name that torch gives; the first that fits is taken.
DATA_SHEETS = {
    "H200": 4.8e12,
    "H100 NVL": 3.9e12,
    "H100 PCIe": 2.0e12,
    "H100": 3.35e12,
    "A100-SXM4-80GB": 2.039e12,
    "A100-PCIE-40GB": 1.555e12,
    "A100-SXM4-40GB": 1.555e12,
    "L40S": 864e9,
    "L4": 300e9,
    "A10G": 600e9,
    "T4": 320e9,
    "RTX 4090": 1008e9,
    "RTX 3090": 936e9,
}


def data_sheet_bandwidth(device_name: str) -> float | None:
    """Bytes/s as the vendor states them; None for a device that is not in the list (processors depend on the board)."""
    return next((bandwidth for part, bandwidth in DATA_SHEETS.items() if part in device_name), None)


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
