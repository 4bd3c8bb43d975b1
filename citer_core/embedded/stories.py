"""Word problems in the `math` format, drawn from the tables of `stories.toml`: a story, its solution, its boxed answer.

Called by the training recipe and by the maker of the bundled problem set; knows nothing about models or tokens.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from citer_core.embedded import arithmetic
from citer_core.embedded.wording import CLOSINGS, IN_TOTAL, KEPT_STEPS, OPENINGS, connect, operands, say
from citer_core.embedded.words import draw_words, singulars, tables

MOST = 9_999  # of any number
# Of problems: in one piece; the question comes first, or the ending does; "$5" for "5 dollars"; small numbers as words;
# a pronoun where a name could be.
WHOLE, ASKED_FIRST, ENDING_FIRST, WITH_SIGN, IN_WORDS, PRONOUN = 0.35, 0.12, 0.15, 0.12, 0.06, 0.4
NUMBER_WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split()
WRITTEN: Mapping[str, Callable[..., tuple[str, int]]] = {
    "*": arithmetic.multiply,
    "+": arithmetic.add,
    "-": arithmetic.subtract,
    "~": arithmetic.subtract,
    "/": arithmetic.divide,
    "%": arithmetic.percent_of,
}
_ONE = re.compile(r"\b(1|[Oo]ne) (\w+)")
_SLOT = re.compile(r"{(\w+)}")
_RANGE = re.compile(r"(\d+)\.\.(\d+)(?: by (\d+))?")


@dataclass(frozen=True, slots=True)
class Step:
    """One line of a solution.

    Attributes:
        name: of its result.
        formula: what it is computed of: names of numbers, or numbers, and a sign between them.
        wordings: with `{eq}` for the written-out equation, most usual first.
        swaps: it may change places with the next one.
    """

    name: str
    formula: str
    wordings: tuple[str, ...]
    swaps: bool = False


@dataclass(frozen=True, slots=True)
class Kind:
    """One story with one question.

    Attributes:
        name: "story/question".
        often: how often it is drawn, beside the others.
        hard: how often all its numbers are drawn from their larger ranges.
        numbers: lines "name = range" or "name = a * b", in the order of drawing.
        openings, tells, asks: ways to say the story, how it ends, and the question.
        wholes: all three in one.
        steps: of the solution.
    """

    name: str
    often: float
    hard: float
    numbers: tuple[str, ...]
    openings: tuple[str, ...]
    tells: tuple[str, ...]
    asks: tuple[str, ...]
    wholes: tuple[str, ...]
    steps: tuple[Step, ...]


@cache
def kinds() -> tuple[Kind, ...]:
    """All kinds of the table, in its order."""
    found = []
    for story in tables()["story"]:
        for kind in story["kind"]:
            first, then = story["steps"], kind.get("steps", [])
            found.append(
                Kind(
                    f"{story['name']}/{kind['name']}",
                    story.get("often", 1.0),
                    kind.get("hard", story.get("hard")),
                    # What the steps compute is known before a kind's own numbers are drawn.
                    (*story["numbers"], *_formulas(first), *kind.get("numbers", ()), *_formulas(then)),
                    tuple(story["openings"]),
                    tuple(kind.get("tells", ("",))),
                    tuple(kind["asks"]),
                    tuple(kind["wholes"]),
                    tuple(map(_step, (*first, *then))),
                )
            )
    return tuple(found)


def sample(rng: random.Random, kind: Kind | None = None, often: Mapping[str, float] | None = None) -> dict[str, str]:
    """One row of the `math` format: `problem`, `solution` that ends in `\\boxed{}`, and its `kind`.

    Args:
        rng: source of all randomness; the same state gives the same row.
        kind: which; drawn unless given.
        often: how often kinds are drawn, by name, where not as often as the table says.
    """
    kind = kind or rng.choices(kinds(), [(often or {}).get(kind.name, kind.often) for kind in kinds()])[0]
    numbers = _draw_numbers(rng, kind)
    problem, words = _problem(rng, kind, numbers)
    steps = [_told(rng, step, numbers, words) for step in _ordered(rng, kind.steps)]
    told = say(rng, *OPENINGS) + connect(rng, steps) + say(rng, *CLOSINGS)
    answer = numbers[kind.steps[-1].name]
    return {
        "kind": kind.name,
        "problem": problem,
        "solution": f"{told} The final answer is $\\boxed{{{answer}}}$.",
    }


def _formulas(steps: Sequence[Mapping[str, Any]]) -> list[str]:
    return [step["is"] for step in steps]


def _step(table: Mapping[str, Any]) -> Step:
    name, _, formula = table["is"].partition(" = ")
    return Step(name, formula, tuple(table["say"]), table.get("swaps", False))


def _draw_numbers(rng: random.Random, kind: Kind) -> dict[str, int]:
    while True:
        is_hard = rng.random() < kind.hard
        numbers: dict[str, int] = {}
        for line in kind.numbers:
            name, _, source = line.partition(" = ")
            value = _drawn(rng, source, is_hard=is_hard) if ".." in source else _computed(source, numbers)
            if value is None or not 1 <= value <= MOST:
                break
            numbers[name] = value
        else:
            return numbers


def _drawn(rng: random.Random, source: str, *, is_hard: bool) -> int:
    found = _RANGE.findall(source)
    low, high, by = found[-1] if is_hard else found[0]
    return rng.randrange(int(low), int(high) + 1, int(by or 1))


def _read(formula: str, numbers: Mapping[str, int]) -> tuple[str, list[int]]:
    """The sign of a formula, and the numbers on its sides."""
    terms = formula.split()
    return terms[1], [numbers[term] if term in numbers else int(term) for term in terms[::2]]


def _computed(formula: str, numbers: Mapping[str, int]) -> int | None:
    """What a formula comes to; None where that is no whole number."""
    sign, values = _read(formula, numbers)
    if sign == "+":
        return sum(values)
    a, b = values
    if sign in "*-~":
        return {"*": a * b, "-": a - b, "~": abs(a - b)}[sign]
    divided, by = (a, b) if sign == "/" else (a * b, 100)
    return None if divided % by else divided // by


def _problem(rng: random.Random, kind: Kind, numbers: Mapping[str, int]) -> tuple[str, dict[str, str]]:
    """The problem's text, and those of the words that stand in it."""
    words = draw_words(rng)
    opening, ending, ask = (rng.choice(texts) for texts in (kind.openings, kind.tells, kind.asks))
    if rng.random() < WHOLE:
        opening, ending, ask = "", "", rng.choice(kind.wholes)
    name, pronoun = words["name"], rng.choice(("he", "she"))
    words["he"] = pronoun if "{name}" in opening and rng.random() < PRONOUN else name
    told = [opening, ending]
    is_apart = not ending.startswith(("Then", "After")) and words["he"] == name
    if is_apart and rng.random() < ENDING_FIRST:
        told.reverse()
    # The pronoun of a question that comes first would be nobody's.
    told.insert(0 if words["he"] == name and rng.random() < ASKED_FIRST else 2, ask)
    in_words = len(NUMBER_WORDS) if rng.random() < IN_WORDS else 0
    shown = {key: NUMBER_WORDS[n] if n < in_words else str(n) for key, n in numbers.items()}
    template = " ".join(filter(None, told))
    text = _capitals(template.format(**shown, **words))
    text = _ONE.sub(lambda found: f"{found[1]} {singulars().get(found[2], found[2])}", text)
    if rng.random() < WITH_SIGN:
        text = re.sub(r"(\d+) dollars?\b", r"$\1", text)
    named = {"name" if slot == "he" else slot for slot in _SLOT.findall(template)}
    return text, {slot: word for slot, word in words.items() if slot in named}


def _capitals(text: str) -> str:
    return re.sub(r"(^|[.?!] )([a-z])", lambda found: found[1] + found[2].upper(), text)


def _ordered(rng: random.Random, steps: Sequence[Step]) -> list[Step]:
    """The steps, those that do not need one another in the story's order or the reverse."""
    ordered = list(steps)
    for i, step in enumerate(steps):
        if step.swaps and rng.random() >= KEPT_STEPS:
            ordered[i], ordered[i + 1] = ordered[i + 1], ordered[i]
    return ordered


def _told(rng: random.Random, step: Step, numbers: Mapping[str, int], words: Mapping[str, str]) -> str:
    """One step as a sentence. Its equation is written out anew, which is where operands may change places."""
    sign, values = _read(step.formula, numbers)
    if sign == "~":  # a difference, whichever is larger
        values.sort(reverse=True)
    if sign == "*" or (sign == "+" and len(values) == 2):
        values = list(operands(rng, *values))
    equation, _ = WRITTEN[sign](*values)
    slots = {**numbers, **words, "eq": equation, "in_total": say(rng, *IN_TOTAL)}
    possible = [text for text in step.wordings if slots.keys() >= set(_SLOT.findall(text))]
    return say(rng, *possible).format(**slots)
