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

LABELS = "ABCDE"


@dataclass(frozen=True, slots=True)
class Relation:
    """One table of facts read in one direction.

    Attributes:
        name: its name in the fact table, with `_inverse` where it is read backwards.
        questions: phrasings with `{subject}` (read backwards: with `{answer}`).
        explanation: a sentence that states the fact, with both `{subject}` and `{answer}`.
        facts: (subject, answer) as the table has them.
        backwards: the question gives the answer and asks for the subject.
    """

    name: str
    questions: tuple[str, ...]
    explanation: str
    facts: tuple[tuple[str, str], ...]
    backwards: bool

    @property
    def options(self) -> tuple[str, ...]:
        """Every right answer of the relation, once each: the pool of distractors."""
        return tuple(dict.fromkeys(fact[0 if self.backwards else 1] for fact in self.facts))


@cache
def relations() -> tuple[Relation, ...]:
    """All relations of the fact tables, in the order of their files; one-to-one tables also read backwards."""
    found = []
    for path in sorted((Path(__file__).parent / "facts").glob("*.toml")):
        for block in tomllib.loads(path.read_text(encoding="utf-8"))["relation"]:
            facts = tuple((subject, answer) for subject, answer in block["pairs"])
            found.append(Relation(block["name"], tuple(block["questions"]), block["explanation"], facts, False))
            if inverse := block.get("inverse_questions"):
                name = f"{block['name']}_inverse"
                found.append(Relation(name, tuple(inverse), block["inverse_explanation"], facts, True))
    return tuple(found)


@cache
def _all_facts() -> tuple[tuple[Relation, int], ...]:
    """Every (relation, index of a fact): sampling from it gives each fact the same weight."""
    return tuple((relation, i) for relation in relations() for i in range(len(relation.facts)))


@cache
def _options(relation: Relation) -> tuple[str, ...]:
    return relation.options


def n_facts() -> int:
    """How many distinct facts the tables hold (a fact that is also asked backwards counts once)."""
    return sum(len(r.facts) for r in relations() if not r.backwards)


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


def sample(rng: random.Random) -> dict[str, Any]:
    """One row of the `mc` format: `question`, `choices`, `answerKey`, `cot`.

    Args:
        rng: source of all randomness; the same state gives the same row.
    """
    relation, index = rng.choice(_all_facts())
    subject, answer = relation.facts[index]
    question = rng.choice(relation.questions).format(subject=subject, answer=answer)
    explanation = relation.explanation.format(subject=subject, answer=answer)
    return _row(rng, question, explanation, subject if relation.backwards else answer, _options(relation))


@cache
def _vocabulary() -> tuple[str, ...]:
    return tuple(sorted({text for relation in relations() for text in relation.options}))


def sample_lookup(rng: random.Random) -> dict[str, Any]:
    """A drill that needs no fact, only the letter of a named option: half a small model's trouble with `mc`."""
    pool = tuple(rng.sample(_vocabulary(), 8))
    right = rng.choice(pool)
    return _row(rng, f'Which option says "{right}"?', f"The option is {right}.", right, pool)
