"""`StaticStep`: the pass of one token with every tensor where it was, so that a GPU can replay it as one CUDA graph.

A small model's step on a GPU waits for the starting of hundreds of small operations; a graph starts them all at once.
The arithmetic is that of the fused pass, but for attention over the whole room of the cache with the unwritten part
hidden. What is particular to a GPU is `cuda_graph` alone; with another `Capture` the same step runs on a CPU.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import torch
from torch import Tensor

from citer_core.errors import PairError
from citer_core.models.fused_decoder import FusedDecoder
from citer_core.models.kv_cache import KVCache

Outputs = tuple[Tensor, Tensor]
# From a computation without arguments to a function that does it again, and where its outputs then are.
Capture = Callable[[Callable[[], Outputs]], tuple[Callable[[], object], Outputs]]
N_WARM_UP = 3  # libraries choose their kernels in the first calls, which a graph must not contain
_capturing = threading.Lock()


class StaticStep:
    """One token after another into one cache, for as long as the cache keeps its room.

    Args:
        decoder: the fused pass.
        logits_of: [1, V] of hidden states [1, H].
        cache: with room for the next token; the step is tied to its present memory, and not to the object.
        capture: makes the computation repeatable.

    Raises:
        RuntimeError: it cannot be captured.
    """

    def __init__(
        self, decoder: FusedDecoder, logits_of: Callable[[Tensor], Tensor], cache: KVCache, capture: Capture
    ) -> None:
        self.capacity = cache.capacity
        device = decoder.device
        self._ids = torch.zeros(1, dtype=torch.long, device=device)
        self._position = torch.full((1,), cache.length, dtype=torch.long, device=device)
        tables = decoder.rope_tables(self.capacity)
        attention = cache.static_attention()

        def compute() -> Outputs:
            cos, sin = (table.index_select(0, self._position) for table in tables)
            hidden = decoder.blocks_forward(self._ids, cos, sin, attention(self._position))
            return logits_of(hidden), hidden

        # Kept, because it holds what a graph reads where it lies: the tables, the mask's numbers, the cache's memory.
        self._compute = compute
        with _capturing:
            self._replay, self._outputs = capture(compute)

    def __call__(self, ids: Tensor, cache: KVCache) -> Outputs:
        """Logits [1, V] and hidden state [1, H] after one more token.

        Args:
            ids: [1] int64 on the device.
            cache: the one that this was made for; extended in place. It is handed over each time, because a step that
                held it would keep its memory when the run is over.
        """
        assert cache.length < cache.capacity == self.capacity, "the cache is full, or has moved"
        self._ids.copy_(ids)
        self._position.fill_(cache.length)
        cache.length += 1
        self._replay()
        logits, hidden = self._outputs
        return logits.clone(), hidden.clone()  # the next step writes over them


def capture_for(device: str, *, cuda_graphs: bool) -> Capture | None:
    """What makes the steps of a model on this device repeatable, if that is wanted.

    Raises:
        PairError: it is, and there is no NVIDIA GPU.
    """
    if not cuda_graphs:
        return None
    if not torch.cuda.is_available() or not device.startswith("cuda"):
        raise PairError(
            f"--cuda-graphs needs an NVIDIA GPU, and this pair is to be loaded on {device}: use --device cuda on a "
            "machine that has one, or leave it out."
        )
    return cuda_graph


def cuda_graph(compute: Callable[[], Outputs]) -> tuple[Callable[[], object], Outputs]:
    """Captures a computation on the current GPU; others may go on using it meanwhile."""
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(N_WARM_UP):
            compute()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        outputs = compute()
    return graph.replay, outputs
