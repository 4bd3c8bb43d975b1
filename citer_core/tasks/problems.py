"""`Problem`: one question with its prompt and, where it is known, its answer.

Two ways in: what a person typed (`problem_from_text`) and a row of a data set (`problem_from_row`). Both validate here,
so that nothing behind them meets an empty question or a choice without a label. Knows nothing about files or models.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from citer_core.errors import DatasetError, PromptError
from citer_core.gate.excerpt import clean, excerpt
from citer_core.tasks.boxed import last_boxed
from citer_core.tasks.prompts import DATA_TYPES, DataType, math_prompt, mc_prompt, row_prompt

MAX_PROMPT_CHARS = 20_000
MAX_LABEL_WORDS = 120  # characters of all labels in a message
MC_EXAMPLE = "What is the capital of France?\nA. Paris\nB. Lyon"

# Rows of a data set in an official format, each with that format.
Rows = Sequence[tuple[Mapping[str, Any], DataType]]

# `A. Paris`, `B) Lyon`, `(C) Nice`, `4: Metz`
_CHOICE_LINE = re.compile(r"\s*(?:\((?P<in>[A-Za-z]|\d{1,2})\)|(?P<bare>[A-Za-z]|\d{1,2})[.):])\s+(?P<text>\S.*)")


@dataclass(frozen=True, slots=True)
class Problem:
    """One question, ready to be asked.

    Attributes:
        data_type: `math`, `mc` or `open`.
        question: as a person reads it, choices included.
        prompt: the exact text that the models read.
        true_answer: `math`: what the box should hold; `mc`: the right label; None where it is not known.
        choices: (label, text) pairs of an `mc` question in their order; empty otherwise.
        id: its name in its data set; None for a typed question.
    """

    data_type: DataType
    question: str
    prompt: str
    true_answer: str | None = None
    choices: tuple[tuple[str, str], ...] = ()
    id: str | None = None


def problem_from_text(text: str, data_type: DataType, true_answer: str | None = None) -> Problem:
    """Makes a problem of what a person typed.

    Args:
        text: `math`: the problem. `mc`: the question, then one choice a line (`A. Paris`, `B) Lyon` or `(C) Nice`).
            `open`: the prompt itself, to which no template is added.
        data_type: one of `DATA_TYPES`.
        true_answer: `math`: the answer, in a box or not; `mc`: the right label or the right choice's text. Blank is
            taken as not known. An `open` prompt is never marked, so it is ignored there.

    Raises:
        PromptError: the text is empty, too long or not text; an `mc` question without two choices of different labels;
            a true answer that is none of them.
    """
    if data_type not in DATA_TYPES:
        raise PromptError(f"The data type {excerpt(data_type)} does not exist: choose one of {', '.join(DATA_TYPES)}.")
    _check_text("The prompt" if data_type == "open" else "The question", text, PromptError)
    answer = (true_answer or "").strip() or None
    if data_type == "open":
        return Problem("open", text, text)
    if data_type == "math":
        question = text.strip()
        boxed = last_boxed(answer) if answer else None
        return Problem("math", question, math_prompt(question), boxed or answer)
    question, choices = _split_choices(text)
    label = _label_of(answer, choices) if answer else None
    if answer and label is None:
        raise PromptError(
            f"The true answer {excerpt(answer)} is not one of the choices: give one of {_labels(choices)}."
        )
    return Problem("mc", _readable(question, choices), _prompt_of(question, choices), label, choices)


def problem_from_row(row: Mapping[str, Any], data_type: DataType) -> Problem:
    """Makes a problem of one row in an official format.

    Args:
        row: `math`: `problem` and, where the answer is known, `solution` with it in a box. `mc`: `question`, `choices`
            with the lists `text` and `label`, and `answerKey` where it is known. An `id` is a string or a whole number.
        data_type: `math` or `mc`.

    Raises:
        DatasetError: a field is missing or wrong; the message names it.
    """
    if data_type == "open":
        raise DatasetError('A data set has the type "math" or "mc": a row of raw prompts has no official format.')
    row_id = _row_id(row)
    if data_type == "math":
        question = _field(row, "problem").strip()
        return Problem("math", question, row_prompt(row, "math"), _boxed_answer(row), id=row_id)
    question = _field(row, "question").strip()
    choices = _row_choices(row)
    key = row.get("answerKey")
    # Public test splits blank the key out instead of leaving the field away.
    label = None if key in (None, "") else _label_of(key, choices) if isinstance(key, str) else None
    if key not in (None, "") and label is None:
        raise DatasetError(f'"answerKey" is {excerpt(key)}, which is not one of the labels {_labels(choices)}.')
    return Problem("mc", _readable(question, choices), row_prompt(row, "mc"), label, choices, row_id)


def _check_text(what: str, text: str, error: type[PromptError | DatasetError]) -> None:
    if not text.strip():
        raise error(f"{what} is empty: write one.")
    if len(text) > MAX_PROMPT_CHARS:
        raise error(f"{what} has {len(text):,} characters: shorten it to {MAX_PROMPT_CHARS:,} or fewer.")
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise error(f"{what} holds half of a surrogate pair, which is not a character: save it again as UTF-8 text.")


def _split_choices(text: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The question, and the choices in the last lines of the text."""
    lines = [line for line in text.strip().splitlines() if line.strip()]
    choices: list[tuple[str, str]] = []
    while lines and (match := _CHOICE_LINE.fullmatch(lines[-1])):
        choices.append(((match["in"] or match["bare"]).upper(), match["text"].strip()))
        lines.pop()
    choices.reverse()
    if len(choices) < 2:
        raise PromptError(f"A multiple-choice question ends with two choices or more, one a line, like\n{MC_EXAMPLE}")
    if lines and lines[-1].strip().lower() == "choices:":
        lines.pop()
    question = "\n".join(lines).strip()
    if not question:
        raise PromptError(f"There are choices but no question above them. Write it like\n{MC_EXAMPLE}")
    _check_distinct(choices, PromptError, "The choices")
    return question, tuple(choices)


def _row_choices(row: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    found = row.get("choices")
    if not isinstance(found, Mapping):
        raise DatasetError('"choices" is missing or not an object: give {"text": [...], "label": [...]}.')
    columns: list[list[str]] = []
    for name in ("label", "text"):
        column = found.get(name)
        if not isinstance(column, list) or not all(isinstance(entry, str) for entry in column):
            raise DatasetError(f'"choices.{name}" is missing or not a list of strings.')
        for entry in column:
            _check_text(f'An entry of "choices.{name}"', entry, DatasetError)
        columns.append(column)
    labels, texts = columns
    if len(labels) != len(texts) or len(labels) < 2:
        raise DatasetError(
            f'"choices" has {len(labels)} labels and {len(texts)} texts: give as many of both, at least 2.'
        )
    choices = tuple((label.strip(), text.strip()) for label, text in zip(labels, texts, strict=True))
    _check_distinct(choices, DatasetError, '"choices"')
    return choices


def _check_distinct(choices: Sequence[tuple[str, str]], error: type[PromptError | DatasetError], what: str) -> None:
    labels = [label for label, _ in choices]
    if len({label.upper() for label in labels}) < len(labels):
        raise error(f"{what} use a label twice ({_labels(choices)}): give each its own.")


def _boxed_answer(row: Mapping[str, Any]) -> str | None:
    if row.get("solution") is None:
        return None
    answer = last_boxed(_field(row, "solution"))
    if answer is None:
        raise DatasetError('"solution" has no \\boxed{...} with the final answer: add it, or leave the field out.')
    return answer


def _row_id(row: Mapping[str, Any]) -> str | None:
    value = row.get("id")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
        raise DatasetError(f'"id" is {excerpt(value)}: give a string or a whole number, or leave the field out.')
    _check_text('"id"', str(value), DatasetError)
    return str(value)


def _field(row: Mapping[str, Any], name: str) -> str:
    if name not in row:
        raise DatasetError(
            f'"{name}" is missing (the row has {", ".join(map(excerpt, islice(row, 8))) or "no fields"}).'
        )
    value = row[name]
    if not isinstance(value, str):
        raise DatasetError(f'"{name}" is of the type {type(value).__name__}: give a string.')
    _check_text(f'"{name}"', value, DatasetError)
    return value


def _label_of(answer: str, choices: tuple[tuple[str, str], ...]) -> str | None:
    """The label that `answer` names, as a label (`B`, `(b)`) or as the text of exactly one choice."""
    wanted = answer.strip().strip("().").casefold()
    by_label = [label for label, _ in choices if label.casefold() == wanted]
    by_text = [label for label, text in choices if text.casefold() == answer.strip().casefold()]
    return next(iter(by_label or (by_text if len(by_text) == 1 else [])), None)


def _labels(choices: Sequence[tuple[str, str]]) -> str:
    return clean(", ".join(label for label, _ in choices)[:MAX_LABEL_WORDS])


def _readable(question: str, choices: tuple[tuple[str, str], ...]) -> str:
    return "\n".join([question, *(f"{label}. {text}" for label, text in choices)])


def _prompt_of(question: str, choices: tuple[tuple[str, str], ...]) -> str:
    return mc_prompt(question, [text for _, text in choices], [label for label, _ in choices])
