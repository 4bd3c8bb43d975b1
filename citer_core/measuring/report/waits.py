"""How often the host waits for the device while a token is decided, and where: counted, not timed.

torch warns of each operation that makes the host wait; the warnings name the line of ours. It does not warn of the
mailboxes of replayed passes, which wait for an event and count that themselves. Called by `order`.
"""

from __future__ import annotations

import itertools
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

import citer_core
from citer_core.measuring.report.bench import Bench
from citer_core.measuring.report.budget import Turn
from citer_core.measuring.report.paths import paths_for
from citer_core.measuring.report.shapes import prompt_of
from citer_core.models.mailbox import Mailbox
from citer_core.routing.decode import decode
from citer_core.types import DecodeSettings

WARNING = "synchronizing CUDA operation"
N_BEFORE = 12  # tokens before it counts: caches have room by then
ROOT = Path(citer_core.__file__).parent.parent


def count_waits(bench: Bench, turn: Turn) -> dict[str, Any]:
    """Waits of a token, in each way of decoding and at each share; None where there is no device to wait for."""
    shape, plan = bench.plan.shapes[0], bench.plan
    rows = list[dict[str, Any]]()
    for path, share in itertools.product(paths_for(str(bench.device)), plan.shares):
        if rows and turn.is_over():
            break
        pair = bench.shaped(shape, path)
        router = bench.spread(pair, share, plan.n_written)
        settings = DecodeSettings(threshold=0.5, max_new_tokens=plan.n_written)
        prompt = prompt_of(pair, plan.n_prompt)
        if path.graphs is not None:
            list(decode(pair, router, prompt, settings))  # a run makes what the next one replays
        events = decode(pair, router, prompt, settings)
        for _ in itertools.islice(events, min(N_BEFORE, plan.n_written // 2)):
            pass
        with counted(is_gpu=bench.is_gpu) as places:
            counted_events = list(events)
        n_tokens = len(counted_events)
        rows.append(
            {
                "path": path.name,
                "asked_share": share,
                "n_tokens": n_tokens,
                "n_llm_tokens": sum(event.source == "llm" for event in counted_events),
                "n_waits": places.total() if bench.is_gpu else None,
                "waits_per_token": places.total() / n_tokens if bench.is_gpu else None,
                "places": dict(places.most_common(8)),
            }
        )
    return {"pair": shape.name, "dtype": plan.dtype, "rows": rows}


@contextmanager
def counted(*, is_gpu: bool) -> Iterator[Counter[str]]:
    """Counts, by the line that waited, what torch warns of until the block ends; nothing without a GPU.

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
