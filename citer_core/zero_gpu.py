"""Hugging Face's ZeroGPU: a GPU that a Space holds only while a decorated function runs, in a process of its own.

Used only where the host says that it is ZeroGPU; the package `spaces` is on all Spaces. The models move there to the
device once, when they are loaded in the main process, and each run asks for the GPU for as long as it may take. What
goes in and out must be picklable. Imports neither torch nor `spaces` by itself. Called by `app` and by
`citer_core.engine`.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from types import ModuleType
from typing import Any

from citer_core.config import is_zero_gpu

# Seconds on the device, for a pair of billions of parameters; an upper estimate, not a measurement: a run that outlives
# its time is killed, one that asks for too much waits longer in the queue.
START_S, SLM_TOKEN_S, LLM_TOKEN_S = 10.0, 0.03, 0.09
SHORTEST_S, LONGEST_S = 15, 120


def spaces_module() -> ModuleType | None:
    """The package `spaces` on ZeroGPU, and None everywhere else.

    Spaces have the package on every hardware, a processor alone included, where it must not make us look for a GPU.
    """
    if not is_zero_gpu() or importlib.util.find_spec("spaces") is None:
        return None
    return importlib.import_module("spaces")


def gpu_seconds(max_new_tokens: int, llm_share: float = 1.0) -> int:
    """Seconds of GPU to ask for, an upper estimate.

    Args:
        max_new_tokens: of the request.
        llm_share: of its tokens that the LLM may write, in [0, 1]; 1 where it is unknown.
    """
    seconds = START_S + max_new_tokens * (SLM_TOKEN_S + min(1.0, max(0.0, llm_share)) * LLM_TOKEN_S)
    return round(min(LONGEST_S, max(SHORTEST_S, seconds)))


def on_gpu(work: Callable[..., Any], seconds: Callable[..., int]) -> Callable[..., Any]:
    """`work` with the GPU on ZeroGPU, and `work` itself everywhere else.

    Args:
        work: a function or generator function.
        seconds: how long it may take, from the same arguments.
    """
    spaces = spaces_module()
    if spaces is None:
        return work
    decorated: Callable[..., Any] = spaces.GPU(duration=seconds)(work)
    return decorated
