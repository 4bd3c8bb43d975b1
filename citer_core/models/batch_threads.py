"""More threads for passes of many rows while they help: measured again and again, as the machine gets busy or idle.

A small pair's passes are computed by one thread (`threads`), because beside other programs two have been seen seven
times slower. In a batch on an idle machine two are up to half as fast again. Which of the two it is changes while a
batch runs, so a few milliseconds of the batch's own kind of product are timed, and again after two seconds. All threads
are kept without that while the process is given their cores: its own CPU seconds say so for nothing (on 2 cores 1.98 to
2.00 a second on the idle machine, 0.98 beside a program with two threads), and a batch may be over in half a second.
Products of some numbers of rows and attention round otherwise with two threads than with one, so only work that need
not be repeated to the bit asks for this. Knows shapes, not models' meaning. Called by `decode_batch`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import TracebackType

import torch
from transformers import PreTrainedModel

from citer_core.hardware import cpu_budget
from citer_core.models.config_file import inner_size
from citer_core.models.threads import ThreadChoice, fastest_number

INTERVAL_S = 2.0  # between two measurements, at least
CHECK_S = 0.1  # between two looks at the CPU seconds
OWN_CORES = 0.9  # of the threads' time, from which on the cores are taken to be the batch's own
TRUSTED_S = 60.0  # longest without a measurement: what another virtual machine takes does not show in CPU seconds
SAMPLE_S = 0.01  # of one number of threads: longer than a busy system lets a thread run before another's turn
MOST_LOOKS = 2  # before fewer threads are taken: one in ten samples meets another program's turn on an idle machine
MOST_THREADS = 4  # more wait for each other longer than they work, in models for which one is the rule


@dataclass(slots=True)
class LatestChoice:
    """What was the fastest number of threads, and when that was measured (seconds of the watch's clock)."""

    n_threads: int = 1
    measured_at: float = -math.inf


@dataclass(frozen=True, slots=True)
class BatchThreads:
    """What a pair's batches may choose from.

    Attributes:
        candidates: numbers of threads, rising, the first of them 1.
        shape: numbers in and out of the largest product of a layer.
        dtype: of the weights.
        latest: the last choice of any batch: one that begins just after another need not measure again.
    """

    candidates: tuple[int, ...]
    shape: tuple[int, int]
    dtype: torch.dtype
    latest: LatestChoice = field(default_factory=LatestChoice, compare=False)

    @classmethod
    def of(cls, models: Iterable[PreTrainedModel], choice: ThreadChoice) -> BatchThreads | None:
        """For loaded models.

        Returns:
            None where there is nothing to choose: a person has chosen, a measurement has, or there is one core.
        """
        numbers = [n for n in (1, 2, MOST_THREADS) if n <= cpu_budget()]
        here = [model for model in models if model.device.type == "cpu"]
        if not choice.is_for_size or len(numbers) < 2 or not here:
            return None
        configs = [model.config.get_text_config(decoder=True) for model in here]
        widest = max(configs, key=lambda config: int(config.hidden_size))
        return cls(tuple(numbers), (int(widest.hidden_size), inner_size(widest)), here[0].dtype)


class ThreadWatch:
    """Holds the number of threads at what is fastest now; a context, after which it is what it was before.

    Belongs to the thread that computes.
    """

    def __init__(
        self,
        threads: BatchThreads | None,
        n_rows: int,
        *,
        measure: Callable[[BatchThreads, int, int, float], float] | None = None,
        now: Callable[[], float] = time.perf_counter,
        cpu_seconds: Callable[[], float] = time.process_time,
    ) -> None:
        self._threads = threads if n_rows > 1 else None
        self._n_rows, self._now, self._cpu_seconds = n_rows, now, cpu_seconds
        self._measure = measure or seconds_of_product
        self._seen: tuple[float, float] | None = None  # clock and CPU seconds at the last look

    def __enter__(self) -> ThreadWatch:
        self._before = torch.get_num_threads()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._threads is not None:
            torch.set_num_threads(self._before)

    def refresh(self) -> None:
        """Looks and chooses, if it is time; to be called between two passes."""
        threads, now = self._threads, self._now()
        if threads is None or (self._seen is not None and now < self._seen[0] + CHECK_S):
            return
        latest = threads.latest
        if not self._holds(latest, threads.candidates[-1], now):
            latest.n_threads = self._fastest_now(threads)
            latest.measured_at = now = self._now()
        torch.set_num_threads(latest.n_threads)
        self._seen = now, self._cpu_seconds()

    def _holds(self, latest: LatestChoice, most: int, now: float) -> bool:
        """Whether the last choice need not be measured again."""
        age = now - latest.measured_at
        if age < INTERVAL_S:
            return True
        if latest.n_threads < most or age >= TRUSTED_S:
            return False
        if self._seen is None:  # a batch has only begun: soon its CPU seconds will tell
            return True
        seen_at, cpu_before = self._seen
        return self._cpu_seconds() - cpu_before >= OWN_CORES * latest.n_threads * (now - seen_at)

    def _fastest_now(self, threads: BatchThreads) -> int:
        """Asks again before it gives cores up: a wrong answer costs a quarter of the speed for a whole interval."""
        n_fastest = threads.candidates[0]
        for _ in range(MOST_LOOKS):
            found, _ = fastest_number(threads.candidates, lambda n: self._measure(threads, n, self._n_rows, SAMPLE_S))
            n_fastest = max(n_fastest, found)
            if n_fastest == threads.candidates[-1]:
                break
        return n_fastest


@torch.inference_mode()
def seconds_of_product(threads: BatchThreads, n_threads: int, n_rows: int, sample_s: float) -> float:
    """Mean seconds of one product of `n_rows` rows with a matrix of `threads.shape`, by so many threads.

    Products are computed until `sample_s` seconds are over. Leaves the number of threads at `n_threads`.
    """
    torch.set_num_threads(n_threads)
    n_in, n_out = threads.shape
    rows = torch.ones(n_rows, n_in, dtype=threads.dtype)
    matrix = torch.full((n_in, n_out), 1 / n_in, dtype=threads.dtype)
    torch.mm(rows, matrix)  # starts the threads
    n_done, start = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - start) < sample_s or not n_done:
        torch.mm(rows, matrix)
        n_done += 1
    return elapsed / n_done
