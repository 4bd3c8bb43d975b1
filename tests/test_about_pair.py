"""What the page says of the bundled pair's own accuracy, from its card."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from citer_core.ui.about_pair import how_well


def card(folder: Path, slm: dict[str, Any], llm: dict[str, Any]) -> Path:
    path = folder / "card.json"
    models = {which: {"accuracy": {"math": math, "mc": {"share": 0.5}}} for which, math in (("slm", slm), ("llm", llm))}
    path.write_text(json.dumps({"models": models}), encoding="utf-8")
    return path


def test_the_total_and_the_range_over_kinds(tmp_path: Path) -> None:
    total = " Alone, the SLM is right on 51% of unseen word problems and 50% of questions, the LLM on 98% and 50%."
    assert how_well(card(tmp_path, {"share": 0.51}, {"share": 0.98})) == total
    kinds = [{"a": {"share": low}, "b": {"share": high}, "c": {"share": high}} for low, high in ((0.4, 0.6), (0.95, 1))]
    slm, llm = ({"share": share, "by_kind": found} for share, found in zip((0.51, 0.98), kinds, strict=True))
    said = how_well(card(tmp_path, slm, llm))
    assert said == f"{total} Of 3 kinds of word problems, each: the SLM 40 to 60%, the LLM 95 to 100%."
    assert how_well(tmp_path / "none.json") == ""
