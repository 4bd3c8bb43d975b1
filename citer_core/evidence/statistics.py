"""Right answers as bits, and intervals of their shares and differences. Pure functions of numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

N_DRAWS = 10_000
Interval = tuple[float, float]


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
