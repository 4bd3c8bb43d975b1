"""How many threads compute a pair's passes on a processor: measured, because more are often slower.

In a small model they wait for each other longer than they work, and where other programs keep the cores busy each of
them waits for its turn in every single product: on two busy cores the bundled pair has been seen at 9 tokens/s with two
threads and at 1,646 with one. Called when a pair is loaded.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Self

import torch
from transformers import PreTrainedModel

from citer_core.config import wanted_threads
from citer_core.hardware import cpu_budget

log = logging.getLogger(__name__)
SMALL_BYTES = 64 << 20  # of weights in both models, up to which one thread is the fastest
CLEARLY_FASTER = 1.15  # less than this is no reason to keep another core busy
SAMPLE = 2048  # rows and columns of a matrix
N_MATRICES, N_ROUNDS = 6, 4
ROWS_FOR_THREADS = 8  # of a batch, from which on more threads are taken
CHECK_S = 0.1  # between two looks at the CPU seconds while there are more threads
AGAIN_S = 2.0  # until more are tried again
OWN_CORES = 0.9  # of the threads' time, from which on their cores are this process's own


@dataclass(frozen=True, slots=True)
class ThreadChoice:
    """A number of threads, and the reason.

    Attributes:
        of_batches: the most that a batch may take instead; None where the number stands, because a person has chosen it
            or a measurement has.
    """

    n_threads: int
    why: str
    of_batches: int | None = None


def choose_threads(n_bytes: int, budget: int, measure: Callable[[int], float]) -> ThreadChoice:
    """The rule.

    Args:
        n_bytes: of both models' weights, as far as they are on the processor.
        budget: cores that this process may keep busy.
        measure: seconds of the same work with a number of threads; asked only where it decides.
    """
    if budget == 1:
        return ThreadChoice(1, "there is one core for this process")
    if n_bytes <= SMALL_BYTES:
        return ThreadChoice(1, "the models are so small that threads would wait for each other", 2 if n_bytes else None)
    candidates = sorted({1, budget, max(1, budget // 2)})
    seconds = {n: measure(n) for n in candidates}
    best = 1
    for n in candidates[1:]:
        if seconds[best] > CLEARLY_FASTER * seconds[n]:
            best = n
    times = ", ".join(f"{1000 * seconds[n]:.1f} ms with {n}" for n in seconds)
    return ThreadChoice(best, f"the same products took {times}")


def use_threads(models: Iterable[PreTrainedModel], wanted: int | None) -> ThreadChoice:
    """Chooses, and sets it for this process.

    Args:
        models: that will compute, loaded.
        wanted: what a person asks for, by `PairOptions.threads`; else OMP_NUM_THREADS stands where it is set.
    """
    if wanted is not None:
        choice = ThreadChoice(wanted, "as asked for")
    elif (limit := wanted_threads()) is not None:
        choice = ThreadChoice(torch.get_num_threads(), f"OMP_NUM_THREADS is {limit}")
    else:
        here = [parameter for model in models for parameter in model.parameters() if parameter.device.type == "cpu"]
        n_bytes = sum(parameter.nbytes for parameter in here)
        dtype = here[0].dtype if here else torch.float32
        choice = choose_threads(n_bytes, cpu_budget(), lambda n: seconds_with(n, dtype))
    torch.set_num_threads(choice.n_threads)
    log.info("threads: %d, %s", choice.n_threads, choice.why)
    return choice


@torch.inference_mode()
def seconds_with(n_threads: int, dtype: torch.dtype) -> float:
    """Seconds in which one token passes through some layers with so many threads.

    The mean of a few rounds, not the fastest: what others take from this process is what is asked about.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(n_threads)
    try:
        layers = [torch.full((SAMPLE, SAMPLE), 1 / SAMPLE, dtype=dtype).t() for _ in range(N_MATRICES)]
        token = torch.ones(1, SAMPLE, dtype=dtype)
        start = 0.0
        for number in range(N_ROUNDS + 1):
            if number == 1:  # the first round starts the threads
                start = time.perf_counter()
            for layer in layers:
                torch.mm(token, layer)
        return (time.perf_counter() - start) / N_ROUNDS
    finally:
        torch.set_num_threads(before)


class BatchThreads:
    """Takes more threads while this process is given their cores; a context, after which all is as before.

    In a batch of a small pair on an idle machine two threads are up to half as fast again as one; beside other programs
    they have been seen seven times slower. The process's own CPU seconds tell which it is (1.98 to 2.00 a second on two
    idle cores, 0.98 beside a program with two threads). Belongs to the thread that computes.

    Args:
        most: threads to take; None changes nothing.
        now, cpu_seconds: clocks.
    """

    def __init__(
        self,
        most: int | None,
        *,
        now: Callable[[], float] = time.perf_counter,
        cpu_seconds: Callable[[], float] = time.process_time,
    ) -> None:
        self._most, self._now, self._cpu_seconds = most, now, cpu_seconds

    def __enter__(self) -> Self:
        self._before = torch.get_num_threads()
        self._look(self._most or self._before)
        return self

    def __exit__(self, *_: object) -> None:
        torch.set_num_threads(self._before)

    def _look(self, n_threads: int) -> None:
        torch.set_num_threads(n_threads)
        self._n_threads, self._seen, self._cpu = n_threads, self._now(), self._cpu_seconds()

    def refresh(self) -> None:
        """Looks, if it is time; to be called between two passes."""
        passed, has_more = self._now() - self._seen, self._n_threads != self._before
        if self._most is None or passed < (CHECK_S if has_more else AGAIN_S):
            return
        has_cores = self._cpu_seconds() - self._cpu >= OWN_CORES * self._n_threads * passed
        self._look(self._before if has_more and not has_cores else self._most)
