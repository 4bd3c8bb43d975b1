"""What a run is asked with, from the page's controls or a program: anything in, checked values out, one way for both.

gradio does not hold a program to the kinds that a control shows. Knows the problem book, no components and no engine.
"""

from __future__ import annotations

from dataclasses import dataclass

from citer_core.errors import PromptError, SettingError
from citer_core.gate.excerpt import excerpt
from citer_core.tasks.problems import Problem
from citer_core.tasks.prompts import DATA_TYPES
from citer_core.types import DecodeSettings
from citer_core.ui.problem_book import ProblemBook

MAX_ROUTER_CHARS = 200


@dataclass(frozen=True, slots=True)
class AskedRun:
    """One run to be started; `router` is None for the default."""

    problem: Problem
    router: str | None
    settings: DecodeSettings


def asked_run(
    book: ProblemBook,
    *,
    question: object,
    data_type: object,
    threshold: object,
    router: object,
    max_new_tokens: object,
    temperature: object,
    top_p: object,
    seed: object,
) -> AskedRun:
    """Reads the eight values that a run is asked with.

    Args:
        book: the bundled problems, whose answers are known.
        question, data_type: see `problem_from_text`; nothing is an empty question.
        threshold, max_new_tokens, temperature, top_p, seed: see `DecodeSettings`.
        router: a name; nothing or "" for the default.

    Raises:
        CiterError: one of them is of another kind or outside its range.
    """
    settings = DecodeSettings(threshold, max_new_tokens, temperature, top_p, seed)  # type: ignore[arg-type]  # it looks
    if question is not None and not isinstance(question, str):
        raise PromptError(f"The question is {excerpt(question)}: give a text.")
    if data_type not in DATA_TYPES:
        raise SettingError(f"data_type is {excerpt(data_type)}: give one of {', '.join(DATA_TYPES)}.")
    if router is not None and (not isinstance(router, str) or len(router) > MAX_ROUTER_CHARS):
        raise SettingError(f"router is {excerpt(router)}: give the name of a router, or nothing for the default.")
    return AskedRun(book.problem(question or "", data_type), router or None, settings)
