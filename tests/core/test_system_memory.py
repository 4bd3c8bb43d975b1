"""How much memory is free and held: the machine's files, a container's limits, and what is given back."""

from __future__ import annotations

import pytest
import torch

from citer_core.system_memory import free_bytes, give_back, resident_bytes

MEMINFO = {"proc/meminfo": "MemTotal: 16000000 kB\nMemFree: 100 kB\nMemAvailable:    8000000 kB\n"}
V2, V1 = "sys/fs/cgroup", "sys/fs/cgroup/memory"
AVAILABLE = 8_000_000 * 1024
GB = 10**9


def write(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


@pytest.mark.parametrize(
    ("files", "free"),
    [
        ({}, AVAILABLE),
        ({f"{V2}/memory.max": "max\n", f"{V2}/memory.current": f"{GB}\n"}, AVAILABLE),
        ({f"{V2}/memory.max": f"{4 * GB}\n", f"{V2}/memory.current": f"{GB}\n"}, 3 * GB),
        # What could be dropped counts as free.
        (
            {
                f"{V2}/memory.max": f"{4 * GB}", f"{V2}/memory.current": f"{3 * GB}",
                f"{V2}/memory.stat": f"anon 5\ninactive_file {GB}\nactive_file 7\n",
            },
            2 * GB,
        ),
        # The tightest group above counts, and one that is over its limit has nothing left.
        (
            {
                "proc/self/cgroup": "0::/a/b\n", f"{V2}/a/memory.max": f"{GB}", f"{V2}/a/memory.current": f"{2 * GB}",
                f"{V2}/a/b/memory.max": f"{9 * GB}", f"{V2}/a/b/memory.current": "0",
            },
            0,
        ),
        (
            {
                "proc/self/cgroup": "4:memory:/x\n", f"{V1}/x/memory.limit_in_bytes": f"{2 * GB}",
                f"{V1}/x/memory.usage_in_bytes": f"{GB}",
            },
            GB,
        ),
        ({"proc/self/cgroup": "4:memory:/\n", f"{V1}/memory.limit_in_bytes": "9223372036854771712",
          f"{V1}/memory.usage_in_bytes": "5"}, AVAILABLE),
        ({f"{V2}/memory.max": "what is this\n"}, AVAILABLE),
    ],
)  # fmt: skip
def test_free(tmp_path, files, free):
    assert free_bytes(root=write(tmp_path, MEMINFO | files)) == free


def test_nothing_is_known_elsewhere(tmp_path):
    assert free_bytes(root=tmp_path) is None and resident_bytes(tmp_path) is None
    assert free_bytes("mps") is None


def test_a_freed_tensor_is_given_back():
    give_back()  # what other tests let go of would be taken again, and nothing would seem to grow
    before = resident_bytes()
    if before is None:
        pytest.skip("this system does not say what a process holds")
    tensors = [torch.ones(250_000) for _ in range(200)]  # 1 MB each: too small for an allocation of their own
    assert resident_bytes() - before > 150_000_000
    del tensors
    give_back()
    assert resident_bytes() - before < 20_000_000
