"""`Captured`: a computation that can be done again on the same memory; on an NVIDIA GPU as one CUDA graph.

A pass of few tokens on a GPU waits for the starting of hundreds of small operations; a graph starts them all at once.
On a CPU the computation is simply called again, so that everything but the capture itself is the same there. Knows
nothing about models. Called by `seat`.
"""

from __future__ import annotations

import threading
import weakref
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

import torch

from citer_core.errors import PairError

N_WARM_UP = 3  # libraries choose their kernels in the first calls, which a graph must not contain
_capturing = threading.Lock()

Captured = Callable[[], None]


class Capture(Protocol):
    """Makes a computation repeatable."""

    def __call__(self, compute: Callable[[], None]) -> Captured:
        """What does the computation again. It is also done now, a few times perhaps.

        Args:
            compute: reads and writes tensors that stay where they are; gives the same when it is done twice, asks the
                host nothing, and sends it nothing.

        Raises:
            RuntimeError: it cannot be captured.
        """


def capture_for(device: torch.device) -> Capture:
    """What captures on this device; with memory of its own on a GPU, so each cache should have its own."""
    return CudaCapture(device) if device.type == "cuda" else call_again


def may_capture(device: str, *, cuda_graphs: bool) -> bool:
    """Whether the passes of a pair that is to be loaded on this device are replayed: where that is wanted.

    Raises:
        PairError: it is, and there is no NVIDIA GPU.
    """
    if cuda_graphs and not (torch.cuda.is_available() and device.startswith("cuda")):
        raise PairError(
            f"--cuda-graphs needs an NVIDIA GPU, and this pair is to be loaded on {device}: use --device cuda on a "
            "machine that has one, or leave it out."
        )
    return cuda_graphs


def call_again(compute: Callable[[], None]) -> Captured:
    """The computation itself."""
    compute()
    return compute


class OwnStream:
    """A stream of a CUDA device that nothing else uses while this object is there.

    Streams are lent again, because what a library keeps for a stream it keeps for good: cuBLAS 32 MiB on an H200.

    Attributes:
        stream: the stream.
    """

    _idle: ClassVar[defaultdict[torch.device, list[torch.cuda.Stream]]] = defaultdict(list)

    def __init__(self, device: torch.device) -> None:
        idle = self._idle[device]
        try:
            self.stream = idle.pop()
        except IndexError:
            self.stream = torch.cuda.Stream(device)
        weakref.finalize(self, idle.append, self.stream)


class CudaCapture:
    """Captures graphs that share one pool of memory, so they must not be replayed side by side.

    A pool is shared safely only because no graph leaves anything in it that is read after another one was replayed:
    what comes out of a computation is copied into tensors from outside.

    Args:
        device: a CUDA device.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        # Warmed up and captured on one stream of our own: its workspaces are then shared with no other cache's graphs.
        self._own = OwnStream(device)
        self._pool = torch.cuda.graph_pool_handle()

    def __call__(self, compute: Callable[[], None]) -> Captured:
        """See `Capture`. One at a time in this process; other threads may go on using the device meanwhile."""
        with _capturing, torch.cuda.device(self._device):
            current, stream = torch.cuda.current_stream(), self._own.stream
            stream.wait_stream(current)
            with torch.cuda.stream(stream):
                for _ in range(N_WARM_UP):
                    compute()
            current.wait_stream(stream)
            graph = torch.cuda.CUDAGraph()
            # The outer context puts the thread back on its stream also where a capture fails, which torch's does not.
            with (
                torch.cuda.stream(current),
                torch.cuda.graph(graph, pool=self._pool, stream=stream, capture_error_mode="thread_local"),
            ):
                compute()
        return _Graph(graph, self._device, compute, self._own)


@dataclass(frozen=True, slots=True)
class _Graph:
    graph: torch.cuda.CUDAGraph
    device: torch.device
    # A graph knows addresses, not tensors. This holds what it reads: tables, the mask's numbers, the cache's memory.
    compute: Callable[[], None]
    own: OwnStream  # the products of the graph use its workspaces

    def __call__(self) -> None:
        with torch.cuda.device(self.device):
            self.graph.replay()
