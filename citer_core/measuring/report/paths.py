"""The ways in which a pair can be decoded on a device, each of which a report measures beside the others.

Knows nothing about what is measured. A new switch of the decoder is one more row here.
"""

from __future__ import annotations

from dataclasses import dataclass

from citer_core.models.captured import GraphPlan

EAGER, GRAPHS, COMPILED = "eager", "graphs", "compiled"
STAND_IN = "no graph: the same passes, computed again on the same memory"


@dataclass(frozen=True, slots=True)
class DecodePath:
    """A way.

    Attributes:
        name: for the report.
        graphs: how passes are replayed; None computes them anew.
        note: what a reader has to know of it.
    """

    name: str
    graphs: GraphPlan | None = None
    note: str = ""


def paths_for(device: str) -> tuple[DecodePath, ...]:
    """The ways that everything is measured in."""
    return DecodePath(EAGER), DecodePath(GRAPHS, GraphPlan(), _note(device))


def switched_paths(device: str) -> tuple[DecodePath, ...]:
    """Graphs with one switch turned at a time: what the device decides. Tokens and runs of one pair are measured."""
    plans = {
        "products": GraphPlan(attention="products"),
        "whole room": GraphPlan(stepped=False),
        "chunks": GraphPlan(longest=64),
        "in turn": GraphPlan(ahead=False),
    }
    return tuple(DecodePath(f"{GRAPHS}, {name}", plan, _note(device)) for name, plan in plans.items())


def compiled_path(device: str) -> DecodePath:
    """`torch.compile` under the graph of a single token, or without any compiler's work where there is no GPU."""
    if device.startswith("cuda"):
        return DecodePath(COMPILED, GraphPlan(widths=(1,), longest=1, compiler="inductor"))
    return DecodePath(COMPILED, GraphPlan(widths=(1,), longest=1, compiler="eager"), "traced, but not compiled")


def _note(device: str) -> str:
    return "" if device.startswith("cuda") else STAND_IN
