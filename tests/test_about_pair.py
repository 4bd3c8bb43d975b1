"""What the page says of the bundled pair's own accuracy, from its card."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from citer_core.assets import ASSETS
from citer_core.tasks.problems import problem_from_row
from citer_core.ui.about_pair import chances, how_well, told_of_bundled
from citer_core.ui.presets import read_presets, recorded_kinds
from citer_core.ui.problems import ProblemBook


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


def test_how_well_a_kind_of_problem_is_answered(tmp_path: Path) -> None:
    slm, llm = ({"share": 0.5, "by_kind": {"a": {"share": share}}} for share in (0.496, 0.97))
    said = chances(card(tmp_path, slm, llm))
    assert said == {"a": "Of unseen problems of this kind, alone, the SLM has 50% right and the LLM has 97% right."}
    assert chances(card(tmp_path, {"share": 0.5}, {"share": 0.9})) == {} == chances(tmp_path / "none.json")


def test_a_bundled_problem_and_a_recorded_one_name_their_kind(tmp_path: Path) -> None:
    rows = [
        {"problem": "How many?", "solution": "\\boxed{3}", "kind": "a"},
        {"problem": "How much?", "solution": "\\boxed{3}"},
    ]
    problems = [problem_from_row(row, "math") for row in rows]
    book = ProblemBook({"math": problems}, rows=list(zip(problems, rows, strict=True)))
    assert [entry.get("kind") for entry in book.offered()] == ["a", None]
    assert told_of_bundled({"How far?": "b"})["recorded"] == [{"question": "How far?", "kind": "b"}]


def test_every_bundled_word_problem_and_recorded_one_has_its_chance() -> None:
    told = told_of_bundled(recorded_kinds(read_presets(ASSETS / "traces")))
    kinds = [entry["kind"] for entry in (*ProblemBook.bundled().offered(), *told["recorded"]) if "kind" in entry]
    assert len(kinds) >= 200 and set(kinds) <= told["chances"].keys()
