"""The rows that the command `evaluate` keeps, read back: one operating point each. Computes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from citer_core.errors import DatasetError, GateError
from citer_core.evidence.part_tables import COUNT, HEX, SHARE
from citer_core.evidence.statistics import unpack
from citer_core.gate.fields import Maybe, Real, Record, Text, Whole
from citer_core.gate.json_file import read_json_lines
from citer_core.workload import WORKLOAD

ACCURACY = Record({"n": Whole(1, 10**6), "n_correct": Whole(0, 10**6)})
_POINT = Record(
    {
        "router": Text(100, 1),
        "threshold": SHARE,
        "accuracy": ACCURACY,
        "n_tokens": Whole(1),
        "llm_token_share": SHARE,
        **dict.fromkeys(("n_bytes", "flops"), Real(0.0, 1e30)),
        "bytes_share": Real(0.0, 100.0),
        "measured_s": Maybe(Real(0.0, 1e9)),  # none where the process was paused in between
        "date": Text(10, 10),
        "hardware": Text(500, 1),
    },
    {"n_cut": Maybe(COUNT), "right": Maybe(HEX), "work": WORKLOAD},
)


def evaluated_points(path: Path) -> list[dict[str, Any]]:
    """The points of a file; `right` is an [n] bool array, problem by problem, or None where that was not kept.

    `measured_s` is None where it was not measured.

    Raises:
        DatasetError: the file is missing or damaged.
    """
    points = []
    try:
        for number, line in read_json_lines(path):
            point = dict(_POINT.read(line, f"line {number}"))
            right = point.get("right")
            point["right"] = unpack(right, point["accuracy"]["n"]) if right else None
            points.append(point)
    except (GateError, ValueError) as error:
        raise DatasetError(f"{path.name} cannot be read ({error}): restore it.") from error
    return points
