"""Numbers between host and device: as few crossings as there are moments at which the host has to wait.

On a CPU there is nothing to cross, and nothing is packed. Knows nothing about models.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor


def is_away(tensor: Tensor) -> bool:
    """Whether the host has to wait for a device to read it."""
    return tensor.device.type != "cpu"


def is_host(device: torch.device) -> bool:
    """Whether there is nothing to cross."""
    return device.type == "cpu"


def to_host(*tensors: Tensor) -> list[Any]:
    """The numbers of each tensor as nested lists, after one wait for all of them.

    Args:
        tensors: float32 or less, or integers that fit into 32 bits; those away from the host on one device.
    """
    away = [tensor for tensor in tensors if is_away(tensor)]
    if not away:
        return [tensor.tolist() for tensor in tensors]
    bits = torch.cat([as_bits(tensor) for tensor in away]).cpu()
    arrived = iter(bits.split([tensor.numel() for tensor in away]))
    return [_unpacked(next(arrived), tensor).tolist() if is_away(tensor) else tensor.tolist() for tensor in tensors]


def to_device(values: Sequence[int], device: torch.device) -> Tensor:
    """[n] int64 on the device; the host does not wait for it to arrive."""
    if is_host(device):
        return _on_host(values)
    if device.type != "cuda":
        return torch.tensor(values, dtype=torch.long, device=device)
    return torch.tensor(values, dtype=torch.long, pin_memory=True).to(device, non_blocking=True)


def send(values: Sequence[int], to: Tensor) -> None:
    """Puts values into an int64 tensor [n] that stays where it is; the host does not wait."""
    if is_host(to.device):
        to.copy_(_on_host(values))
    else:
        to.copy_(torch.tensor(values, dtype=torch.long, pin_memory=to.is_cuda), non_blocking=True)


def lists_to_device(lists: Sequence[Sequence[int]], device: torch.device) -> list[Tensor]:
    """Each list as int64 on the device; all of them go in one piece."""
    if is_host(device):
        return [_on_host(values) for values in lists]
    return list(torch.split(to_device(list(chain.from_iterable(lists)), device), [len(values) for values in lists]))


def as_bits(tensor: Tensor) -> Tensor:
    """The same 32 bits of every number, as [n] int32; exact, also where a device has no float64."""
    flat = tensor.reshape(-1)
    assert flat.dtype != torch.float64, "float64 is not packed"
    return flat.float().view(torch.int32) if flat.is_floating_point() else flat.int()


def _on_host(values: Sequence[int]) -> Tensor:
    """[n] int64; through NumPy, which reads a list three times as fast."""
    return torch.from_numpy(np.array(values, dtype=np.int64))


def _unpacked(bits: Tensor, like: Tensor) -> Tensor:
    return (bits.view(torch.float32) if like.is_floating_point() else bits).view(like.shape)
