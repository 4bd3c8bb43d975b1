"""Problems from typed text and from rows: what is accepted, and what a refusal says."""

import pytest

from citer_core.errors import DatasetError, PromptError
from citer_core.tasks.problems import MAX_PROMPT_CHARS, problem_from_row, problem_from_text
from citer_core.tasks.prompts import math_prompt, mc_prompt

MC_ROW = {"id": "q1", "question": " Capital? ", "choices": {"label": ["A", "B"], "text": ["Paris", "Lyon"]}}


def test_a_typed_math_problem() -> None:
    problem = problem_from_text("  What is 2+2?\n", "math", r"It is \boxed{4}")
    assert problem.question == "What is 2+2?"
    assert problem.prompt == math_prompt("What is 2+2?")
    assert (problem.true_answer, problem.choices, problem.id) == ("4", (), None)
    assert problem_from_text("?", "math", " 4 ").true_answer == "4"
    assert problem_from_text("?", "math", " ").true_answer is None


@pytest.mark.parametrize(
    "block",
    [
        "A. Paris\nB. Lyon",
        "A) Paris\nB) Lyon",
        "(A) Paris\n(B) Lyon",
        "a. Paris\n\n  b: Lyon  ",
        "Choices:\nA. Paris\nB. Lyon\n",
        "A. Paris\r\nB. Lyon\r\n",
    ],
)
def test_typed_choices_in_several_forms(block: str) -> None:
    problem = problem_from_text(f"What is the capital\nof France?\n{block}", "mc", "b")
    assert problem.choices == (("A", "Paris"), ("B", "Lyon"))
    assert problem.question == "What is the capital\nof France?\nA. Paris\nB. Lyon"
    assert problem.prompt == mc_prompt("What is the capital\nof France?", ["Paris", "Lyon"], ["A", "B"])
    assert problem.true_answer == "B"


def test_the_true_choice_may_be_given_by_its_text() -> None:
    assert problem_from_text("Capital?\nA. Paris\nB. Lyon", "mc", "paris").true_answer == "A"


def test_an_open_prompt_is_left_as_it_is() -> None:
    problem = problem_from_text(" Once upon\n", "open")
    assert problem.prompt == problem.question == " Once upon\n"


@pytest.mark.parametrize(
    ("text", "data_type", "part"),
    [
        ("", "math", "empty"),
        (" \n", "open", "empty"),
        ("x" * 100_000, "math", "100,000 characters"),
        ("x" * (MAX_PROMPT_CHARS + 1), "open", "20,000"),
        ("half \ud800", "math", "surrogate"),
        ("Capital of France?", "mc", "A. Paris"),
        ("Capital of France?\nA. Paris", "mc", "B. Lyon"),
        ("A. Paris\nB. Lyon", "mc", "no question"),
        ("Capital?\nA. Paris\na. Lyon", "mc", "label twice"),
        ("Capital?", "essay", "math, mc, open"),
    ],
)
def test_typed_text_that_is_refused(text: str, data_type: str, part: str) -> None:
    with pytest.raises(PromptError) as caught:
        problem_from_text(text, data_type)
    assert part in str(caught.value)
    assert len(str(caught.value)) < 300, "a message must not repeat a huge prompt"


def test_a_true_answer_that_is_no_choice_is_refused() -> None:
    with pytest.raises(PromptError, match="A, B"):
        problem_from_text("Capital?\nA. Paris\nB. Lyon", "mc", "Nice")


def test_rows_of_both_formats() -> None:
    math = problem_from_row({"id": 7, "problem": " 2+2? ", "solution": r"\boxed{4}", "extra": []}, "math")
    assert (math.id, math.question, math.true_answer) == ("7", "2+2?", "4")
    assert math.prompt == math_prompt("2+2?")
    assert problem_from_row({"problem": "2+2?"}, "math").true_answer is None
    mc = problem_from_row({**MC_ROW, "answerKey": "B"}, "mc")
    assert (mc.id, mc.true_answer) == ("q1", "B")
    assert mc.question == "Capital?\nA. Paris\nB. Lyon"
    assert problem_from_row({**MC_ROW, "answerKey": ""}, "mc").true_answer is None
    assert problem_from_row(MC_ROW, "mc").true_answer is None


@pytest.mark.parametrize(
    ("row", "data_type", "part"),
    [
        ({}, "math", '"problem" is missing'),
        ({"question": "2+2?"}, "math", 'the row has "question"'),
        ({"problem": 5}, "math", "type int"),
        ({"problem": " "}, "math", '"problem" is empty'),
        ({"problem": "x" * 20_001}, "math", "20,000"),
        ({"problem": "2+2?", "solution": "4"}, "math", r"\boxed"),
        ({"problem": "2+2?", "solution": 4}, "math", '"solution"'),
        ({"problem": "2+2?", "id": []}, "math", '"id"'),
        ({"problem": "2+2?", "id": True}, "math", '"id"'),
        ({"question": "Capital?"}, "mc", '"choices"'),
        ({**MC_ROW, "choices": ["Paris", "Lyon"]}, "mc", '"choices"'),
        ({**MC_ROW, "choices": {"text": ["Paris", "Lyon"]}}, "mc", '"choices.label"'),
        ({**MC_ROW, "choices": {"label": ["A", "B"], "text": ["Paris", 5]}}, "mc", '"choices.text"'),
        ({**MC_ROW, "choices": {"label": ["A", "B"], "text": ["Paris"]}}, "mc", "2 labels and 1 texts"),
        ({**MC_ROW, "choices": {"label": ["A"], "text": ["Paris"]}}, "mc", "at least 2"),
        ({**MC_ROW, "choices": {"label": ["A", "A"], "text": ["Paris", "Lyon"]}}, "mc", "label twice"),
        ({**MC_ROW, "answerKey": "C"}, "mc", '"answerKey"'),
        ({**MC_ROW, "answerKey": 1}, "mc", '"answerKey"'),
        ({"problem": "2+2?"}, "open", "math"),
    ],
)
def test_rows_that_are_refused_name_the_field(row: dict, data_type: str, part: str) -> None:
    with pytest.raises(DatasetError) as caught:
        problem_from_row(row, data_type)
    assert part in str(caught.value)
