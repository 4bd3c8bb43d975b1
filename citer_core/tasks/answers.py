"""The final answer of a completion, and whether it is right.

Reads the completion only, never the prompt: a prompt may quote a box or a choice of its own. Knows nothing about
models; comparing mathematics is `equivalence`'s business.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from citer_core.tasks.boxed import last_boxed
from citer_core.tasks.equivalence import same_answer
from citer_core.tasks.problems import Problem
from citer_core.trace import AnswerInfo

Choices = Sequence[tuple[str, str]]

_APOSTROPHES = str.maketrans("\u2018\u2019\u02bc", "'''")
_THEREFORE = re.compile(r"\btherefore\b", re.IGNORECASE)
_ANSWER_IS = re.compile(r"\banswer\s*(?:is\b|:)", re.IGNORECASE)
_NEGATED = re.compile(r"(?:\bnot|n't|\bneither|\bnor)\s+(?:(?:the|a|an)\s+)?[\W_]*$", re.IGNORECASE)
_NEGATION_CHARS = 24  # a negation stands right before what it negates
_JOINED = re.compile(r"[\s*_]*(?:/|\b(?:or|and)\b)[\s*_]*(?:(?:the|a|an)\s+)?", re.IGNORECASE)
# A blank line or a new question: a model that runs on starts the next exercise.
_END_OF_ANSWER = re.compile(r"\n\s*\n|\n\s*Question:")
# An answer is named within so many characters behind "Therefore", or at the end of a short text. A text may have any
# length and choices 20,000 characters, all alike: each place in it is compared with each of them.
_SPAN_CHARS = 1_000


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
        return _chosen_label(completion, problem.choices)
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


@dataclass(frozen=True, slots=True)
class _Mention:
    """A choice named in the text.

    Attributes:
        label: of the choice.
        by_label: named by its label, possibly with its text before it; otherwise by its text alone.
        start, end: where, in characters.
    """

    label: str
    by_label: bool
    start: int
    end: int


def _chosen_label(completion: str, choices: Choices) -> str | None:
    text = completion.translate(_APOSTROPHES)
    spans = _answer_spans(text)
    for span in spans:
        mentions = [m for m in _mentions(span, choices) if not _is_negated(span, m)]
        named = [m for m in mentions if m.by_label] or mentions
        if named:
            return None if _is_undecided(span, mentions, named[0]) else named[0].label
        if bare := _bare_label(span, choices):
            return bare
    if spans:
        return None
    # Without a conclusion in so many words: all that was written is a choice ("B", "Paris"), or it ends in a label.
    whole = text.strip().strip("*.").strip()[-_SPAN_CHARS:]
    for mention in _mentions(whole, choices):
        is_whole = mention.start == 0 and mention.end == len(whole)
        if is_whole or (mention.by_label and mention.end == len(whole) and not _is_negated(whole, mention)):
            return mention.label
    return next((label for label, _ in choices if label == whole), None)


def _answer_spans(text: str) -> list[str]:
    """Where to look, best first: after "answer is" behind the last "Therefore", then behind that "Therefore"."""
    conclusions = list(_THEREFORE.finditer(text))
    stated = [] if conclusions else list(_ANSWER_IS.finditer(text))
    if not conclusions and not stated:
        return []
    tail = text[(conclusions or stated)[-1].end() :].lstrip()
    if end := _END_OF_ANSWER.search(tail):
        tail = tail[: end.start()]
    if conclusions and (stated := list(_ANSWER_IS.finditer(tail))):
        return [tail[stated[-1].end() :][:_SPAN_CHARS], tail[:_SPAN_CHARS]]
    return [tail[:_SPAN_CHARS]]


def _mentions(span: str, choices: Choices) -> list[_Mention]:
    """Every choice named in `span`, in order; the longest text wins where several begin at one place."""
    by_text = {_key(text): label for label, text in choices}
    by_label = {label.casefold(): label for label, _ in choices}
    # A pattern of 20,000 characters takes longer to make than to look for: of choices that do not occur there is none.
    searched = _key(span)
    found_texts = [text for _, text in choices if _key(text) in searched]
    texts = "|".join(sorted(map(_text_pattern, found_texts), key=len, reverse=True)) or "(?!)"
    labels = "|".join(re.escape(label) for label, _ in choices)
    in_brackets = rf"[(\[]\s*(?P<label>{labels})\s*[)\]]"
    pattern = rf"(?P<text>{texts})(?:[\s*_.,:$}}\"']*{in_brackets})?|{in_brackets.replace('label', 'alone')}"
    found = []
    for match in re.finditer(pattern, span, re.IGNORECASE):
        label = match["label"] or match["alone"]
        found.append(
            _Mention(by_label[label.casefold()], True, *match.span())
            if label
            else _Mention(by_text[_key(match["text"])], False, *match.span())
        )
    return found


def _text_pattern(text: str) -> str:
    """The choice as a whole phrase: `house` is not in `bathhouse`, and a lone letter keeps its case."""
    words = r"\s+".join(re.escape(word) for word in text.translate(_APOSTROPHES).split())
    return rf"(?<!\w)(?-i:{words})(?!\w)" if len(text) == 1 else rf"(?<!\w){words}(?!\w)"


def _key(text: str) -> str:
    return " ".join(text.translate(_APOSTROPHES).split()).casefold()


def _is_negated(span: str, mention: _Mention) -> bool:
    return bool(_NEGATED.search(span, max(0, mention.start - _NEGATION_CHARS), mention.start))


def _is_undecided(span: str, mentions: list[_Mention], chosen: _Mention) -> bool:
    """Whether the next mention is another choice, joined by "or", "and" or "/"."""
    for after in mentions:
        if after.start >= chosen.end:
            return after.label != chosen.label and bool(_JOINED.fullmatch(span, chosen.end, after.start))
    return False


def _bare_label(span: str, choices: Choices) -> str | None:
    """A label without brackets at the start of the span: `B.`, `**B**`, `option B`, `\\boxed{B}`."""
    labels = "|".join(re.escape(label) for label, _ in choices)
    lead = r"[\s*_\"'`$:,]*(?:(?:the\s+)?(?:answer|option|choice)(?:\s+is)?[\s:]+)?(?:\\(?:boxed|text)\{\s*)*[*_]*"
    match = re.match(rf"{lead}(?P<label>{labels})(?=[\s*_]*(?:[.,;:!)}}*$]|$|\n))", span)
    return match["label"] if match else None
