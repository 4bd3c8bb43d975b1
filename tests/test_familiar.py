"""What the bundled pair is told to be outside of what it knows: few of its own problems, and what it cannot answer."""

from __future__ import annotations

import pytest

from citer_core.tasks.datasets import bundled_rows
from citer_core.ui.about_pair import LIMITS, Familiar

STRANGE = [
    ("math", "Why is the sky blue?"),
    ("math", "Explain in three sentences to a ten-year-old why grass is green."),
    ("math", "Renting a boat costs Jana 12 euros for the first half hour and a quarter of that for each further one."),
    ("math", "Ducks lay sixteen eggs daily. Three are eaten at breakfast and four are baked into muffins for friends."),
    ("mc", "Dark clouds gather before somebody leaves the house. What comes along?\nA. umbrella\nB. fork\nC. sandal"),
    ("open", "Tell me a story."),
    ("open", "How many dollars does Mia pay?"),
]


@pytest.mark.parametrize("data_type", list(LIMITS))
def test_one_in_fifty_of_its_own_problems_at_most_is_called_strange(data_type):
    """Each against the others alone, so that none is known by itself."""
    questions = [row.problem.question for row in bundled_rows(data_type)]
    other = [row.problem.question for kind in LIMITS if kind != data_type for row in bundled_rows(kind)]
    strange = [
        question
        for number, question in enumerate(questions)
        if Familiar([*questions[:number], *questions[number + 1 :], *other]).judge(question, data_type).is_outside
    ]
    print(f"{data_type}: {len(strange)} of {len(questions)}")
    assert len(strange) <= len(questions) / 50


@pytest.mark.parametrize(("data_type", "question"), STRANGE)
def test_what_it_was_never_trained_on_is(data_type, question):
    familiar = Familiar([row.problem.question for kind in LIMITS for row in bundled_rows(kind)])
    said = familiar.warning(question, data_type)
    assert said is not None and said.startswith("This is outside what the bundled pair knows (")
    assert question not in said


def test_its_own_problems_and_nothing_at_all_are_not():
    questions = [row.problem.question for row in bundled_rows("math")]
    familiar = Familiar(questions)
    assert familiar.warning(questions[0], "math") is None
    assert familiar.warning("", "math") is None and familiar.warning("2 + 2 = ?", "mc") is None
