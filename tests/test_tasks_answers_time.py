"""Reading an answer takes no longer than its text, whatever is in it, and reads what it read before it was so."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citer_core.assets import ASSETS
from citer_core.tasks.answers import extract_answer
from citer_core.tasks.boxed import last_boxed
from citer_core.tasks.equivalence import same_answer
from citer_core.tasks.plain_text import clean, fold
from citer_core.tasks.problems import problem_from_row, problem_from_text
from tests.own_time import OwnTime
from tests.sampling import few_or_all, sampled

LONG = 100_000
_BRACE = re.compile(r"\\+boxed\s*(?P<box>\{)|\\.|[{}]", re.DOTALL)


def last_boxed_before(text: str) -> str | None:
    """The reader of boxes as it was: right, and quadratic in a run of backslashes."""
    found: tuple[int, str] | None = None
    starts: list[int | None] = []
    for match in _BRACE.finditer(text):
        if match["box"]:
            starts.append(match.end())
        elif match[0] == "{":
            starts.append(None)
        elif match[0] == "}" and starts:
            start = starts.pop()
            if start is None or (found and found[0] > start):
                continue
            if content := text[start : match.start()].strip():
                found = start, content
    return found[1] if found else None


def rows(name: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in (ASSETS / "datasets" / name).read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("every", few_or_all(10, 1))
def test_all_real_texts_give_the_answers_that_stand_in_them(every: int) -> None:
    """Every solution and every choice that comes with the project, named by label and text or by one of them."""
    texts = [str(row["solution"]) for row in rows("math.jsonl")[::every]]
    assert [last_boxed(text) for text in texts] == [last_boxed_before(text) for text in texts]
    assert all(
        extract_answer(text, problem_from_row(row, "math")) == last_boxed_before(text)
        for text, row in zip(texts, rows("math.jsonl")[::every], strict=True)
    )
    for row in rows("mc.jsonl")[::every]:
        problem = problem_from_row(row, "mc")
        assert extract_answer(str(row["cot"]), problem) == problem.true_answer
        texts = {text for _, text in problem.choices}
        for label, text in problem.choices:
            if label in texts:  # a Roman numeral, an element: a letter alone is then the text
                continue
            for said in (f"{text} ({label})", text, f"({label})", label, f"\\boxed{{\\text{{{label}}}}}"):
                assert extract_answer(f" Since it is so. Therefore, the answer is {said}.", problem) == label


PIECES = ["\\", "\\\\", "boxed", "\\boxed{", "{", "}", " ", "\n", "x", "12", "\\boxed {", "\\{", "\\}", "b", "oxed{"]


@settings(max_examples=100)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_boxes_are_read_as_before(text: str) -> None:
    assert last_boxed(text) == last_boxed_before(text)


MC = problem_from_text("Where?\nA. house\nB. bathhouse\nC. New York\nD. a\nE. not here", "mc")
WORDS = [
    "Therefore, ", "the answer is ", "answer:", "house", "bathhouse", "New ", "York", " (B)", "[a]", "B.", "**", "_",
    "not ", " or ", "/", "\n\n", "Question:", "option ", "\\boxed{", "}", ".", "A", "a", "not here", "\u0130", "5",
]  # fmt: skip


@settings(max_examples=60)
@given(st.lists(st.sampled_from(WORDS), max_size=14).map("".join), st.text(max_size=20))
def test_any_text_is_read_and_what_stands_before_an_answer_does_not_change_it(text: str, odd: str) -> None:
    assert extract_answer(text + odd, MC) in {None, *"ABCDE"}
    if "Question:" not in text:
        assert extract_answer(f"{text}\n\nThe answer is New York.", MC) == "C"
    assert len(fold(clean(text + odd))) == len(clean(text + odd))


SAME = " a" * 90
HARD = {
    "as usual": MC,
    "choices alike": problem_from_text("Which?\n" + "\n".join(f"{i}. {SAME} b{i}" for i in range(1, 99)), "mc"),
    "two long choices": problem_from_text(f"Which?\nA. {'a ' * 4000}b\nB. {'a ' * 4000}c", "mc"),
    "choices of stars": problem_from_text("Which?\nA. *\nB. **\nC. $.$", "mc"),
}
PATTERNS = [
    "*", "*_", " ", "\n", "\\", "(", "( ", "house ", "house*", "a ", "New ", "Therefore ", "answer ", "answer is ",
    "B) ", "not ", "\\boxed{", "\\boxed ", "\\text{ ", "{", "}", "\n ", "or ", "1", "option ", SAME,
]  # fmt: skip


@pytest.mark.parametrize("pattern", sampled(PATTERNS, every=3))
def test_a_text_of_100_000_characters_is_read_at_once(pattern: str) -> None:
    text = pattern * (LONG // len(pattern))
    asked = [("\\boxed{5} ", problem_from_text("1 + 1?", "math", "2")), ("", MC), ("answer is ", HARD["choices alike"])]
    asked += [("Therefore, the answer is ", problem) for problem in HARD.values()]
    for lead, problem in asked:
        with OwnTime() as spent:
            extract_answer(lead + text, problem)
        assert spent.seconds < 0.2, (lead, problem.question[:20])


def test_long_answers_are_compared_at_once_and_not_kept() -> None:
    for text in ("a" * LONG + "!", "1" * LONG, "1 " * LONG, "\\text{" * LONG, "\\ " * LONG, "1,000" * LONG):
        with OwnTime() as spent:
            assert not same_answer("5", text) and same_answer(text + "?", text + "?")
        assert spent.seconds < 1.0


WAITS = """
import time
from citer_core.tasks import math_worker
math_worker.SECONDS_PER_PAIR = 0.2
math_worker.same = lambda *_: time.sleep(0.6) or True
math_worker.main()
"""


def test_a_machine_that_does_something_else_changes_no_verdict() -> None:
    """A pair may take so much of the processor's time, and wait for it as long as it must."""
    done = subprocess.run(
        [sys.executable, "-c", WAITS], input='["1", "x"]\n', capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, "true\n"), done.stderr
