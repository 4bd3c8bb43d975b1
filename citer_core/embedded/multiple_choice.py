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

from citer_core.tasks.prompts import mc_prompt

LABELS = "ABCDE"


@dataclass(frozen=True, slots=True)
class Relation:
    """One table of facts.

    Attributes:
        name: its name in the fact table.
        questions: phrasings with `{subject}`.
        explanation: a sentence that states the fact, with both `{subject}` and `{answer}`.
        facts: (subject, answer) pairs.
    """

    name: str
    questions: tuple[str, ...]
    explanation: str
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
            found.append(Relation(block["name"], tuple(block["questions"]), block["explanation"], facts))
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


def _row(rng: random.Random, question: str, explanation: str, right: str, pool: tuple[str, ...]) -> dict[str, Any]:
    """A row with three to five shuffled options, of which exactly one is `right`."""
    n_options = min(rng.choice((3, 4, 4, 5, 5)), len(pool))
    texts = rng.sample([text for text in pool if text != right], n_options - 1)
    texts.insert(rng.randrange(n_options), right)
    label = LABELS[texts.index(right)]
    return {
        "question": question,
        "choices": {"text": texts, "label": list(LABELS[:n_options])},
        "answerKey": label,
        "cot": f"{explanation} Therefore, the answer is {right} ({label}).",
    }


def _ask(rng: random.Random) -> tuple[Relation, str, str, str]:
    """A fact as (relation, question, explanation, answer)."""
    relation, subject, answer = rng.choice(_all_facts())
    question = rng.choice(relation.questions).format(subject=subject)
    return relation, question, relation.explanation.format(subject=subject, answer=answer), answer


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
def _vocabulary() -> tuple[str, ...]:
    return tuple(sorted({text for relation in relations() for text in relation.options}))


def sample_lookup(rng: random.Random) -> tuple[str, str]:
    """The letter of each of several named options, as (prompt, completion).

    Needs no fact: going from an option's text to its letter is what a small model learns last in multiple choice, and
    one such text asks for it up to five times.
    """
    n_options = rng.randint(3, 5)
    texts = rng.sample(_vocabulary(), n_options)
    labels = LABELS[:n_options]
    named = list(zip(labels, texts, strict=True))
    rng.shuffle(named)
    completion = "".join(f" {text} ({label})." for label, text in named)
    return mc_prompt("Which letter has which text?", texts, labels), completion
