"""The bundled pair for a visitor's browser: which files it loads, the worker's script, and what is known before either.

Knows neither gradio nor torch. Called by the page and by the static site.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import citer_core
from citer_core.assets import ASSETS
from citer_core.errors import CiterError, GateError, RouterError
from citer_core.gate.fields import ListOf, MapOf, Maybe, Real, Record, Row, Text, Whole
from citer_core.gate.json_file import read_json
from citer_core.joined_script import JoinedScript
from citer_core.models.presets import EMBEDDED, PRESETS
from citer_core.models.same_pair import is_same_pair
from citer_core.routing.router_card import read_card

ENTRY, LAB_ENTRY = "engine/worker.js", "engine/lab_worker.js"
# By folder below the assets; a browser fetches them by these names.
MODEL_FILES = {
    "models/slm": ("config.json", "generation_config.json", "model.safetensors"),
    "models/llm": ("config.json", "generation_config.json", "model.safetensors"),
    "models/tokenizer": ("tokenizer.json", "tokenizer_config.json"),
}
ROUTERS = "routers/embedded"
DATASETS = ("math.jsonl", "mc.jsonl", "recorded-embedded.jsonl")
_CARD = Record({"pair_revision": Text(200)})
_MOST = 20  # of budgets, ratios, formats
_MEASURED = Row(Whole(0), Real(open_low=True))  # right answers; bytes moved for each kept token
_POINTS = Record(
    {
        "n": Whole(1),
        "grid": ListOf(ListOf(_MEASURED, least=2, most=_MOST), least=1, most=_MOST),
        "alone": Record(dict.fromkeys(("slm", "llm", "speculative"), _MEASURED)),
    }
)
_PLANE = Record(
    {
        "router": Text(100),
        "final_doubt": Real(),
        "budgets": ListOf(Real(), least=1, most=_MOST),
        "ratios": ListOf(Real(0, 1), least=2, most=_MOST),
        "points": MapOf(_POINTS, _MOST),
    }
)
_ADVICE = Record(
    {"pair_revision": Text(200), "best": Text(100), "said": MapOf(Text(1_000), 100), "drafts": Text(1_000)},
    {"plane": Maybe(_PLANE)},
)
USUAL_TAU = 0.7
PAGE_BYTES = 700_000  # about what a page's own scripts and styles take


@functools.cache
def engine_script() -> str:
    """The worker's modules as one classic script, which exports nothing.

    Raises:
        ModelFileError: a module is damaged, or cannot be joined with the others.
    """
    return JoinedScript.of(ASSETS / ENTRY).text


@functools.cache
def lab_script() -> str:
    """The same of the Lab's workers, which a page fetches when a router is trained there."""
    return JoinedScript.of(ASSETS / LAB_ENTRY).text


def needed_files() -> list[Path]:
    """What has to be loaded before the default router can write."""
    router = next(iter(stored_thresholds()), None)
    files = [ASSETS / folder / name for folder, names in MODEL_FILES.items() for name in names]
    return files + [ASSETS / ROUTERS / f"{router}{suffix}" for suffix in (".json", ".safetensors") if router]


def held_files() -> list[str]:
    """Paths below the assets of all that a page needs which holds the pair itself: models, routers, known problems."""
    models = [f"{folder}/{name}" for folder, names in MODEL_FILES.items() for name in names]
    routers = [f"{ROUTERS}/{name}{suffix}" for name in stored_thresholds() for suffix in (".json", ".safetensors")]
    return [*models, *routers, *(f"datasets/{name}" for name in DATASETS)]


def one_file_bytes() -> int:
    """About how large such a page is: the files in base64, and the page's own scripts and styles."""
    return PAGE_BYTES + sum(-(-(ASSETS / path).stat().st_size // 3) * 4 for path in held_files())


def stored_thresholds() -> dict[str, float]:
    """The tau that each trained router of the bundled pair recommends, the default router first."""
    taus: dict[str, float] = {}
    for path in sorted((ASSETS / ROUTERS).glob("*.json"), key=lambda path: path.stem):
        try:
            taus[path.stem] = float(read_card(path).get("recommended_threshold", USUAL_TAU))
        except RouterError:
            continue  # as on the server: one damaged file does not take the others with it
    return taus


def stored_advice() -> dict[str, Any] | None:
    """Which of its routers to use, see `citer_core.evidence.advice`; None where that is damaged or of another pair."""
    try:
        advice = _ADVICE.read(read_json(ASSETS / "benchmarks" / "advice.json"), "advice")
        if not _is_complete(advice.get("plane")):
            advice["plane"] = None
        return advice if is_same_pair(advice["pair_revision"], _card()["pair_revision"]) else None
    except GateError:
        return None


def _is_complete(plane: dict[str, Any] | None) -> bool:
    """Whether every place of it was measured."""
    if not plane or not plane["points"]:
        return False
    shape = [len(plane["ratios"])] * len(plane["budgets"])
    return all([len(row) for row in points["grid"]] == shape for points in plane["points"].values())


def _card() -> dict[str, Any]:
    return _CARD.read(read_json(ASSETS / "models" / "card.json", max_bytes=1_000_000), "card")


def pair_facts(root: str, script: str, lab: str = "") -> dict[str, Any] | None:
    """What the page's script knows of the pair before any of it is loaded (`PairFacts` in `engine_client.js`).

    Args:
        root: address of the folder that stands for the assets.
        script: address of the worker's script.
        lab: address of that of the Lab's workers, "" where there is no Lab.

    Returns:
        None where the pair's files are not here, or its card is damaged.
    """
    try:
        card = _card()
        page_bytes = one_file_bytes()
        n_bytes = sum(path.stat().st_size for path in needed_files()) + len(engine_script().encode())
    except (GateError, OSError, CiterError):
        return None
    return {
        "name": PRESETS[EMBEDDED].title,
        "revision": card["pair_revision"],
        "root": root,
        "script": script,
        "lab_script": lab,
        "bytes": n_bytes,
        "files": held_files(),
        "one_file_bytes": page_bytes,
        "version": citer_core.__version__,
        "thresholds": stored_thresholds(),
        "advice": stored_advice(),
    }
