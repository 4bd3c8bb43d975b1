"""`device-report`: all that is to be known of a device, most important first, as JSON that a cut leaves whole."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from citer_core.cli.command import Allowed, command, option, switch, typed
from citer_core.cli.terminal import say, text_table
from citer_core.errors import SettingError
from citer_core.file_lock import only_writer
from citer_core.large_import import large_import

if TYPE_CHECKING:
    from citer_core.measuring.report.shapes import ReportPlan
    from citer_core.measuring.report.steps import Told

MOST_MINUTES = 1440.0
EXIT_PROBLEMS = 1


@command(
    "device-report",
    "everything about this device, in one call",
    "Fills a folder with JSON: whether tokens are right on this device, how fast models of real sizes with random "
    "weights are in each way of decoding, waits, profile, batches, runs at once and memory. The most important comes "
    "first and each result is written as it is there; run it again to go on where it was cut.",
    option("--output-dir OUT", "up to eight JSON files go here", type=Path, required=True),
    option(
        "--minutes N",
        "what they do not suffice for is left out",
        25.0,
        allowed=Allowed(lambda n: 0 < n <= MOST_MINUTES, f"a number above 0, at most {MOST_MINUTES:,.0f}"),
    ),
    option("--device", "as torch names it (cuda where there is one, else cpu)"),
    switch("--tiny", "small shapes, to try everything out; always so on a processor"),
)
def device_report(args: argparse.Namespace) -> int:
    """Measures what is missing and says what was found; 1 where something failed or is wrong.

    Raises:
        CiterError: wrong arguments, or a folder that cannot be used.
    """
    with large_import("transformers"):
        import transformers  # noqa: F401 - the slow part
    import torch

    from citer_core.measuring.report.bench import Bench
    from citer_core.measuring.report.device import device_name
    from citer_core.measuring.report.folder import ReportFolder, about_here
    from citer_core.measuring.report.steps import run_steps, steps_of
    from citer_core.measuring.report.stored import problems

    device = torch.device(_device(args.device))
    asked = typed(args, "tiny")
    folder: Path = args.output_dir
    folder.parent.mkdir(parents=True, exist_ok=True)
    with only_writer(folder):
        report = ReportFolder(folder, about_here(str(device), device_name(device), asked))
        bench = Bench(str(device), _plan(str(device), tiny=args.tiny))
        for told in run_steps(report, steps_of(bench, asked), 60 * args.minutes):
            _tell(told)
        results = report.results()
    sys.stdout.write(_summary(results))
    return EXIT_PROBLEMS if problems(results) else 0


def _device(name: str | None) -> str:
    """The device that was named, or the best there is.

    Raises:
        SettingError: it is not there.
    """
    import torch

    has_gpu = torch.cuda.is_available()
    if name is None:
        return "cuda" if has_gpu else "cpu"
    if name == "cpu" or (name.startswith("cuda") and has_gpu):
        return name
    raise SettingError("--device cannot be used here: give cpu, or cuda on a machine with an NVIDIA GPU.")


def _plan(device: str, *, tiny: bool) -> ReportPlan:
    from citer_core.measuring.report.shapes import ReportPlan, real_shapes, tiny_plan
    from citer_core.system_memory import free_bytes

    if tiny or device == "cpu":
        return tiny_plan()
    shapes = real_shapes(free_bytes(device) or 0, ReportPlan(()).dtype)
    if not shapes:
        raise SettingError("No pair of a real size fits into this device's free memory: use --tiny, or end others.")
    return ReportPlan(shapes)


def _tell(told: Told) -> None:
    name = f"{told.step.part}, {told.step.name}"
    if told.outcome == "begun":
        say(f"      {name} ...")
    elif told.outcome == "done":
        say(f"{told.seconds:4.0f} s {name}")
    elif told.outcome == "failed":
        say(f"{told.seconds:4.0f} s {name}: FAILED, {told.why}")
    else:
        say(f"      {name}: {'there already' if told.outcome == 'kept' else 'left out, no time was left'}")


def _summary(results: dict[str, dict[str, dict[str, object]]]) -> str:
    from citer_core.measuring.report.stored import correctness_sentences, goal_sentences, problems, speed_table

    table = speed_table(results)
    blocks = [
        "\n".join(correctness_sentences(results)),
        f"{table.title}\n{text_table(table.head, table.rows)}" if table.rows else "",
        "\n".join(goal_sentences(results)),
        "\n".join(f"PROBLEM: {line}" for line in problems(results)),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"
