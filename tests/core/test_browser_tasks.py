"""What the browser makes of a question and of a completion is what Python makes of them."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from citer_core.assets import ASSETS
from citer_core.errors import PromptError
from citer_core.tasks.answers import check_answer
from citer_core.tasks.boxed import last_boxed
from citer_core.tasks.datasets import bundled_rows
from citer_core.tasks.equivalence import same_answer
from citer_core.tasks.problems import Problem, problem_from_text
from citer_core.tasks.prompts import row_completion
from citer_core.tasks.tables_js import MODULE, module_text
from tests import test_choice_reader as choices
from tests import test_tasks_answers as answers

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("math", "mc")
TYPED = [
    ("  What is 2 + 3?\u00a0\n", "math"), ("A text.\n\n", "open"), ("   \x1c", "math"), ("", "open"),
    ("x" * 20_001, "math"), ("{question} $1?", "math"), ("no choices", "mc"),
    ("Which?\n(a) Paris\nB) Lyon in {question}\n", "mc"), ("Which?\r\nChoices:\r\n1: one\r\n2: $& two", "mc"),
    ("A. Paris\nB. Lyon", "mc"), ("Which?\nA. Paris", "mc"), ("Which?\nA. Paris\na. Lyon", "mc"),
    ("Which?\n\u0663. three\n\u0664. four", "mc"), ("Which?\nA.  Paris \x85B. Lyon", "mc"),
]  # fmt: skip

PIECES = [
    "Therefore, ", "the answer is ", "Answer: ", " is correct", "(B)", "[a]", " B", "C.", "**", "_", " not ", " or ",
    "/", "\n\n", "\n", " ", " ", ".", ",", "\nQuestion:", "option ", "\\boxed{", "\\text{", "}", "$", "because ", " 5",
    "\u0130", "\u00df", "\u03a3", "\u00bd", "\uff08A\uff09", "\u0665", "\u00a0", "\\(", "\U0001d7d9",
]  # fmt: skip

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


def parameters(test: Any) -> list[tuple[Any, ...]]:
    """The cases of a parametrized test."""
    (mark,) = [mark for mark in test.pytestmark if mark.name == "parametrize"]
    return [tuple(case.values) if hasattr(case, "values") else tuple(case) for case in mark.args[1]]


def all_parameters() -> dict[str, list[tuple[Any, ...]]]:
    both = {**vars(answers), **vars(choices)}
    tests = [test for name, test in both.items() if name.startswith("test_") and hasattr(test, "pytestmark")]
    found: dict[str, list[tuple[Any, ...]]] = {}
    for test in tests:
        for mark in test.pytestmark:
            if mark.name == "parametrize" and isinstance(mark.args[0], tuple):
                found.setdefault(",".join(mark.args[0]), []).extend(parameters(test))
    return found


def as_json(problem: Problem) -> dict[str, Any]:
    names = ("data_type", "question", "prompt", "true_answer")
    return {**{name: getattr(problem, name) for name in names}, "choices": [list(choice) for choice in problem.choices]}


@pytest.fixture(scope="module")
def asked() -> dict[str, Any]:
    """Everything that the tests of Python's half try, and the bundled problems with right and other answers."""
    cases = all_parameters()
    rows = [(kind, row) for kind in KINDS for row in bundled_rows(kind)]
    completions = [(row_completion(row.row, kind), row.problem) for kind, row in rows]
    completions += [(completions[i - 7][0], completions[i][1]) for i in range(len(completions))]
    completions += [(case[1], choices.mc(case[0])) for case in cases["question,completion,label"]]
    chance = random.Random(38)
    for question in (choices.PLACES, choices.CITIES, choices.FORCES, choices.TURKISH, choices.MARKS):
        problem = choices.mc(question, "A")
        pieces = [*PIECES, *(text for _, text in problem.choices)]
        completions += [("".join(chance.choices(pieces, k=chance.randint(1, 16))), problem) for _ in range(100)]
    # A place where two mention choices, a lone letter that is a word, a label whose case counts.
    letters = problem_from_text("Which letter?\nA. a\nB. B\nC. I", "mc", "C")
    odd = [
        "Therefore, the answer is I.",
        "Therefore, it is a thing (B).",
        "Therefore: not A, but (c)",
        "**C**",
        "a or B",
    ]
    completions += [(text, letters) for text in odd]
    return {
        "problems": TYPED + [(row.problem.question, kind) for kind, row in rows],
        "answers": completions,
        "boxes": [case[0] for case in cases["text,content"]] + [text for text, _ in completions],
        "pairs": cases["true_answer,predicted"],
        "known": [(row.problem.question, kind) for kind, row in rows],
        "rows": {kind: (ASSETS / "datasets" / f"{kind}.jsonl").read_text(encoding="utf-8") for kind in KINDS},
    }


@pytest.fixture(scope="module")
def found(asked: dict[str, Any]) -> dict[str, Any]:
    sent = {**asked, "answers": [(text, as_json(problem)) for text, problem in asked["answers"]]}
    done = subprocess.run(
        ["node", "tests/viewer/task_cases.mjs"],
        input=json.dumps(sent), cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return dict(json.loads(done.stdout))


def test_the_prompts_forms_are_pythons() -> None:
    assert MODULE.read_text(encoding="utf-8") == module_text(), "python -m citer_core.tasks.tables_js writes it"


def test_a_typed_text_becomes_the_same_problem_or_the_same_words(asked: dict[str, Any], found: dict[str, Any]) -> None:
    for (text, kind), theirs in zip(asked["problems"], found["problems"], strict=True):
        try:
            ours = as_json(problem_from_text(text, kind))
        except PromptError as error:
            ours = {"error": str(error)}
        assert theirs == ours, ascii(text[:80])


def test_a_bundled_problem_is_known_with_its_answer(asked: dict[str, Any], found: dict[str, Any]) -> None:
    rows = [row for kind in KINDS for row in bundled_rows(kind)]
    for row, theirs in zip(rows, found["book"], strict=True):
        assert theirs == {**as_json(row.problem), "solution": row_completion(row.row, row.problem.data_type)}


def test_answers_are_judged_alike(asked: dict[str, Any], found: dict[str, Any]) -> None:
    verdicts = []
    for (text, problem), theirs in zip(asked["answers"], found["answers"], strict=True):
        ours = check_answer(text, problem)
        assert theirs == {
            "true_answer": ours.true_answer, "predicted_answer": ours.predicted_answer, "is_correct": ours.is_correct,
        }, ascii(text[:200])  # fmt: skip
        verdicts.append(ours.is_correct)
    assert verdicts.count(True) > 400 and verdicts.count(False) > 100
    assert found["boxes"] == [last_boxed(text) for text in asked["boxes"]]


def test_what_the_browser_says_of_two_answers_is_so_and_expressions_it_leaves_open(
    asked: dict[str, Any], found: dict[str, Any]
) -> None:
    for (one, other), theirs in zip(asked["pairs"], found["pairs"], strict=True):
        assert theirs in {None, same_answer(one, other)}, (one, other)
    assert found["pairs"].count(True) > 10 and found["pairs"].count(False) > 2 and found["pairs"].count(None) > 5
