"""How often the host waits for the device while a token is decided, and where: counted, not timed.

torch warns of each operation that makes the host wait; the warnings name the line of ours. It does not warn of the
mailboxes of replayed passes, which wait for an event and count that themselves. Called by `steps`.
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
from citer_core.measuring.report.bench import Case, paths_for
from citer_core.measuring.report.budget import Turn
from citer_core.models.mailbox import Mailbox
from citer_core.routing.decode import decode

WARNING = "synchronizing CUDA operation"
N_BEFORE = 12  # tokens before it counts: caches have room by then
ROOT = Path(citer_core.__file__).parent.parent


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
