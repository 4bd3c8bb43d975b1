"""What the device is, and how fast it copies, multiplies and starts work. Called by `order`."""

from __future__ import annotations

from typing import Any

import torch

from citer_core.hardware import hardware_in_words, processor_in_words
from citer_core.measuring.bound import data_sheet_bandwidth
from citer_core.measuring.device_probe import copy_bandwidth, peak_flops, seconds_of
from citer_core.measuring.report.bench import Bench
from citer_core.measuring.report.budget import Turn
from citer_core.system_memory import free_bytes

SIZES = (1 << 20, 1 << 24, 1 << 28)  # bytes of copies beside the plan's own: a small model lives in caches


def device_facts(bench: Bench, _turn: Turn) -> dict[str, Any]:
    """Name, memory and speeds."""
    device, plan = bench.device, bench.plan
    sizes = [size for size in SIZES if size < plan.copy_bytes]
    return {
        "name": device_name(device),
        "processor": processor_in_words(),
        "threads": torch.get_num_threads(),
        "free_bytes": free_bytes(str(device)),
        "data_sheet_bytes_per_s": data_sheet_bandwidth(hardware_in_words()) if bench.is_gpu else None,
        "copy_bytes_per_s": bench.bandwidth,
        "copies": [{"n_bytes": size, "bytes_per_s": copy_bandwidth(device, size, 5)} for size in sizes],
        "flops": {name: peak_flops(device, getattr(torch, name), 3, plan.matrix) for name in ("bfloat16", "float32")},
        "start_and_wait_s": _start_and_wait_s(device),
        "start_s": _start_s(device),
        "gpu": _gpu(device),
    }


def device_name(device: torch.device) -> str:
    """As a person would name it."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else processor_in_words()


def _start_and_wait_s(device: torch.device) -> float:
    """Seconds of the smallest operation and of reading its result."""
    one = torch.ones(1, device=device)
    return seconds_of(lambda: one + 1, 50)


def _start_s(device: torch.device, n_started: int = 200) -> float:
    """Seconds to start an operation when many follow each other."""
    one = torch.ones(1, device=device)

    def many() -> torch.Tensor:
        for _ in range(n_started):
            one.add_(1)
        return one

    return seconds_of(many, 5) / n_started


def _gpu(device: torch.device) -> dict[str, Any] | None:
    if device.type != "cuda":
        return None
    properties = torch.cuda.get_device_properties(device)
    return {
        "n_multiprocessors": properties.multi_processor_count,
        "memory_bytes": properties.total_memory,
        "compute_capability": f"{properties.major}.{properties.minor}",
        "tf32_for_float32": torch.backends.cuda.matmul.allow_tf32,
    }
