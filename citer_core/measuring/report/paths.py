"""The ways in which a pair can be decoded on a device, each of which a report measures beside the others.

Knows nothing about what is measured. A new switch of the decoder is one more row here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from citer_core.models.static_step import Capture, Outputs, cuda_graph

EAGER, GRAPHS, COMPILED = "eager", "graphs", "compiled"


@dataclass(frozen=True, slots=True)
class DecodePath:
    """A way.

    Attributes:
        name: for the report.
        capture: of single tokens; None computes them anew.
        note: what a reader has to know of it.
    """

    name: str
    capture: Capture | None = None
    note: str = ""


def paths_for(device: str) -> tuple[DecodePath, ...]:
    """The ways that are always measured."""
    if device.startswith("cuda"):
        return DecodePath(EAGER), DecodePath(GRAPHS, cuda_graph)
    stand_in = "no graph: the same static step, computed again"
    return DecodePath(EAGER), DecodePath(GRAPHS, computed_again, stand_in)


def compiled_path(device: str) -> DecodePath:
    """`torch.compile` under the graph, or without any compiler's work where there is no GPU."""
    if device.startswith("cuda"):
        return DecodePath(COMPILED, lambda compute: cuda_graph(torch.compile(compute)))
    traced: Callable[[Any], Any] = torch.compile(backend="eager")
    return DecodePath(COMPILED, lambda compute: computed_again(traced(compute)), "traced, but not compiled")


def computed_again(compute: Callable[[], Outputs]) -> tuple[Callable[[], object], Outputs]:
    """In place of a graph where none can be had: the same computation into the tensors of the first time."""
    outputs = compute()

    def replay() -> None:
        for old, new in zip(outputs, compute(), strict=True):
            old.copy_(new)

    return replay, outputs
