"""Records the runs that the page plays from disk, on the bundled pair: `assets/traces/*.json` and their index."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from citer_core.assets import ASSETS
from citer_core.engine import Engine
from citer_core.tasks.problems import problem_from_text
from citer_core.tasks.prompts import DataType
from citer_core.types import DecodeSettings


@dataclass(frozen=True, slots=True)
class Preset:
    """A recorded run to be: what is asked, and at which tau (None takes the router's recommended one)."""

    file: str
    title: str
    subtitle: str
    data_type: DataType
    question: str
    answer: str
    threshold: float | None = None


def _mc(question: str, *options: str) -> str:
    return "\n".join([question, *(f"{label}. {text}" for label, text in zip("ABCDE", options, strict=False))])


BAKERY = (
    "Nora buys 7 cakes at 12 dollars each and 6 pies at 13 dollars each. Nora pays with 200 dollars. "
    "How much change does Nora get?"
)
PRESETS = (
    Preset("bakery.json", "Change at the bakery", "Four steps of shopping", "math", BAKERY, "38"),
    Preset("bakery-slm.json", "The same, SLM alone", "No token from the LLM", "math", BAKERY, "38", 0.0),
    Preset("bakery-llm.json", "The same, LLM alone", "Every token from the LLM", "math", BAKERY, "38", 1.0),
    Preset(
        "capital.json", "Not the largest city", "A capital, four options", "mc",
        _mc("What is the capital of Australia?", "Vienna", "Canberra", "Ottawa", "Wellington"), "B",
    ),
    Preset(
        "trip.json", "How far is left", "Two speeds, one trip", "math",
        "Hugo drives 4 hours at 75 km per hour and then 3 hours at 55 km per hour. The trip is 520 km long. "
        "How many km are left?", "55",
    ),
    Preset(
        "element.json", "A chemical symbol", "Gold, five options", "mc",
        _mc("What is the chemical symbol of gold?", "Ag", "Fe", "Au", "Cu", "Hg"), "C",
    ),
)  # fmt: skip


def record_presets(engine: Engine, folder: Path = ASSETS / "traces") -> None:
    """Runs every preset greedily with the default router and writes traces and index; older traces go."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.json"):
        old.unlink()
    index = []
    for preset in PRESETS:
        threshold = engine.default_threshold() if preset.threshold is None else preset.threshold
        problem = problem_from_text(preset.question, preset.data_type, preset.answer)
        run = engine.start(problem, settings=DecodeSettings(threshold=threshold))
        for _ in run:
            pass
        trace = run.trace().with_title(preset.title)
        (folder / preset.file).write_text(trace.to_json() + "\n", encoding="utf-8")
        index.append(
            {
                "file": preset.file,
                "title": preset.title,
                "subtitle": preset.subtitle,
                "data_type": preset.data_type,
                "tau": threshold,
                "n_tokens": trace.n_tokens,
                "llm_token_share": round(trace.llm_token_share, 4),
                "is_correct": trace.answer.is_correct if trace.answer else None,
            }
        )
    (folder / "index.json").write_text(json.dumps(index, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
