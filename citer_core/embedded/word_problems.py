"""Word problems in the `math` format: a seeded story of two to five steps, its solution and its boxed answer.

Each family is one function `rng -> (problem, steps, answer)`; `sample` picks one. Called by the training recipe and by
the maker of the bundled problem set; knows nothing about models or tokens.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from citer_core.embedded.counting_stories import comparing, distance, election, garden, reading, sharing
from citer_core.embedded.money_stories import discount, packing, rectangle, saving, shopping, working
from citer_core.embedded.story_words import Story
from citer_core.embedded.wording import CLOSINGS, OPENINGS, connect, say

FAMILIES: tuple[Callable[[random.Random], Story], ...] = (
    shopping, saving, distance, sharing, discount, reading, working, garden, rectangle, comparing, packing, election,
)  # fmt: skip


def sample(rng: random.Random) -> dict[str, str]:
    """One row of the `math` format: `problem`, and `solution` that ends in `\\boxed{}`.

    Args:
        rng: source of all randomness; the same state gives the same row.
    """
    problem, steps, answer = rng.choice(FAMILIES)(rng)
    told = say(rng, *OPENINGS) + connect(rng, steps) + say(rng, *CLOSINGS)
    return {"problem": problem, "solution": f"{told} The final answer is $\\boxed{{{answer}}}$."}
