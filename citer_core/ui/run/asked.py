"""What a run is asked with, from the page or a program: one object keyed by name in, checked values out.

    {"question": "1 + 1?", "data_type": "math", "router": "citer", "settings": {"threshold": 0.7}}

Nobody holds a program to the kinds that the form shows. Knows the problem book, no engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from citer_core.decode_settings import DecodeSettings, read_settings
from citer_core.errors import GateError, PromptError, SettingError
from citer_core.gate.excerpt import excerpt
from citer_core.gate.json_text import parse_json
from citer_core.tasks.problems import Problem
from citer_core.tasks.prompts import DATA_TYPES
from citer_core.ui.problem_book import ProblemBook

MAX_ROUTER_CHARS = 200
MAX_REQUEST_CHARS = 1_000_000  # a question that is too long is told so by whoever reads questions
NAMES = ("question", "data_type", "router", "settings", "true_answer")
MAX_ANSWER_CHARS = 1_000


@dataclass(frozen=True, slots=True)
class AskedRun:
    """One run to be started; `router` is None for the default."""

    problem: Problem
    router: str | None
    settings: DecodeSettings


def read_asked(book: ProblemBook, text: object) -> AskedRun:
    """Reads the page's request, which `assets/app/form.js` puts together.

    Args:
        book: see `asked_run`.
        text: the object above as JSON.

    Raises:
        CiterError: it is none; it names something else; see `asked_run`.
    """
    try:
        given = parse_json(text, max_chars=MAX_REQUEST_CHARS)
    except GateError as error:
        raise SettingError(f"The request for a run cannot be read: {error}") from None
    names = ", ".join(NAMES)
    if not isinstance(given, Mapping):
        raise SettingError(f"The request for a run is {excerpt(given)}; it must be an object that may hold {names}.")
    for name in given:
        if name not in NAMES:
            raise SettingError(f"A run cannot be asked with {excerpt(name)}: the request may hold {names}.")
    return asked_run(book, **{name: given.get(name) for name in NAMES})


def asked_run(
    book: ProblemBook,
    *,
    question: object,
    data_type: object,
    router: object,
    settings: object,
    true_answer: object = None,
) -> AskedRun:
    """Reads what a run is asked with.

    Args:
        book: the bundled problems, whose answers are known.
        question, data_type: see `problem_from_text`; nothing is an empty question.
        router: a name; nothing or "" for the default.
        settings: see `read_settings`.
        true_answer: to judge by, see `problem_from_text`; nothing or "" for what the book knows.

    Raises:
        CiterError: one of them is of another kind or outside its range.
    """
    checked = DecodeSettings(**read_settings(settings))
    if question is not None and not isinstance(question, str):
        raise PromptError(f"The question is {excerpt(question)}: give a text.")
    if data_type not in DATA_TYPES:
        raise SettingError(f"data_type is {excerpt(data_type)}: give one of {', '.join(DATA_TYPES)}.")
    if router is not None and (not isinstance(router, str) or len(router) > MAX_ROUTER_CHARS):
        raise SettingError(f"router is {excerpt(router)}: give the name of a router, or nothing for the default.")
    if true_answer is not None and (not isinstance(true_answer, str) or len(true_answer) > MAX_ANSWER_CHARS):
        raise SettingError(f"The expected answer is {excerpt(true_answer)}: give a short text, or nothing.")
    return AskedRun(book.problem(question or "", data_type, true_answer or ""), router or None, checked)
