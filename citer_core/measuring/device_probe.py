"""Measures a device and a model on it: copy bandwidth, peak of matrix products, time of forward passes.

Every number is a median over rounds in which all contenders take their turn, because a shared machine wanders. Reading
one number of each result waits for the device, as decoding does. On one thread of a processor the thread's own time is
taken, which does not count while other programs have the core; everywhere else it is the wall-clock time. Knows
nothing about routing.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial

import torch

from citer_core.measuring.step_cost import Clock, PassTime
from citer_core.models.language_model import LanguageModel

MIB = 2**20

# Data sheets' memory bandwidth in bytes/s, by a part of the name that torch gives; the first that fits is taken.
DATA_SHEETS = {
    "H200": 4.8e12,
    "H100 NVL": 3.9e12,
    "H100 PCIe": 2.0e12,
    "H100": 3.35e12,
    "A100-SXM4-80GB": 2.039e12,
    "A100-PCIE-40GB": 1.555e12,
    "A100-SXM4-40GB": 1.555e12,
    "L40S": 864e9,
    "L4": 300e9,
    "A10G": 600e9,
    "T4": 320e9,
    "RTX 4090": 1008e9,
    "RTX 3090": 936e9,
}


def data_sheet_bandwidth(device_name: str) -> float | None:
    """Bytes/s as the vendor states them; None for a device that is not in the list (processors depend on the board)."""
    return next((bandwidth for part, bandwidth in DATA_SHEETS.items() if part in device_name), None)


def clock_for(device: torch.device) -> tuple[Clock, Callable[[], float]]:
    """The clock that measures work on a device, and its name: `thread` or `wall`."""
    if device.type == "cpu" and torch.get_num_threads() == 1:
        return "thread", time.thread_time
    return "wall", time.perf_counter


class AloneText:
    """A text that one model reads on, in the way in which the model's runs are decoded.

    Args:
        lm: replayed or not.
        n_positions: of the text, at most.
    """

    def __init__(self, lm: LanguageModel, n_positions: int) -> None:
        self._lm, self._n_read = lm, 0
        self._lent = ExitStack()  # given back when this goes
        self._seat = self._lent.enter_context(lm.seat(n_positions))
        self._cache = lm.new_cache()

    def feed(self, ids: Sequence[int]) -> torch.Tensor:
        """[1, V] behind these tokens."""
        is_first, self._n_read = self._n_read == 0, self._n_read + len(ids)
        if self._seat is None:
            return self._lm.forward([ids], self._cache)[0]
        if is_first:
            self._seat.read(ids)
        else:
            self._seat.feed(ids)
        return self._seat.logits

    def rewind(self, n_tokens: int) -> None:
        """Forgets all but the first ones."""
        self._n_read = n_tokens
        if self._seat is not None:
            self._seat.rewind(n_tokens)
        else:
            self._cache.truncate(0, n_tokens)


def seconds_of(work: Callable[[], torch.Tensor], n_rounds: int) -> float:
    """Median seconds of `work`, whose result is waited for; once more before, not counted."""
    return statistics.median([_timed(work) for _ in range(n_rounds + 1)][1:])


def _timed(work: Callable[[], torch.Tensor]) -> float:
    # The device of the result is known when the work is done; both clocks are read before, which takes no time.
    on_wall, on_thread = time.perf_counter(), time.thread_time()
    result = work()
    result.view(-1)[0].item()
    name, clock = clock_for(result.device)
    return clock() - (on_thread if name == "thread" else on_wall)


@torch.inference_mode()
def copy_bandwidth(device: torch.device, n_bytes: int, n_rounds: int) -> float:
    """Bytes read and written per second by a copy of `n_bytes`, repeated until it takes a while."""
    source = torch.ones(max(1, n_bytes // 4), device=device)
    target = torch.empty_like(source)
    n_copies = max(1, 32 * MIB // n_bytes)

    def copies() -> torch.Tensor:
        for _ in range(n_copies):
            target.copy_(source)
        return target

    return 2 * source.nbytes * n_copies / seconds_of(copies, n_rounds)


@torch.inference_mode()
def peak_flops(device: torch.device, dtype: torch.dtype, n_rounds: int, size: int = 0) -> float:
    """FLOP/s of a square matrix product in the models' dtype, large enough to hide its own start."""
    size = size or (8192 if device.type == "cuda" else 768)
    a = torch.ones(size, size, device=device, dtype=dtype)
    b = torch.full_like(a, 0.5)
    return 2 * size**3 / seconds_of(lambda: torch.mm(a, b), n_rounds)


@torch.inference_mode()
def pass_times(
    models: Mapping[str, LanguageModel],
    n_new: Sequence[int],
    n_cached: Sequence[int],
    n_rounds: int,
    seed: int = 0,
    *,
    n_warm_up: int = 1,
) -> Iterator[dict[str, list[PassTime]]]:
    """Times forward passes of one sequence.

    The models take turns pass by pass, as they do in routing: each finds a processor's caches full of the other's
    weights. By itself a small model is faster than it will ever be beside a large one.

    Args:
        models: by name, on one device.
        n_new: numbers of tokens that a pass feeds.
        n_cached: context lengths in front of them.
        n_rounds: rounds that are counted.
        seed: of the tokens, which are drawn at random: what they say does not change the work.
        n_warm_up: rounds before them that are not; graphs are made meanwhile.

    Yields:
        After each round the passes of each model with their medians so far; the last one is the result.
    """
    generator = torch.Generator().manual_seed(seed)
    n_ids = max(n_cached) + max(n_new)
    ids = {name: torch.randint(lm.vocab_size, (n_ids,), generator=generator).tolist() for name, lm in models.items()}
    texts = {(name, n): AloneText(lm, n + max(n_new)) for name, lm in models.items() for n in n_cached}
    for (name, n), text in texts.items():
        text.feed(ids[name][:n])
    times: dict[tuple[str, int, int], list[float]] = {}
    for round_number in range(n_warm_up + n_rounds):
        is_counted = round_number >= n_warm_up
        for new, cached, name in itertools.product(n_new, n_cached, models):
            seconds = _timed(partial(texts[name, cached].feed, ids[name][cached : cached + new]))
            texts[name, cached].rewind(cached)
            if is_counted:
                times.setdefault((name, new, cached), []).append(seconds)
        if is_counted:
            yield {
                name: [PassTime(k, c, statistics.median(s)) for (owner, k, c), s in times.items() if owner == name]
                for name in models
            }
