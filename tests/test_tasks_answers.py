"""Final answers: what is taken for one, and what counts as equal."""

import os
import subprocess
import sys
import threading

import pytest

from citer_core.tasks import equivalence
from citer_core.tasks.answers import check_answer
from citer_core.tasks.boxed import last_boxed
from citer_core.tasks.equivalence import same_answer
from citer_core.tasks.problems import problem_from_text


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
        ("0.5", r"\frac{1}{2}"),
        ("1/2", r"\dfrac{2}{4}"),
        ("3.5", r"3\frac{1}{2}"),
        ("3.5", "3 1/2"),
        ("3.5", "3\u00bd"),
        ("-0.5", r"\frac{-1}{2}"),
        ("0.001", "1e-3"),
        ("1500000", r"1.5\times10^{6}"),
        ("1500", "1.5\u00d710^3"),
        ("13", "1101_2"),
        ("5", "\u0665"),
        ("12", "\uff11\uff12"),
        ("-5", "\u20135"),
        ("12500", "12\u202f500"),
        ("12500", r"12\ 500"),
        ("12500", "**12,500**"),
        ("18", "18\u3002"),
        ("18", "18\\\\"),
        ("13", r"\text{13}"),
        # A unit stands apart, or is marked up as text.
        ("18", r"18 \text{ dollars}"),
        ("12500", "12,500 dollars"),
        ("12", r"12\,\mathrm{cm}^2"),
        ("12", "12 m"),
        ("9.8", r"9.8\ \mathrm{m/s^2}"),
        ("5", "\u20ac5"),
        ("25", r"25^{\circ}\text{C}"),
        ("36", "36\u00b0"),
        ("5 mph", r"5\text{ miles per hour}"),
        ("5 cm", "5 centimeters"),
        ("50", r"50\%"),
        ("0.5", r"50\%"),
        ("12.5", r"12\frac{1}{2}\%"),
        ("12.5", "12.5 percent"),
        (r"\text{Yes}", "yes"),
        ("C", r"\text{(C)}"),
        ("C", r"\textbf{(C)}\ 12"),
        ("12", r"\textbf{(C)}\ 12"),
        (r"\text{B}", "(B)"),
        ("255", "FF_{16}"),
        (r"\frac12", r"\sin 30^\circ"),
        # From here on the child process decides.
        (r"2\sqrt{2}", r"\sqrt{8}"),
        (r"\sqrt{2}", "\u221a2"),
        ("x+1", "1 + x"),
        ("(A)(B)", "AB"),
        ("5", "x = 5"),
        ("1000", "10^3"),
        (r"\frac{1}{\sqrt{2}}c", r"\frac{c}{\sqrt{2}}"),
        (r"2\sqrt{3}\text{ cm}", r"2\sqrt{3}"),
        ("(1+i)^2", "2i"),
        ("14 - i", "14.0 + -1.0i"),
        (r"(-\infty,3]", r"x \le 3"),
        (r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}", r"\begin{pmatrix}1\\2\end{pmatrix}"),
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
        ("x", "X"),
        ("2x+1", "2X+1"),
        ("ab", "AB"),
        ("2", "2m"),
        ("3", "3t"),
        ("5", "5 x"),
        ("5", r"5 \text{ red and } 3 \text{ blue}"),
        ("1101_2", "1101_3"),
        ("101_2", "101"),
        (r"\sin 30^\circ", r"\sin 30"),
        (r"\text{B}", "(C)"),
        ("0.5", "50"),
        (r"50\%", "5"),
        (r"\text{(C)}", "D"),
        (r"\textbf{(C)}\ 12", "13"),
        (r"\frac{1}{2^{99}}", r"\frac{1}{2^{98}}"),
        (r"\frac{1}{2004!}", r"\frac{1}{2006!}"),
        (r"\frac{\sqrt2}{10^{30}}", r"\frac{\sqrt3}{10^{30}}"),
        ("10^{-7}", "0.0000005"),
        ("1/3", "0.333333"),
        ("x_1", "x_2"),
        ("12", "1 2"),
        ("(1, 2)", "(2, 1)"),
        ("7", "seven or eight"),
        ("5", ""),
        ("5", "{"),
        ("5", "\\"),
        ("5", "1" * 5000),
        ("6", "\u0665"),
        ("5", "\n\n"),
        (r"\frac{1}{2}", r"\frac{1}{0}"),
    ],
)
def test_not_equal_and_never_an_error(true_answer: str, predicted: str) -> None:
    assert not same_answer(true_answer, predicted)


IMPATIENT = "from citer_core.tasks import math_worker as w; w.SECONDS_PER_PAIR = 1.0; w.main()"


def test_an_answer_that_would_compute_for_ever_is_wrong_and_the_next_is_still_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`9^{9^{9^9}}` in a box stopped the whole program: sympy evaluates it while holding the interpreter lock."""
    begin = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda _, **how: begin([sys.executable, "-c", IMPATIENT], **how))
    equivalence._WORKER.close()
    try:
        assert not same_answer("5", "9^{9^{9^9}}")
        assert same_answer("1/4", r"\frac{3}{12}")
    finally:
        equivalence._WORKER.close()


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
    opened = check_answer(r" \boxed{5}", problem_from_text("Say 5", "open", "5"))
    assert (opened.predicted_answer, opened.is_correct) == (None, None)
