"""The device: what it is, how fast it copies, multiplies and starts work; what memory a pair takes on it and gives
back; how often the host waits for it while a token is decided, and where: counted, not timed. Called by `steps`.
"""

from __future__ import annotations

import itertools
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

import citer_core
from citer_core.hardware import hardware_in_words, processor_in_words
from citer_core.measuring.device_probe import copy_bandwidth, data_sheet_bandwidth, peak_flops, seconds_of
from citer_core.measuring.report.bench import Case, Turn, paths_for
from citer_core.models.mailbox import Mailbox
from citer_core.models.spec import model_bytes
from citer_core.routing.decode import decode
from citer_core.system_memory import free_bytes, give_back, resident_bytes

SIZES = (1 << 20, 1 << 24, 1 << 28)  # bytes of copies beside the plan's own: a small model lives in caches
WARNING = "synchronizing CUDA operation"
N_BEFORE = 12  # tokens before waits count: caches have room by then
ROOT = Path(citer_core.__file__).parent.parent
N_RUNS = 3
SHARE = 0.3


def device_facts(case: Case, _turn: Turn) -> dict[str, Any]:
    """Name, memory and speeds."""
    device, plan, is_gpu = case.bench.device, case.plan, case.bench.is_gpu
    sizes = [size for size in SIZES if size < plan.copy_bytes]
    one = torch.ones(1, device=device)
    return {
        "name": device_name(device),
        "processor": processor_in_words(),
        "threads": torch.get_num_threads(),
        "free_bytes": free_bytes(str(device)),
        "data_sheet_bytes_per_s": data_sheet_bandwidth(hardware_in_words()) if is_gpu else None,
        "copy_bytes_per_s": case.bench.bandwidth,
        "copies": [{"n_bytes": size, "bytes_per_s": copy_bandwidth(device, size, 5)} for size in sizes],
        "flops": {name: peak_flops(device, getattr(torch, name), 3, plan.matrix) for name in ("bfloat16", "float32")},
        "start_and_wait_s": seconds_of(lambda: one + 1, 50),  # the smallest operation, and reading its result
        "start_s": _start_s(one),
        "gpu": _gpu(device) if is_gpu else None,
    }


def device_name(device: torch.device) -> str:
    """As a person would name it."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else processor_in_words()


def _start_s(one: torch.Tensor, n_started: int = 200) -> float:
    """Seconds to start an operation when many follow each other."""

    def many() -> torch.Tensor:
        for _ in range(n_started):
            one.add_(1)
        return one

    return seconds_of(many, 5) / n_started


def _gpu(device: torch.device) -> dict[str, Any]:
    properties = torch.cuda.get_device_properties(device)
    return {
        "n_multiprocessors": properties.multi_processor_count,
        "memory_bytes": properties.total_memory,
        "compute_capability": f"{properties.major}.{properties.minor}",
        "tf32_for_float32": torch.backends.cuda.matmul.allow_tf32,
    }


def watch_memory(case: Case, turn: Turn) -> dict[str, Any]:
    """Bytes before a pair is there, with it, in its runs, after them and after it."""
    rows: list[dict[str, Any]] = []

    def note(when: str) -> None:
        rows.append({"when": when, **bytes_now(case.bench.device)})

    case.bench.release()
    note("before")
    _ = case.pair  # is made
    give_back()
    note("pair loaded")
    router = case.script(SHARE)
    for number in turn.each(range(1, N_RUNS + 1)):
        events = decode(case.pair, router, case.prompt, case.settings)
        for _event in itertools.islice(events, case.plan.n_written):
            pass  # its caches are there until it is asked for more
        note(f"run {number}, last token")
        events.close()
        del events
        give_back()
        note(f"after run {number}")
    del router
    case.bench.release()
    note("pair freed")
    assert case.shape is not None, "how much it should take is known of sizes"
    estimated = sum(model_bytes(spec, case.plan.dtype) for spec in (case.shape.slm, case.shape.llm))
    return {"estimated_bytes": estimated, "rows": rows}


def bytes_now(device: torch.device) -> dict[str, int | None]:
    """Bytes on a GPU in tensors, held by torch and free for others; of a processor those of this process."""
    if device.type != "cuda":
        return {"resident": resident_bytes()}
    torch.cuda.synchronize(device)
    return {
        "in_tensors": torch.cuda.memory_allocated(device),
        "held": torch.cuda.memory_reserved(device),
        "free_on_device": torch.cuda.mem_get_info(device)[0],
        "resident": resident_bytes(),
    }


def count_waits(case: Case, turn: Turn) -> dict[str, Any]:
    """Waits of a token, in each way of decoding and at each share; None where there is no device to wait for."""
    every = itertools.product(paths_for(str(case.bench.device)), case.plan.shares)
    return {
        "dtype": case.plan.dtype,
        "rows": [_waits(replace(case, path=path), path.name, share) for path, share in turn.each(every)],
    }


def _waits(case: Case, name: str, share: float) -> dict[str, Any]:
    pair, router, prompt, settings = case.pair, case.script(share), case.prompt, case.settings
    list(decode(pair, router, prompt, settings))  # a run makes what the next one replays
    events = decode(pair, router, prompt, settings)
    for _ in itertools.islice(events, min(N_BEFORE, settings.max_new_tokens // 2)):
        pass
    is_gpu = case.bench.is_gpu
    with counted(is_gpu=is_gpu) as places:
        by_llm = [event.source == "llm" for event in events]
    return {
        "path": name,
        "asked_share": share,
        "n_tokens": len(by_llm),
        "n_llm_tokens": sum(by_llm),
        "n_waits": places.total() if is_gpu else None,
        "waits_per_token": places.total() / len(by_llm) if is_gpu else None,
        "places": dict(places.most_common(8)),
    }


@contextmanager
def counted(*, is_gpu: bool) -> Iterator[Counter[str]]:
    """Counts, by the line that waited, what torch warns of until the block ends; nothing without a GPU.

    torch warns of each operation that makes the host wait; the warnings name the line of ours. It does not warn of the
    mailboxes of replayed passes, which wait for an event and count that themselves.

    Yields:
        The count, filled when the block has ended.
    """
    places: Counter[str] = Counter()
    if not is_gpu:
        yield places
        return
    before, n_read = torch.cuda.get_sync_debug_mode(), Mailbox.n_read
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            yield places
        finally:
            torch.cuda.set_sync_debug_mode(before)
    if Mailbox.n_read > n_read:
        places["citer_core/models/mailbox.py"] = Mailbox.n_read - n_read
    places.update(f"{_named(one.filename)}:{one.lineno}" for one in told if WARNING in str(one.message))


def _named(filename: str) -> str:
    """A file as it is called in the project, or by its last two names elsewhere: no folder of this machine."""
    path = Path(filename)
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else "/".join(path.parts[-2:])
