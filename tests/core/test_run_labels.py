"""Labels of a run: those of the known solution, for as long as the run is that solution."""

from __future__ import annotations

import pytest

from citer_core.engine import Engine
from citer_core.evaluation.label_view import label_run, label_texts
from citer_core.labelling.teacher_forcing import Example, example_of
from citer_core.tasks.datasets import bundled_rows
from citer_core.ui.problems import ProblemBook
from citer_core.ui.run.answers import NO_SOLUTION, truth_message


@pytest.fixture(scope="module")
def example(engine: Engine) -> Example:
    """Question 8: it has all three cases."""
    return example_of(bundled_rows("mc")[7].row, "mc", engine.pair)


def test_a_run_that_is_the_solution_has_the_labels_of_the_labels_tab(engine: Engine, example: Example) -> None:
    (text,) = label_texts(engine.pair, [], [example])
    found = label_run(engine.pair, example, example.truth_ids)
    assert found.n_shared == len(example.truth_ids)
    assert found.truth_ids == tuple(example.truth_ids)
    assert list(found.case) == text.case.tolist() and {1, 2} <= set(found.case)
    assert list(found.label) == text.label.tolist()


@pytest.mark.parametrize("at", [0, 5])
def test_labels_end_with_the_token_that_leaves_the_solution(engine: Engine, example: Example, at: int) -> None:
    whole = label_run(engine.pair, example, example.truth_ids)
    other = next(i for i in range(engine.pair.vocab_size) if i != example.truth_ids[at])
    found = label_run(engine.pair, example, [*example.truth_ids[:at], other, *example.truth_ids[at + 1 :]])
    assert found.n_shared == at
    assert found.case == whole.case[: at + 1] and found.label == whole.label[: at + 1]
    assert found.truth_ids == tuple(example.truth_ids[: at + 1])
    # A run that was stopped inside the solution is defined to its end, one of no tokens nowhere.
    stopped = label_run(engine.pair, example, example.truth_ids[:at])
    assert (stopped.n_shared, stopped.case) == (at, whole.case[:at])


def test_what_the_page_is_told(engine: Engine, example: Example) -> None:
    book = ProblemBook.bundled()
    row = book.row(example.problem)
    assert row is not None and row is bundled_rows("mc")[7].row
    said = truth_message(engine, row, "mc", example.truth_ids)
    assert said["shared"] == len(said["case"]) == len(said["label"]) == len(said["true"])
    assert "".join(text for text in said["true"][:-1]) == " " + row["cot"].strip() and said["true"][-1] is None
    unknown = book.problem("Which is a fruit?\nA. pear\nB. stone", "mc")
    assert truth_message(engine, book.row(unknown), "mc", [1, 2]) == {"why": NO_SOLUTION}
