"""Cores by affinity and by control groups of both versions, from files made here; and the precision rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from citer_core.hardware import cpu_budget, has_bfloat16
from citer_core.models import products
from citer_core.models.pair import load_pair
from citer_core.models.products import automatic_dtype, choose_dtype


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


V2, V1 = "sys/fs/cgroup", "sys/fs/cgroup/cpu"


def v1(quota: str, folder: str = V1) -> dict[str, str]:
    return {f"{folder}/cpu.cfs_quota_us": quota, f"{folder}/cpu.cfs_period_us": "100000"}


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({}, 8),
        ({"proc/self/cgroup": "0::/\n", f"{V2}/cpu.max": "max 100000\n"}, 8),
        ({"proc/self/cgroup": "0::/\n", f"{V2}/cpu.max": "250000 100000\n"}, 2),
        ({"proc/self/cgroup": "0::/\n", f"{V2}/cpu.max": "50000 100000\n"}, 1),
        # The group above is stricter than the process's own.
        ({"proc/self/cgroup": "0::/a/b\n", f"{V2}/a/b/cpu.max": "6 1", f"{V2}/a/cpu.max": "3 1"}, 3),
        # The host's path cannot be seen in a container; the mount is its group.
        ({"proc/self/cgroup": "0::/docker/0123\n", f"{V2}/cpu.max": "400000 100000\n"}, 4),
        ({"proc/self/cgroup": "3:cpu,cpuacct:/\n", **v1("-1")}, 8),
        ({"proc/self/cgroup": "3:cpu,cpuacct:/x\n", **v1("200000", f"{V1}/x")}, 2),
        ({"proc/self/cgroup": "3:memory:/\n", **v1("200000")}, 8),
        ({"proc/self/cgroup": "junk\n0::/\n", f"{V2}/cpu.max": "what is this\n"}, 8),
    ],
)  # fmt: skip
def test_cpu_budget(tmp_path, files, cores):
    assert cpu_budget(write(tmp_path, files), affinity=8) == cores


def test_affinity_is_the_least(tmp_path):
    assert cpu_budget(write(tmp_path, {f"{V2}/cpu.max": "600000 100000"}), affinity=3) == 3


@pytest.mark.parametrize(
    ("text", "has"),
    [("flags\t: fpu avx512_bf16 amx_tile\n", True), ("flags: amx_bf16", True), ("flags\t: fpu avx2\n", False)],
)
def test_bfloat16_flags(tmp_path, text, has):
    write(tmp_path, {"cpuinfo": text})
    assert has_bfloat16(tmp_path / "cpuinfo") is has
    assert not has_bfloat16(tmp_path / "none")


@pytest.mark.parametrize(
    ("device", "cuda_has", "cpu_has", "seconds", "dtype", "why"),
    [
        ("cuda", True, False, None, "bfloat16", "half the bytes"),
        ("cuda:1", False, False, None, "float32", "no bfloat16"),
        ("cpu", False, False, None, "float32", "does not multiply bfloat16"),
        ("cpu", False, True, {"float32": 2e-3, "bfloat16": 1e-3}, "bfloat16", "1.00 ms instead of 2.00 ms"),
        # Not worth the rounding where it is hardly faster.
        ("cpu", False, True, {"float32": 1.05e-3, "bfloat16": 1e-3}, "float32", "not clearly faster"),
    ],
)
def test_rule(device, cuda_has, cpu_has, seconds, dtype, why):
    chosen, reason = choose_dtype(device, cuda_has_bfloat16=cuda_has, cpu_has_bfloat16=cpu_has, measure=lambda: seconds)
    assert chosen == dtype and why in reason


def test_the_bundled_pair_stays_in_float32(monkeypatch):
    monkeypatch.setattr(products, "measured_seconds", lambda: pytest.fail("nothing is measured for it"))
    assert automatic_dtype("embedded", "cpu") == "float32"
    assert load_pair(dtype="auto").info.dtype == "float32"


def test_measurement_is_of_both_formats(empty_caches):
    seconds = products.measured_seconds(size=64, n_matrices=2, n_rounds=2)
    assert set(seconds) == {"float32", "bfloat16"} and min(seconds.values()) > 0
