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
from citer_core.measuring.report import batches, correctness, decoding, facts, memory, passes, profiles, waits
from citer_core.measuring.report.bench import Bench
from citer_core.measuring.report.budget import Budget, Turn
from citer_core.measuring.report.folder import ReportFolder
from citer_core.measuring.report.paths import paths_for
from citer_core.measuring.report.shapes import PairShape
from citer_core.system_memory import give_back

logger = logging.getLogger(__name__)
Work = Callable[[Turn], dict[str, Any]]
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
    work: Work


@dataclass(frozen=True, slots=True)
class Told:
    """What became of a step; `why` where it failed."""

    step: Step
    outcome: Outcome
    seconds: float = 0.0
    why: str = ""


def steps_of(bench: Bench, command: str) -> list[Step]:
    """All of them, in the order in which they matter. Those of one pair and way stand together: it is made once."""
    plan = bench.plan
    eager, *others = paths_for(str(bench.device))
    best = others[-1] if others else eager
    ways = (eager, *others)
    return [
        Step("device", "facts", 1, _bound(facts.device_facts, bench)),
        *[Step("correctness", f"tokens, {way.name}", 8, _bound(correctness.check_tokens, bench, way)) for way in ways],
        Step("correctness", "batches", 3, _bound(correctness.check_batches, bench)),
        Step("correctness", "readings", 3, _bound(correctness.check_readings, bench)),
        *_speed_steps(bench, plan.shapes[0], 6),
        Step("waits", "waits", 1, _bound(waits.count_waits, bench)),
        Step("profile", "shape", 4, _bound(profiles.profile_shape, bench, plan.shapes[0], best, command)),
        Step("profile", "bundled", 3, _bound(profiles.profile_bundled, bench, best, command)),
        Step("batches", "batches", 4, _bound(batches.measure_batches, bench)),
        *[Step("runs", f"at once, {way.name}", 2, _bound(batches.measure_runs, bench, way)) for way in ways],
        *[Step("memory", way.name, 1, _bound(memory.watch_memory, bench, way)) for way in ways],
        *[step for shape in plan.shapes[1:] for step in _speed_steps(bench, shape, 3)],
    ]


def _speed_steps(bench: Bench, shape: PairShape, weight: float) -> list[Step]:
    eager, *others = paths_for(str(bench.device))
    steps = []
    for way in (*others, eager):
        made = (bench, shape, way)
        steps += [
            Step("speed", f"{shape.name}: passes, {way.name}", weight, _bound(passes.measure_passes, *made)),
            Step("speed", f"{shape.name}: runs, {way.name}", weight, _bound(decoding.measure_routed, *made)),
        ]
    references = _bound(decoding.measure_references, bench, shape, eager)
    return [*steps, Step("speed", f"{shape.name}: references", weight, references)]


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
    budget = Budget(seconds, [step.weight for step in steps if not folder.is_done(step.part, step.name)])
    for step in steps:
        if folder.is_done(step.part, step.name):
            yield Told(step, "kept")
            continue
        turn = budget.next_turn()
        if turn is None:
            yield Told(step, "dropped")
            continue
        yield Told(step, "begun")
        start = time.monotonic()
        try:
            result = step.work(turn)
        except MachineError:
            raise
        except Exception as error:
            logger.debug("a step of the report failed", exc_info=error)
            seconds_taken, why = time.monotonic() - start, _why(error)
            folder.store(step.part, step.name, {"error": why}, seconds_taken)
            yield Told(step, "failed", seconds_taken, why)
            del error
            _give_back()  # what the failed step held went with its error
            continue
        taken = time.monotonic() - start
        folder.store(step.part, step.name, result, taken)
        yield Told(step, "done", taken)


def _bound(work: Callable[..., dict[str, Any]], *given: Any) -> Work:
    return lambda turn: work(*given, turn)


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
