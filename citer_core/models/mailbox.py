"""`Mailbox`: a few numbers that a device leaves for the host, in one piece and at one place.

Filling it asks the host nothing, so it can be part of what is captured. Reading it is the one wait of a pass. Knows
nothing about what the numbers mean. Made by `citer_core.routing.replayed`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from citer_core.models.transfer import as_bits


@dataclass(frozen=True, slots=True)
class Arrived:
    """What was read: numbers of 32 bits, in the order in which they were put."""

    floats: list[float]
    ints: list[int]


class Mailbox:
    """Room for a fixed count of numbers.

    Args:
        device: where they are computed.
        n_floats, n_ints: how many of each.

    Attributes:
        n_read: how often any of them was read in this process: a wait each, of which torch cannot tell.
    """

    n_read: ClassVar[int] = 0

    def __init__(self, device: torch.device, n_floats: int, n_ints: int) -> None:
        self._n_floats = n_floats
        self._bits = torch.zeros(n_floats + n_ints, dtype=torch.int32, device=device)
        self._on_cuda = device.type == "cuda"
        if self._on_cuda:
            self._arrived = torch.cuda.Event()
            self._host = torch.zeros(n_floats + n_ints, dtype=torch.int32, pin_memory=True)

    def put(self, floats: Sequence[Tensor], ints: Sequence[Tensor]) -> None:
        """Fills it; the tensors together have as many numbers as there is room for.

        Args:
            floats: float32 or less.
            ints: that fit into 32 bits.
        """
        torch.cat([as_bits(tensor) for tensor in (*floats, *ints)], out=self._bits)

    def put_float(self, place: int, value: Tensor) -> None:
        """Replaces one of the floats by another, [1]."""
        self._bits.narrow(0, place, 1).copy_(as_bits(value))

    def post(self) -> None:
        """Sends what is in it on its way to the host, behind all that the device was given to do, without waiting."""
        if self._on_cuda:
            self._host.copy_(self._bits, non_blocking=True)
            self._arrived.record(torch.cuda.current_stream(self._bits.device))

    def read(self) -> Arrived:
        """What was posted last, once it is here."""
        Mailbox.n_read += 1
        if self._on_cuda:
            self._arrived.synchronize()
            bits = self._host
        else:
            bits = self._bits.cpu()
        numbers = bits.numpy()
        return Arrived(numbers[: self._n_floats].view(np.float32).tolist(), numbers[self._n_floats :].tolist())
