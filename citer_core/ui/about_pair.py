"""What the bundled pair may be asked, and how well it answers, in words. From the pair's card."""

from __future__ import annotations

from pathlib import Path

from citer_core.assets import ASSETS
from citer_core.errors import GateError
from citer_core.gate.fields import MapOf, Real, Record
from citer_core.gate.json_file import read_json

WHAT_IT_CAN = (
    "The bundled pair, trained from scratch for this page, knows arithmetic word problems and multiple-choice facts, "
    "nothing else."
)
_SHARE = Record({"share": Real(0.0, 1.0)})
_MATH = Record({"share": Real(0.0, 1.0)}, {"by_kind": MapOf(_SHARE, 100)})
_MODEL = Record({"accuracy": Record({"math": _MATH, "mc": _SHARE})})
_CARD = Record({"models": Record({"slm": _MODEL, "llm": _MODEL})})


def how_well(card_path: Path) -> str:
    """What either model reaches alone on unseen problems, from the pair's card; empty where there is no card."""
    try:
        models = _CARD.read(read_json(card_path, max_bytes=1_000_000), "card")["models"]
    except GateError:
        return ""
    slm, llm = (
        [round(100 * models[which]["accuracy"][kind]["share"]) for kind in ("math", "mc")] for which in ("slm", "llm")
    )
    total = (
        f" Alone, the SLM is right on {slm[0]}% of unseen word problems and {slm[1]}% of questions, "
        f"the LLM on {llm[0]}% and {llm[1]}%."
    )
    kinds = [
        [round(100 * kind["share"]) for kind in models[which]["accuracy"]["math"].get("by_kind", {}).values()]
        for which in ("slm", "llm")
    ]
    if not all(kinds):
        return total
    ranges = [f"{min(shares)} to {max(shares)}%" for shares in kinds]
    return f"{total} Of {len(kinds[0])} kinds of word problems, each: the SLM {ranges[0]}, the LLM {ranges[1]}."


def about_bundled() -> str:
    """What the bundled pair may be asked, and how well it answers."""
    return WHAT_IT_CAN + how_well(ASSETS / "models" / "card.json")
