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


def asked(*texts: str) -> str:
    return "\n".join(["Which?", *(f"{chr(65 + i)}. {text}" for i, text in enumerate(texts))])


CITIES = asked("Lima", "Quito", "La Paz", "Bogota")
FORCES = asked("5", "50", "12", "120")
POWERS = asked("x", "x^2", "2x", "x^3")
LANGUAGES = asked("C", "C++", "C#", "Java")
GENES = asked("BB", "Bb", "bb", "b")
TWICE = asked("one", "one", "two")
TURKISH = asked("\u0130stanbul", "\u0131", "I", "ISI", "Stra\u00dfe")
SPEEDS = asked("1", "1 m/s", "1 m", "3/2")
CONCLUSIONS = asked("therefore", "however", "thus")
MARKS = asked("vitamin (C)", "N (g)", "It needs light.", "0,1", "\\frac{1}{2}", "not sure", "sure", "label", "A and B")


@pytest.mark.parametrize(
    ("question", "completion", "label"),
    [
        # Where an answer may stand.
        (CITIES, "The correct option is C.", "C"),
        (CITIES, "Answer\uff1a\uff08C\uff09\u3002", "C"),
        (CITIES, "The answer is \u3010C\u3011", "C"),
        (CITIES, "### Answer\n\nB", "B"),
        (CITIES, "**Answer:** B", "B"),
        (CITIES, "Answer: **B. Quito**", "B"),
        (CITIES, "<answer>\nB\n</answer>", "B"),
        (CITIES, "<think>The answer is A?</think><answer>B</answer>", "B"),
        (CITIES, r"The answer is \(\boxed{B}\).", "B"),
        (CITIES, "So\n\\[\n\\boxed{\\text{B. Quito}}\n\\]", "B"),
        (CITIES, r"$$\boxed{\mathrm{(B)}}$$", "B"),
        (CITIES, r"\boxed{\text{Quito}}", "B"),
        (CITIES, r"\boxed{b}", "B"),
        (CITIES, r"\boxed{B} is my answer", "B"),
        (CITIES, "The final answer is $\\boxed{A}$. I hope it is correct.", "A"),
        (CITIES, "Therefore, one looks at Lima. The correct answer is \\(\\boxed{D}\\).", "D"),
        (CITIES, "The answer is B. Therefore, one goes to Lima.", "B"),
        (CITIES, "One might say the answer is Lima (A). Therefore, it is Quito (B).", "B"),
        (CITIES, "A is wrong. B is wrong. C is correct. D is wrong.", "C"),
        (CITIES, "Thus (D) is the right answer.", "D"),
        (CITIES, "(A) or (B) is correct.", None),
        (CITIES, "I would choose option D.", "D"),
        (CITIES, "The answer could be A or B, but the answer is B.", "B"),
        (CITIES, "Answer: A\n\nQuestion: What else?\nTherefore, the answer is B.", "A"),
        (CITIES, "The answer is:\n\n**D) Bogota**", "D"),
        (CITIES, "B because it is in Ecuador.", "B"),
        (CITIES, "C. La Paz", "C"),
        (CITIES, "C) La Paz", "C"),
        (CITIES, "B\n\nExplanation: Lima is in Peru.", "B"),
        (CITIES, "Let me think. Lima is big.\nB", "B"),
        (CITIES, "A. Lima is in Peru.\nB. Quito is not.\nC. La Paz is not.\nD. Bogota is not.", None),
        # What counts as a mention.
        (CITIES, "Therefore, the answer is c.", "C"),
        (CITIES, "Therefore, the answer is C because I say so.", "C"),
        (CITIES, "The answer is La\nPaz, the seat.", "C"),
        (CITIES, "The answer is \u201cLA PAZ\u201d.", "C"),
        (CITIES, "The answer is Lima, not Quito (B).", "A"),
        (CITIES, "The answer is Lima because Quito (B) is in Ecuador.", "A"),
        (CITIES, "The answer is Quito city (C).", "C"),
        (CITIES, "The answer is Lima Quito (C).", "C"),
        (CITIES, "The answer is A, B", None),
        (CITIES, "The answer is both A and B.", None),
        (CITIES, "The answer is A/B.", None),
        (CITIES, "The answer is neither A nor B.", None),
        (CITIES, "The answer isn't A. The answer is B.", "B"),
        (CITIES, "The answer is Lima? No, the answer is 7.", None),
        (FORCES, "The answer is 5.", "A"),
        (FORCES, "The answer is $5$ newtons", "A"),
        *((FORCES, f"Therefore, the answer is {number}.", None)
          for number in ("0.5", ".5", "-5", "\u22125", "+5", "5/2", "5%", "5^2", "10^6", "1,120", "12:50", "5.0", "5x",
                         "2 \u00d7 5", "5 * 10^6", "\\boxed{-5}")),
        (POWERS, "The answer is $x^2$.", "B"),
        (POWERS, "The answer is x\u00b2.", "B"),
        (POWERS, "The answer is x.", "A"),
        (POWERS, "The answer is X.", None),
        (POWERS, "The answer is x^4.", None),
        (LANGUAGES, "The answer is C++.", "B"),
        (LANGUAGES, "The answer is C#.", "C"),
        (LANGUAGES, "The answer is C.", "A"),
        (LANGUAGES, "The answer is (C).", "C"),
        (GENES, "The answer is Bb.", "B"),
        (GENES, "The answer is bb", "C"),
        (GENES, "The answer is bB.", None),
        (TWICE, "The answer is one.", None),
        (TWICE, "The answer is one (B).", "B"),
        (TWICE, "The answer is two.", "C"),
        (TURKISH, "The answer is \u0130STANBUL.", "A"),
        (TURKISH, "The answer is \u0131.", "B"),
        (TURKISH, "The answer is \u0131s\u0131.", "D"),
        (TURKISH, "The answer is STRASSE.", "E"),
        (SPEEDS, "The answer is 1 m/s.", "B"),
        (SPEEDS, "The answer is 3/2.", "D"),
        (CONCLUSIONS, "The answer is therefore.", "A"),
        (CONCLUSIONS, "Therefore, the answer is however (B).", "B"),
        (MARKS, "Therefore, the answer is vitamin (C).", "A"),
        (MARKS, "Therefore, the answer is N (g) (B).", "B"),
        (MARKS, "The answer is it needs light", "C"),
        (MARKS, "The answer is 0,1.", "D"),
        (MARKS, r"\boxed{\dfrac{1}{2}}", "E"),
        (MARKS, "The answer is not sure.", "F"),
        (MARKS, "The answer is label.", "H"),
        (MARKS, "The answer is A and B.", "I"),
        (asked("B", "C", "N (g)"), "Therefore, the answer is C (B).", "B"),
        (asked("B", "C", "N (g)"), "Therefore, the answer is C.", "B"),
        ("How many?\n1. 2\n2. 20\n3. 3.5", "Therefore, the answer is 20 (2).", "2"),
        ("How many?\n1. 2\n2. 20\n3. 3.5", "Therefore, the answer is 20.", "2"),
        ("How many?\n1. 2\n2. 20\n3. 3.5", "Therefore, the answer is 3.5.", "3"),
        ("How many?\n1. none\n2. one\n3. seven", "Therefore, the answer is 3.", "3"),
    ],
)  # fmt: skip
def test_the_choice_that_a_careful_reader_takes(question: str, completion: str, label: str | None) -> None:
    assert extract_answer(completion, mc(question)) == label


def test_a_verdict_never_raises_over_odd_letters() -> None:
    """Letters of one length in one case and of another in the other broke a run that was done."""
    for letter in "\u0130\u0131\u00df\ufb03\u0149\u01f0\u03c2\u1e9e\u212a":
        problem = mc(asked(letter, f"{letter}{letter}", "other"), "A")
        assert check_answer(f"Therefore, the answer is {letter}.", problem).is_correct is True
        assert check_answer(f"Therefore, the answer is {letter}{letter}.", problem).is_correct is False


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
