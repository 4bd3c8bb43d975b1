"""The final answer of a completion, and whether it is right.

Reads the completion only, never the prompt: a prompt may quote a box or a choice of its own. Knows nothing about
models; comparing mathematics is `equivalence`'s business.
"""

from __future__ import annotations

from citer_core.tasks.boxed import last_boxed
from citer_core.tasks.choice_reader import ChoiceReader
from citer_core.tasks.equivalence import same_answer
from citer_core.tasks.problems import Problem
from citer_core.trace import AnswerInfo


def extract_answer(completion: str, problem: Problem) -> str | None:
    """The answer that the completion gives.

    Args:
        completion: what the models wrote, without the prompt.
        problem: its type decides how to read it; its choices are what an `mc` answer can be.

    Returns:
        `math`: the content of the last balanced `\\boxed{}`. `mc`: the label named after the last "Therefore", written
        as a label ("(B)") or as that choice's text. None where there is no answer, where an `mc` answer names two
        choices at once, and for `open`.
    """
    if problem.data_type == "math":
        return last_boxed(completion)
    if problem.data_type == "mc":
        return ChoiceReader(problem.choices).label(completion)
    return None


def check_answer(completion: str, problem: Problem) -> AnswerInfo:
    """Compares the completion's answer with the known one. Never raises, may be called from any thread.

    Returns:
        Both answers; `is_correct` is None where the true one is not known, and False where it is and none was given.
    """
    predicted = extract_answer(completion, problem)
    true_answer = problem.true_answer
    if true_answer is None or problem.data_type == "open":
        return AnswerInfo(true_answer, predicted, None)
    if predicted is None:
        return AnswerInfo(true_answer, None, False)
    right = predicted == true_answer if problem.data_type == "mc" else same_answer(true_answer, predicted)
    return AnswerInfo(true_answer, predicted, right)
