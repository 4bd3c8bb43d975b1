"""Final answers: what is taken for one, and what counts as equal."""

import os
import threading
import time

import pytest

from citer_core.tasks.answers import check_answer, extract_answer
from citer_core.tasks.boxed import last_boxed
from citer_core.tasks.equivalence import same_answer
from citer_core.tasks.problems import Problem, problem_from_text

PLACES = "Where do you bathe?\nA. bathhouse\nB. house\nC. New York\nD. York\nE. don't know"


def mc(text: str = PLACES, answer: str | None = None) -> Problem:
    return problem_from_text(text, "mc", answer)


@pytest.mark.parametrize(
    ("text", "content"),
    [
        (r"\boxed{18}", "18"),
        (r"first \boxed{1}, no: \boxed{2}.", "2"),
        (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"\boxed{ 7 }", "7"),
        (r"\boxed {7}", "7"),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
        (r"\boxed{a \} b}", r"a \} b"),
        (r"\boxed{\boxed{5}}", "5"),
        # Cut off by the token limit: the box before it was closed.
        (r"\boxed{12} and so \boxed{1", "12"),
        (r"\boxed{\frac{1}{2}", None),
        # The instruction repeated.
        (r"\boxed{12}. Put the final answer in \boxed{}.", "12"),
        (r"\boxed{}", None),
        ("18", None),
        (r"\fbox{18}", None),
        ("\\boxed{12\\", None),
        (r"\\boxed{12}", "12"),
        (r"} \boxed{12} {", "12"),
        (r"\boxed{1 \boxed{2} \boxed{3", "2"),
        ("", None),
    ],
)
def test_the_last_balanced_box_is_the_answer(text: str, content: str | None) -> None:
    assert last_boxed(text) == content


@pytest.mark.parametrize(
    ("true_answer", "predicted"),
    [
        ("2125", "2,125"),
        ("2125", "2125.0"),
        ("2125", "2{,}125"),
        ("2125", r"2\,125"),
        ("1,234,567", "1234567"),
        ("-4", "- 4"),
        ("-4", "\N{MINUS SIGN}4"),
        ("5", "+5"),
        ("0.5", ".5"),
        ("18", r"\$18"),
        ("18", "$18$"),
        ("18", "18."),
        ("007", "7"),
        ("Monday", r"\text{monday}"),
        # From here on the child process decides.
        ("0.5", r"\frac{1}{2}"),
        ("1/2", r"\dfrac{2}{4}"),
        ("3.5", r"3\frac{1}{2}"),
        ("18", r"18 \text{ dollars}"),
        ("50", r"50\%"),
        (r"2\sqrt{2}", r"\sqrt{8}"),
        ("x+1", "1 + x"),
        ("5", "x = 5"),
        ("1000", "10^3"),
    ],
)
def test_equal_as_mathematics(true_answer: str, predicted: str) -> None:
    assert same_answer(true_answer, predicted)


@pytest.mark.parametrize(
    ("true_answer", "predicted"),
    [
        ("5", "6"),
        ("2125", "2,12"),
        ("21", "2,1"),
        ("12", "12.0001"),
        ("31/2", "3 1/2"),
        ("12", "1 2"),
        ("(1, 2)", "(2, 1)"),
        ("7", "seven or eight"),
        ("5", ""),
        ("5", "{"),
        ("5", "\\"),
        ("5", "1" * 5000),
        ("5", "\u0665"),
        ("5", "\n\n"),
        (r"\frac{1}{2}", r"\frac{1}{0}"),
    ],
)
def test_not_equal_and_never_an_error(true_answer: str, predicted: str) -> None:
    assert not same_answer(true_answer, predicted)


def test_an_answer_that_would_compute_for_ever_is_wrong_and_the_next_is_still_compared() -> None:
    """`9^{9^{9^9}}` in a box stopped the whole program: sympy evaluates it while holding the interpreter lock."""
    start = time.monotonic()
    assert not same_answer("5", "9^{9^{9^9}}")
    assert time.monotonic() - start < 30
    assert same_answer("1/4", r"\frac{3}{12}")


def test_ten_thousand_open_boxes_are_read_in_one_pass() -> None:
    assert last_boxed(r"\boxed{5}" + r"\boxed{" * 10_000) == "5"


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # what this test is about
def test_a_forked_process_compares_with_a_child_of_its_own() -> None:
    """Two processes on one pipe read each other's verdicts; hosts with shared GPUs fork their workers."""
    assert same_answer("1/5", r"\frac{2}{10}")
    pid = os.fork()
    if pid == 0:
        right = same_answer("1/6", r"\frac{2}{12}") and not same_answer("1/6", r"\frac{2}{13}")
        os._exit(0 if right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert same_answer("1/7", r"\frac{2}{14}")


def test_answers_are_compared_in_any_thread() -> None:
    results: list[bool] = []
    threads = [
        threading.Thread(target=lambda n=n: results.append(same_answer(f"{n}/3", rf"\frac{{{2 * n}}}{{6}}")))
        for n in range(1, 5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 4


@pytest.mark.parametrize(
    ("completion", "label"),
    [
        (" Water. Therefore, the answer is bathhouse (A).", "A"),
        (" Therefore, the answer is house (B).", "B"),
        ("Therefore, the answer is (B).", "B"),
        ("therefore the answer is (b)", "B"),
        ("Therefore, the answer is [B].", "B"),
        ("Therefore, the answer is **house (B)**.", "B"),
        ("Therefore, house (B) is the answer.", "B"),
        ("Therefore,\nthe answer is\n house\n (B).", "B"),
        # The label decides where label and text disagree.
        ("Therefore, the answer is house (A).", "A"),
        # By text: whole words, the longest first.
        ("Therefore, the answer is bathhouse.", "A"),
        ("Therefore, the answer is a house.", "B"),
        ("Therefore, the answer is HOUSE", "B"),
        ("Therefore, the answer is New  York.", "C"),
        ("Therefore, the answer is York.", "D"),
        ("Therefore, the answer is don\u2019t know.", "E"),
        ("Therefore, the answer is houses.", None),
        ("Therefore, the answer is birdhouse.", None),
        # The last "Therefore" and what is behind it.
        ("Therefore, it is not York (D). Therefore, the answer is house (B).", "B"),
        ("A house (B) has no bath. Therefore, the answer is bathhouse (A).", "A"),
        ("Therefore, as a house has rooms and York is far, the answer is bathhouse.", "A"),
        ("Therefore, of York (D) and house (B), the answer is house (B).", "B"),
        ("Therefore, the answer is house (B), because York (D) is a town.", "B"),
        ("Therefore, the answer is house (B).\n\nQuestion: Where is York (D)?", "B"),
        # Negated, undecided, absent.
        ("Therefore, the answer is not York (D) but house (B).", "B"),
        ("Therefore, the answer is not (D), it is (B).", "B"),
        ("Therefore, the answer is York (D) or house (B).", None),
        ("Therefore, the answer is (A) and (B).", None),
        ("Therefore, the answer is house/York.", None),
        ("Therefore, the answer is unclear.", None),
        ("Therefore, the answer is (F).", None),
        ("Therefore, the ans", None),
        ("It could be a house (B) or not.", None),
        ("It is not a house (B).", None),
        ("", None),
        # Other shapes that say a label.
        ("Therefore, the answer is B.", "B"),
        ("Therefore, the answer is **B**.", "B"),
        ("Therefore, the answer is option B.", "B"),
        (r"Therefore, the answer is \boxed{B}.", "B"),
        ("Therefore, the answer is: B", "B"),
        ("The answer is house (B).", "B"),
        ("Answer: B", "B"),
        # One in thirty published chains of thought only ends in "text (label)".
        ("One bathes in a bathhouse (a).", "A"),
        ("B", "B"),
        (" (B).", "B"),
        (" house", "B"),
        # An article is no label.
        ("Therefore, the answer is A house.", "B"),
    ],
)
def test_mc_answers(completion: str, label: str | None) -> None:
    assert extract_answer(completion, mc()) == label


def test_choices_that_look_like_labels_or_patterns() -> None:
    symbols = mc("Which is carbon?\nA. B\nB. C\nC. N (g)\nD. C++ (old.*)")
    assert extract_answer("Therefore, the answer is C (B).", symbols) == "B"
    assert extract_answer("Therefore, the answer is C.", symbols) == "B"
    assert extract_answer("Therefore, the answer is N (g) (C).", symbols) == "C"
    assert extract_answer("Therefore, the answer is C++ (old.*).", symbols) == "D"
    vitamins = mc("Which one?\nA. vitamin (C)\nB. vitamin D\nC. zinc")
    assert extract_answer("Therefore, the answer is vitamin (C) (A).", vitamins) == "A"
    assert extract_answer("Therefore, the answer is vitamin (C).", vitamins) == "A"
    numbers = mc("How many?\n1. 2\n2. 20\n3. 3.5")
    assert extract_answer("Therefore, the answer is 20 (2).", numbers) == "2"
    assert extract_answer("Therefore, the answer is 20.", numbers) == "2"
    assert extract_answer("Therefore, the answer is 3.5.", numbers) == "3"


def test_the_answer_is_never_read_from_the_prompt() -> None:
    """The published code looked into the prompt, which asks for a box, so every verdict on math was the same."""
    problem = problem_from_text(r"Is it \boxed{3}?", "math", "3")
    assert check_answer(" I do not know.", problem).is_correct is False


def test_verdicts() -> None:
    math = problem_from_text("What is 2000+125?", "math", "2125")
    right = check_answer(r" $\boxed{2,125}$", math)
    assert (right.true_answer, right.predicted_answer, right.is_correct) == ("2125", "2,125", True)
    assert check_answer(r" \boxed{5}", math).is_correct is False
    assert check_answer(" none", math).is_correct is False
    unknown = check_answer(r" \boxed{5}", problem_from_text("?", "math"))
    assert (unknown.predicted_answer, unknown.is_correct) == ("5", None)
    assert check_answer("Therefore, the answer is house (B).", mc(answer="B")).is_correct is True
    assert check_answer("Therefore, the answer is York (D).", mc(answer="B")).is_correct is False
    opened = check_answer(r" \boxed{5}", problem_from_text("Say 5", "open", "5"))
    assert (opened.predicted_answer, opened.is_correct) == (None, None)
