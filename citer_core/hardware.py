"""What this process computes on: its name, and of a processor the cores by affinity and quota, and number formats.

Imports torch only to name the device, when it is loaded already. A container that may use two cores of ninety-six
still sees ninety-six, and as many threads would wait for each other most of the time. Called where threads are
chosen or a measurement is stored.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from functools import cache
from pathlib import Path

# What multiplies bfloat16, by its flag, in the order in which it is named.
BF16_FLAGS = {"amx_bf16": "AMX", "avx512_bf16": "AVX-512 BF16"}
CPUINFO = Path("/proc/cpuinfo")


def cpu_budget(root: Path = Path("/"), affinity: int | None = None) -> int:
    """Cores that this process may keep busy, at least 1.

    Args:
        root: where `proc` and `sys` are; tests have their own.
        affinity: cores that the process may run on; None asks the system.

    Returns:
        The affinity, or less where a control group (version 1 or 2) of the process or above it has a quota. Part of a
        core is no core: 2.5 give 2.
    """
    if affinity is None:
        affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quotas = [
        quota for folder in group_folders(root, "cpu", ["cpu", "cpu,cpuacct"]) if (quota := _quota(folder)) is not None
    ]
    return max(1, min([affinity, *(int(quota) for quota in quotas)]))


def hardware_in_words() -> str:
    """The device that a run is recorded on, as a person would name it."""
    import torch

    if torch.cuda.is_available():
        return str(torch.cuda.get_device_name())
    threads = torch.get_num_threads()
    return f"{processor_in_words()}, {threads} thread{'s' if threads > 1 else ''}"


@cache
def processor_in_words(cpuinfo: Path = CPUINFO) -> str:
    """The processor's own name where Linux tells it, else its architecture; with what multiplies bfloat16 in it.

    Processors of very different speeds can share a name, such as "Intel(R) Xeon(R) Processor".
    """
    lines = _lines(cpuinfo)
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name") and ":" in line]
    flags = _flags(lines)
    has = [words for flag, words in BF16_FLAGS.items() if flag in flags]
    name = names[0] if names else f"{platform.machine()} CPU"
    return f"{name} ({', '.join(has)})" if has else name


def _lines(cpuinfo: Path) -> list[str]:
    try:
        return cpuinfo.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def _flags(lines: list[str]) -> frozenset[str]:
    flags = next((line.split(":", 1)[1] for line in lines if line.startswith("flags") and ":" in line), "")
    return frozenset(flags.split())


def group_folders(root: Path, controller: str, mounts: Sequence[str]) -> list[Path]:
    """The folders of this process's groups and of all above them; where there is no such folder nothing is read.

    Args:
        root: where `proc` and `sys` are.
        controller: of groups of version 1.
        mounts: where these are, below `sys/fs/cgroup`.
    """
    try:
        lines = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = ["0::/", f"1:{controller}:/"]
    folders = []
    for line in lines:
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if controllers and controller not in controllers.split(","):
            continue
        below = Path(path.strip("/"))
        for mount in mounts if controllers else ("", "unified"):
            # In a container the path is often the host's and not to be seen; the mount itself is then its group.
            folders += [root / "sys/fs/cgroup" / mount / part for part in (below, *below.parents)]
    return folders


def _quota(folder: Path) -> float | None:
    """Cores that a group may use together, or None where it is not limited or no such group is there."""
    try:
        if (folder / "cpu.max").is_file():
            quota, period = (folder / "cpu.max").read_text(encoding="utf-8").split()
        else:
            quota = (folder / "cpu.cfs_quota_us").read_text(encoding="utf-8")
            period = (folder / "cpu.cfs_period_us").read_text(encoding="utf-8")
        if quota == "max" or int(quota) <= 0 or int(period) <= 0:
            return None
        return int(quota) / int(period)
    except (OSError, ValueError):
        return None


def has_bfloat16(cpuinfo: Path = CPUINFO) -> bool:
    """Whether the processor multiplies bfloat16 itself (AVX-512 BF16 or AMX); False where Linux does not tell."""
    return not _flags(_lines(cpuinfo)).isdisjoint(BF16_FLAGS)
