"""`embedded`: makes the bundled pair and all that ships with it, step by step; each step resumes or starts over."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable
from pathlib import Path

from citer_core.assets import ASSETS
from citer_core.cli.command import command, option

PLANS = ASSETS / "datasets" / "recorded-embedded.jsonl"
STEPS = {
    "slm": "train the small model (resumes) and write it to assets/models",
    "llm": "train the large model (resumes) and write it to assets/models",
    "problems": "write the held-out problems to assets/datasets",
    "lab": "write the problems of the page's Lab to assets/datasets",
    "card": "measure both models alone on 1,000 unseen problems of each format",
    "router": "label (resumes), train the routers that ship, choose each one's tau and measure it",
    "record": "record the runs that the page plays from disk",
    "hashes": "write SHA-256 of every shipped file into its card",
}


@command(
    "embedded",
    "make the bundled pair, its router and its recorded runs again",
    "Makes the bundled pair again, from its generator to its recorded runs.",
    option("step STEP", "one or more steps, or all", nargs="+", choices=(*STEPS, "all")),
    option("--work-dir DIR", "checkpoints and labels", Path(".training")),
    epilog="steps, in this order:\n" + "\n".join(f"  {name:10}{text}" for name, text in STEPS.items()),
)
def embedded(args: argparse.Namespace) -> None:
    """Runs the chosen steps in their order."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    from citer_core.embedded import publish
    from citer_core.embedded.names import publish_hashes
    from citer_core.engine import Engine
    from citer_core.evidence.shipped_routers import publish_lab_problems, publish_routers
    from citer_core.recording import read_plans, record

    actions: dict[str, Callable[[], object]] = {
        "slm": lambda: publish.publish_model("slm", args.work_dir),
        "llm": lambda: publish.publish_model("llm", args.work_dir),
        "problems": publish.publish_problems,
        "lab": publish_lab_problems,
        "card": lambda: publish.publish_pair_card(args.work_dir),
        "router": lambda: publish_routers(args.work_dir),
        "record": lambda: list(record(Engine.load(), read_plans(PLANS), ASSETS / "traces")),
        "hashes": publish_hashes,
    }
    for step, action in actions.items():
        if step in args.step or "all" in args.step:
            action()
