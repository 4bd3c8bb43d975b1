"""How many threads compute a pair's passes on a processor: measured, because more are often slower.

In a small model they wait for each other longer than they work, and where other programs keep the cores busy each of
them waits for its turn in every single product: on two busy cores the bundled pair has been seen at 9 tokens/s with two
threads and at 1,646 with one. Called when a pair is loaded.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
from transformers import PreTrainedModel

from citer_core.config import wanted_threads
from citer_core.hardware import cpu_budget

log = logging.getLogger(__name__)
SMALL_BYTES = 64 << 20  # of weights in both models, up to which one thread is the fastest
CLEARLY_FASTER = 1.15  # less than this is no reason to keep another core busy
SAMPLE = 2048  # rows and columns of a matrix
N_MATRICES, N_ROUNDS = 6, 4


@dataclass(frozen=True, slots=True)
class ThreadChoice:
    """A number of threads, and the reason.

    Attributes:
        is_for_size: nobody asked for it and nothing was measured: the models are small. Batches may choose another.
    """

    n_threads: int
    why: str
    is_for_size: bool = False


def choose_threads(n_bytes: int, budget: int, measure: Callable[[int], float]) -> ThreadChoice:
    """The rule.

    Args:
        n_bytes: of both models' weights.
        budget: cores that this process may keep busy.
        measure: seconds of the same work with a number of threads; asked only where it decides.
    """
    if budget == 1:
        return ThreadChoice(1, "there is one core for this process")
    if n_bytes <= SMALL_BYTES:
        return ThreadChoice(1, "the models are so small that threads would wait for each other", is_for_size=True)
    best, seconds = fastest_number(sorted({1, budget, max(1, budget // 2)}), measure)
    times = ", ".join(f"{1000 * seconds[n]:.1f} ms with {n}" for n in seconds)
    return ThreadChoice(best, f"the same products took {times}")


def fastest_number(candidates: Sequence[int], measure: Callable[[int], float]) -> tuple[int, dict[int, float]]:
    """The smallest number of threads that no larger one is clearly faster than, and the seconds of each.

    Args:
        candidates: rising.
        measure: seconds of the same work with a number of threads.
    """
    seconds = {n: measure(n) for n in candidates}
    best = candidates[0]
    for n in candidates[1:]:
        if seconds[best] > CLEARLY_FASTER * seconds[n]:
            best = n
    return best, seconds


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
