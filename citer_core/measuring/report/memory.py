"""Memory that a pair takes on the device, and whether it is given back when runs and pair are gone.

Called by `order`.
"""

from __future__ import annotations

import itertools
from typing import Any

import torch

from citer_core.measuring.report.bench import Bench
from citer_core.measuring.report.budget import Turn
from citer_core.measuring.report.paths import DecodePath
from citer_core.measuring.report.shapes import prompt_of
from citer_core.models.memory import model_bytes
from citer_core.routing.decode import decode
from citer_core.system_memory import give_back, resident_bytes
from citer_core.types import DecodeSettings

N_RUNS = 3
SHARE = 0.3


def watch_memory(bench: Bench, path: DecodePath, turn: Turn) -> dict[str, Any]:
    """Bytes before a pair is there, with it, in its runs, after them and after it."""
    shape, plan = bench.plan.shapes[0], bench.plan
    bench.release()
    rows = [{"when": "before", **bytes_now(bench.device)}]
    pair = bench.shaped(shape, path)
    give_back()
    rows.append({"when": "pair loaded", **bytes_now(bench.device)})
    settings = DecodeSettings(threshold=0.5, max_new_tokens=plan.n_written)
    router = bench.spread(pair, SHARE, plan.n_written)
    for number in range(N_RUNS):
        if number and turn.is_over():
            break
        events = decode(pair, router, prompt_of(pair, plan.n_prompt), settings)
        for _ in itertools.islice(events, plan.n_written - 1):
            pass
        next(events)  # its caches are there until it is asked for more
        rows.append({"when": f"run {number + 1}, last token", **bytes_now(bench.device)})
        events.close()
        del events
        give_back()
        rows.append({"when": f"after run {number + 1}", **bytes_now(bench.device)})
    del pair, router
    bench.release()
    rows.append({"when": "pair freed", **bytes_now(bench.device)})
    estimated = model_bytes(shape.slm, plan.dtype) + model_bytes(shape.llm, plan.dtype)
    return {"pair": shape.name, "path": path.name, "note": path.note, "estimated_bytes": estimated, "rows": rows}


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
