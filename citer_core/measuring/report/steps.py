"""What a report measures, most important first, and the running of it within the minutes that there are.

A step that fails is noted with its reason and the next one begins; a step whose turn never comes is named. Called by
the command line.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import torch

from citer_core.errors import MachineError
from citer_core.gate.excerpt import clean
from citer_core.measuring.report import correctness, device, speed
from citer_core.measuring.report.bench import Bench, Case, Turn, paths_for
from citer_core.measuring.report.folder import ReportFolder
from citer_core.measuring.report.shapes import PairShape
from citer_core.system_memory import give_back

logger = logging.getLogger(__name__)
Outcome = Literal["begun", "done", "kept", "failed", "dropped"]
LONGEST_ERROR = 400  # characters of a failure that are kept


@dataclass(frozen=True, slots=True)
class Step:
    """One result of the report.

    Attributes:
        part, name: where it is kept.
        weight: of its time beside the others'.
        work: measures, and looks at its turn between rounds.
    """

    part: str
    name: str
    weight: float
    work: Callable[[Turn], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Told:
    """What became of a step; `why` where it failed."""

    step: Step
    outcome: Outcome
    seconds: float = 0.0
    why: str = ""


def steps_of(bench: Bench, command: str) -> list[Step]:
    """All of them, in the order in which they matter. Those of one pair and way stand together: it is made once."""
    _, graphs = ways = paths_for(str(bench.device))
    bundled, first = Case(bench), Case(bench, bench.plan.shapes[0])
    of_ways = [(way, Case(bench, None, way), Case(bench, first.shape, way)) for way in ways]

    def profile(case: Case, _turn: Turn) -> dict[str, Any]:
        return speed.measure_profile(case, command)

    return [
        _step("device", "facts", 1, device.device_facts, bundled),
        *(_step("correctness", f"tokens, {way.name}", 8, correctness.check_tokens, case) for way, case, _ in of_ways),
        _step("correctness", "batches", 3, correctness.check_batches, bundled),
        _step("correctness", "readings", 3, correctness.check_readings, bundled),
        *_speed_steps(bench, bench.plan.shapes[0], 6),
        _step("waits", "waits", 1, device.count_waits, first),
        _step("profile", "shape", 4, profile, Case(bench, first.shape, graphs)),
        _step("profile", "bundled", 3, profile, Case(bench, None, graphs)),
        _step("batches", "batches", 4, speed.measure_batches, first),
        *(_step("runs", f"at once, {way.name}", 2, speed.measure_runs, case) for way, _, case in of_ways),
        *(_step("memory", way.name, 1, device.watch_memory, case) for way, _, case in of_ways),
        *(step for shape in bench.plan.shapes[1:] for step in _speed_steps(bench, shape, 3)),
    ]


def _speed_steps(bench: Bench, shape: PairShape, weight: float) -> Iterator[Step]:
    eager, graphs = paths_for(str(bench.device))
    for way in (graphs, eager):
        case = Case(bench, shape, way)
        yield _step("speed", f"{shape.name}: passes, {way.name}", weight, speed.measure_passes, case)
        yield _step("speed", f"{shape.name}: runs, {way.name}", weight, speed.measure_routed, case)
    yield _step("speed", f"{shape.name}: references", weight, speed.measure_references, Case(bench, shape, eager))


def _step(part: str, name: str, weight: float, measure: Callable[[Case, Turn], dict[str, Any]], case: Case) -> Step:
    return Step(part, name, weight, lambda turn: case.about | measure(case, turn))


def run_steps(folder: ReportFolder, steps: list[Step], seconds: float) -> Iterator[Told]:
    """Does what is missing; what failed the last time comes last, as it may end the call again.

    Args:
        folder: where results are kept, and which has those of before.
        steps: in their order.
        seconds: in all.

    Yields:
        Before a step that begins, and what became of each.

    Raises:
        MachineError: a result could not be written, or the device takes no more work after a failure.
    """
    steps = sorted(steps, key=lambda step: "error" in (folder.result(step.part, step.name) or {}))
    whole = Turn(time.monotonic() + seconds)
    left = sum(step.weight for step in steps if not folder.is_done(step.part, step.name))
    for step in steps:
        if folder.is_done(step.part, step.name):
            yield Told(step, "kept")
        elif whole.is_over():
            yield Told(step, "dropped")
        else:
            yield Told(step, "begun")
            told = _done(step, whole.part(step.weight / left), folder)
            left -= step.weight
            yield told
            if told.outcome == "failed":
                _give_back()  # what the failed step held went with its error


def _done(step: Step, turn: Turn, folder: ReportFolder) -> Told:
    """Measures one and keeps the result, or why there is none."""
    start, why = time.monotonic(), ""
    try:
        result = step.work(turn)
    except MachineError:
        raise
    except Exception as error:
        logger.debug("a step of the report failed", exc_info=error)
        why = _why(error)
        result = {"error": why}
    seconds = time.monotonic() - start
    folder.store(step.part, step.name, result, seconds)
    return Told(step, "failed" if why else "done", seconds, why)


def _give_back() -> None:
    try:
        give_back()
    except RuntimeError as lost:
        raise MachineError(
            "After this failure the device takes no more work from this process. What was found before is kept: give "
            "the same command again; it goes on with the steps behind this one."
        ) from lost


def _why(error: Exception) -> str:
    if isinstance(error, torch.OutOfMemoryError):
        return "out of the device's memory"
    first_line = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {clean(first_line)[:LONGEST_ERROR]}"
