"""How much memory is free and held: the machine's files, a container's limits, and what is given back."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest
import torch

from citer_core.assets import ASSETS
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


# In a process of its own, as it must come before the first thread: what four threads took at once and let go of again.
THREADS = """
import threading
from citer_core.system_memory import resident_bytes, share_one_heap, trim
if {is_shared}:
    share_one_heap()
large = bytearray(32_000_000)  # when such a one is freed, heaps keep more of their ends
del large
trim()
before, together = resident_bytes(), threading.Barrier(4)
def work():
    pieces = [bytearray(60_000) for _ in range(500)]
    together.wait()
    pieces.clear()
    together.wait()
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
trim()
print(resident_bytes() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="it is glibc that has a heap for each thread")
def test_what_threads_let_go_of_comes_back_only_from_a_shared_heap():
    held = []
    for is_shared in (True, False):
        command = [sys.executable, "-c", THREADS.format(is_shared=is_shared)]
        held.append(int(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    assert held[0] < 10_000_000 < 50_000_000 < held[1], "the second one says that the first is worth its while"


def test_the_server_shares_its_heap_before_anything_could_start_a_thread():
    lines = (ASSETS.parent / "app.py").read_text(encoding="utf-8").splitlines()
    called = lines.index("share_one_heap()")
    assert called < next(i for i, line in enumerate(lines) if "large_import(" in line)
