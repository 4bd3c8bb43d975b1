"""The ways in which a pair can be decoded on a device, each of which a report measures beside the others.

Knows nothing about what is measured.
"""

from __future__ import annotations

from dataclasses import dataclass

EAGER, GRAPHS = "eager", "graphs"
STAND_IN = "no graph: the same passes, computed again on the same memory"


@dataclass(frozen=True, slots=True)
class DecodePath:
    """A way.

    Attributes:
        name: for the report.
        graphs: whether passes are replayed; else they are computed anew.
        note: what a reader has to know of it.
    """

    name: str
    graphs: bool = False
    note: str = ""


def paths_for(device: str) -> tuple[DecodePath, ...]:
    """The ways that everything is measured in."""
    return DecodePath(EAGER), DecodePath(GRAPHS, graphs=True, note="" if device.startswith("cuda") else STAND_IN)
