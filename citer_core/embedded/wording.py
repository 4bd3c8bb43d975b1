"""How one sentence can be said in many right ways: weighted choices that both models must live with.

People word the same step differently, and a text that can go on in several right ways is what a preference router is
for: where the models differ there, the difference is harmless. The weights are uneven, so both models mostly share the
first wording. Knows nothing about stories or facts.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache

WEIGHT_OFFSET = 1.8  # the i-th wording, from 0, has weight 1 / (i + this)
KEPT_OPERANDS, KEPT_STEPS = 0.60, 0.65  # how often operands and independent steps stay in the story's order

FIRST = ("", "first, ", "to begin, ", "at first, ")
MIDDLE = ("", "then ", "next, ", "after that, ", "now ")
LAST = ("", "so ", "in the end, ", "finally, ", "that means ")
OPENINGS = ("", "Step by step: ", "Here is how: ", "We count: ")
CLOSINGS = ("", " That is it.", " This was asked.", " Done.")
JOINTS = (". ", "; ")  # between two steps
IN_TOTAL = ("", " in total", " in all", " altogether")


@cache
def weights(n: int) -> tuple[float, ...]:
    """The weights of `n` wordings, most usual first."""
    return tuple(1 / (i + WEIGHT_OFFSET) for i in range(n))


def say(rng: random.Random, *wordings: str) -> str:
    """One of the wordings, the earlier ones more often."""
    return rng.choices(wordings, weights(len(wordings)))[0]


def in_total(rng: random.Random) -> str:
    """Nothing, or a word for "in total" with its leading space."""
    return say(rng, *IN_TOTAL)


def operands(rng: random.Random, *terms: int) -> tuple[int, ...]:
    """The operands of a sum or product as the story gives them, or in the reverse order."""
    return terms if rng.random() < KEPT_OPERANDS else terms[::-1]


def sentence(text: str) -> str:
    """The text with a capital first letter."""
    return text[0].upper() + text[1:]


def connect(rng: random.Random, steps: Sequence[str]) -> str:
    """One paragraph of the steps, each with a connector that fits its place, or none.

    Args:
        rng: source of all randomness.
        steps: sentences that start with a small letter unless their first word is a name, and end in a full stop.
    """
    places = [FIRST, *[MIDDLE] * (len(steps) - 2), LAST]
    text = ""
    for place, step in zip(places, steps, strict=True):
        told = say(rng, *place) + step
        # After a semicolon only a name has a capital letter.
        text += told if text.endswith("; ") else sentence(told)
        text = text.removesuffix(".") + say(rng, *JOINTS) if place is not LAST else text
    return text
