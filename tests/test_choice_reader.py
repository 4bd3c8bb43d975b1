"""Which choice of a question is taken from an answer."""

import pytest

from citer_core.tasks.answers import check_answer, extract_answer
from citer_core.tasks.problems import Problem, problem_from_text

PLACES = "Where do you bathe?\nA. bathhouse\nB. house\nC. New York\nD. York\nE. don't know"


def mc(text: str = PLACES, answer: str | None = None) -> Problem:
    return problem_from_text(text, "mc", answer)


def asked(*texts: str) -> str:
    return "\n".join(["Which?", *(f"{chr(65 + i)}. {text}" for i, text in enumerate(texts))])


CITIES = asked("Lima", "Quito", "La Paz", "Bogota")
FORCES = asked("5", "50", "12", "120")
POWERS = asked("x", "x^2", "2x", "x^3")
FRACTIONS = asked("3", "3/2", "-3", "n+1")
SPEEDS = asked("1 m", "1 m/s", "1 m/s^2")
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
        (PLACES, " Water. Therefore, the answer is bathhouse (A).", "A"),
        (PLACES, " Therefore, the answer is house (B).", "B"),
        (PLACES, "Therefore, the answer is (B).", "B"),
        (PLACES, "therefore the answer is (b)", "B"),
        (PLACES, "Therefore, the answer is [B].", "B"),
        (PLACES, "Therefore, the answer is **house (B)**.", "B"),
        (PLACES, "Therefore, house (B) is the answer.", "B"),
        (PLACES, "Therefore,\nthe answer is\n house\n (B).", "B"),
        # The label decides where label and text disagree.
        (PLACES, "Therefore, the answer is house (A).", "A"),
        # By text: whole words, the longest first.
        (PLACES, "Therefore, the answer is bathhouse.", "A"),
        (PLACES, "Therefore, the answer is a house.", "B"),
        (PLACES, "Therefore, the answer is HOUSE", "B"),
        (PLACES, "Therefore, the answer is New  York.", "C"),
        (PLACES, "Therefore, the answer is York.", "D"),
        (PLACES, "Therefore, the answer is don\u2019t know.", "E"),
        (PLACES, "Therefore, the answer is houses.", None),
        (PLACES, "Therefore, the answer is birdhouse.", None),
        # The last "Therefore" and what is behind it.
        (PLACES, "Therefore, it is not York (D). Therefore, the answer is house (B).", "B"),
        (PLACES, "A house (B) has no bath. Therefore, the answer is bathhouse (A).", "A"),
        (PLACES, "Therefore, as a house has rooms and York is far, the answer is bathhouse.", "A"),
        (PLACES, "Therefore, of York (D) and house (B), the answer is house (B).", "B"),
        (PLACES, "Therefore, the answer is house (B), because York (D) is a town.", "B"),
        (PLACES, "Therefore, the answer is house (B).\n\nQuestion: Where is York (D)?", "B"),
        # Negated, undecided, absent.
        (PLACES, "Therefore, the answer is not York (D) but house (B).", "B"),
        (PLACES, "Therefore, the answer is not (D), it is (B).", "B"),
        (PLACES, "Therefore, the answer is York (D) or house (B).", None),
        (PLACES, "Therefore, the answer is (A) and (B).", None),
        (PLACES, "Therefore, the answer is house/York.", None),
        (PLACES, "Therefore, the answer is unclear.", None),
        (PLACES, "Therefore, the answer is (F).", None),
        (PLACES, "Therefore, the ans", None),
        (PLACES, "It could be a house (B) or not.", None),
        (PLACES, "It is not a house (B).", None),
        (PLACES, "", None),
        # Other shapes that say a label.
        (PLACES, "Therefore, the answer is B.", "B"),
        (PLACES, "Therefore, the answer is **B**.", "B"),
        (PLACES, "Therefore, the answer is option B.", "B"),
        (PLACES, r"Therefore, the answer is \boxed{B}.", "B"),
        (PLACES, "Therefore, the answer is: B", "B"),
        (PLACES, "The answer is house (B).", "B"),
        (PLACES, "Answer: B", "B"),
        # One in thirty published chains of thought only ends in "text (label)".
        (PLACES, "One bathes in a bathhouse (a).", "A"),
        (PLACES, "B", "B"),
        (PLACES, " (B).", "B"),
        (PLACES, " house", "B"),
        # An article is no label.
        (PLACES, "Therefore, the answer is A house.", "B"),
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
        (CITIES, "The city in Peru is Lima.", "A"),
        (CITIES, "The city in Peru is not Lima.", None),
        (CITIES, "I think it's B because Quito is high.", "B"),
        # LaTeX or spaces in one of both: the same text.
        (FRACTIONS, r"The answer is $\frac{3}{2}$.", "B"),
        (FRACTIONS, "x = -3", "C"),
        (FRACTIONS, r"The answer is $\frac{3}{20}$.", None),
        (FRACTIONS, "The answer is n + 1.", "D"),
        (FRACTIONS, "The answer is n - 1.", None),
        (POWERS, r"The answer is $x^{2}$.", "B"),
        (POWERS, r"The answer is \(x^{20}\).", None),
        (SPEEDS, r"The answer is $1\,\mathrm{m/s}$.", "B"),
        (SPEEDS, r"\boxed{1 \text{ m}}", "A"),
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


def test_verdicts_on_a_choice() -> None:
    assert check_answer("Therefore, the answer is house (B).", mc(answer="B")).is_correct is True
    assert check_answer("Therefore, the answer is York (D).", mc(answer="B")).is_correct is False
