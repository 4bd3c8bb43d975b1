"""Multiple-choice questions in the `mc` format, made from the fact tables in `facts/*.toml`.

The facts are the same in training and in the held-out set (a model cannot recall a capital that it never read); what is
unseen there is the combination of question, phrasing, options and their order. Knows nothing about models or tokens.
"""

from __future__ import annotations

import random
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from citer_core.embedded.wording import say, sentence

LABELS = "ABCDE"


@dataclass(frozen=True, slots=True)
class Relation:
    """One table of facts.

    Attributes:
        name: its name in the fact table.
        questions: phrasings with `{subject}`.
        explanations: sentences that state the fact, with both `{subject}` and `{answer}`, most usual first.
        facts: (subject, answer) pairs.
    """

    name: str
    questions: tuple[str, ...]
    explanations: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]

    @property
    def options(self) -> tuple[str, ...]:
        """Every answer of the relation, once: the pool of distractors."""
        return tuple(dict.fromkeys(answer for _, answer in self.facts))


@cache
def relations() -> tuple[Relation, ...]:
    """All relations of the fact tables, in the order of their files."""
    found = []
    for path in sorted((Path(__file__).parent / "facts").glob("*.toml")):
        for block in tomllib.loads(path.read_text(encoding="utf-8"))["relation"]:
            facts = tuple((subject, answer) for subject, answer in block["pairs"])
            found.append(Relation(block["name"], tuple(block["questions"]), tuple(block["explanations"]), facts))
    return tuple(found)


@cache
def _all_facts() -> tuple[tuple[Relation, str, str], ...]:
    """Every fact with its relation: sampling from it gives each fact the same weight."""
    return tuple((relation, *fact) for relation in relations() for fact in relation.facts)


@cache
def _options(relation: Relation) -> tuple[str, ...]:
    return relation.options


def n_facts() -> int:
    """How many facts the tables hold."""
    return len(_all_facts())


# How a sentence of an explanation can go: what leads to the fact, what leads to the choices, and for each choice the
# verb and what follows a wrong and the right one.
KNOWN = ("", "We know this: ", "It is known: ", "Remember: ")
CHOICES = ("", "Look at the choices: ", "Of the choices, ", "Now the choices: ")
VERBS = (" is ", " says ", " has ", " gives ")
WRONG = ("; ", ", no; ", ", not this; ", ", wrong; ")
RIGHT = (".", ", yes.", ", this is it.", ", right.")


def _read_choices(rng: random.Random, texts: list[str]) -> str:
    """The choices up to the right one, which is the last of `texts`, read one by one.

    Going from a text straight back to the letter in front of it is what models of this size do not learn in hours.
    Where to stop is decided on the text itself.
    """
    parts: list[str] = []
    for label, text in zip(LABELS, texts, strict=False):
        parts += [label, say(rng, *VERBS), text, say(rng, *(WRONG if len(parts) < 4 * (len(texts) - 1) else RIGHT))]
    return say(rng, *CHOICES) + "".join(parts)


def _row(rng: random.Random, question: str, explanation: str, right: str, pool: tuple[str, ...]) -> dict[str, Any]:
    """A row with four or five shuffled options, of which exactly one is `right`."""
    n_options = min(rng.choice((4, 5, 5, 5)), len(pool))
    texts = rng.sample([text for text in pool if text != right], n_options - 1)
    texts.insert(rng.randrange(n_options), right)
    label = LABELS[texts.index(right)]
    reading = _read_choices(rng, texts[: LABELS.index(label) + 1])
    return {
        "question": question,
        "choices": {"text": texts, "label": list(LABELS[:n_options])},
        "answerKey": label,
        "cot": f"{explanation} {reading} Therefore, the answer is {right} ({label}).",
    }


def _fact(rng: random.Random, relation: Relation, subject: str, answer: str) -> str:
    """The fact as one sentence, in one of its wordings."""
    stated = say(rng, *relation.explanations).format(subject=subject, answer=answer)
    return sentence(say(rng, *KNOWN) + stated)


LEADS = ("Tell me: ", "Quick question: ", "Do you know? ", "A question: ", "Please answer: ")
AS_SENTENCE, WITH_LEAD, WITHOUT_MARK = 0.2, 0.12, 0.06


def _question(rng: random.Random, relation: Relation, subject: str) -> str:
    """A question as people type it: one of the relation's phrasings, or the sentence that lacks its end."""
    ends = [text.removesuffix("{answer}.") for text in relation.explanations if text.endswith(" {answer}.")]
    if ends and rng.random() < AS_SENTENCE:
        return sentence(rng.choice(ends).format(subject=subject)) + rng.choice(("...", "what?", "which?"))
    question = rng.choice(relation.questions).format(subject=subject)
    if rng.random() < WITH_LEAD:
        return rng.choice(LEADS) + question
    return question.removesuffix("?") if rng.random() < WITHOUT_MARK else question


def _ask(rng: random.Random) -> tuple[Relation, str, str, str]:
    """A fact as (relation, question, explanation, answer)."""
    relation, subject, answer = rng.choice(_all_facts())
    question = _question(rng, relation, subject)
    return relation, question, _fact(rng, relation, subject, answer), answer


def sample(rng: random.Random) -> dict[str, Any]:
    """One row of the `mc` format: `question`, `choices`, `answerKey`, `cot`.

    Args:
        rng: source of all randomness; the same state gives the same row.
    """
    relation, question, explanation, answer = _ask(rng)
    return _row(rng, question, explanation, answer, _options(relation))


def sample_recall(rng: random.Random) -> tuple[str, str]:
    """A fact asked closed-book, as (prompt, completion): no options to choose from, so it has to be known."""
    _, question, explanation, _ = _ask(rng)
    return f"Question: {question}\nAnswer:", f" {explanation}"


@cache
def vocabulary() -> tuple[str, ...]:
    """Every answer of the fact tables, sorted."""
    return tuple(sorted({text for relation in relations() for text in relation.options}))


# A few words that come up again and again: recognizing an earlier mention of a word is learned on few words first.
COMMON = (
    "green four five six seven ten bird fish insect mammal old white sour calf Asia Africa France Spain Japan".split()
)


def sample_lookup(rng: random.Random) -> dict[str, Any]:
    """A drill that needs no fact, only to find a named option: half a small model's trouble with multiple choice."""
    pool = tuple(rng.sample(COMMON if rng.random() < 0.75 else vocabulary(), 4))
    return _row(rng, f"Which option is {pool[0]}?", f"The option is {pool[0]}.", pool[0], pool)
