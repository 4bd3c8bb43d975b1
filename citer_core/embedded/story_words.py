"""Whom and what the stories are about: names, goods, places. Knows nothing about arithmetic."""

from __future__ import annotations

import random

Story = tuple[str, list[str], int]  # the problem, its steps and its answer

NAMES = (
    "Ada Amir Ana Anna Ben Bella Carl Chloe Clara Dan Dana David Diego Elena Eli Emma Eric Eva Felix Finn Grace Hana Hugo "
    "Ian Ida Ivan Jack James Jane John Jonas Julia Karim Kate Lara Laura Leo Liam Lily Lucas Lucy Maria Mark Max Maya Mia "
    "Nadia Nina Noah Nora Oliver Omar Oscar Paul Peter Priya Rosa Ruth Sam Sara Sofia Tariq Tess Theo Tina Tom Vera Victor "
    "Wei Yuki Zara Zoe"
).split()
SYLLABLES = "ba be bo da do fa fe ga go ha jo ka ke la le li lo ma me mi na ni no pa ra re ri ro sa so ta te ti to va vi".split()
GOODS = "apples books bottles cakes candles caps cards chairs cups eggs flags lamps lemons mugs notebooks oranges pears pencils pens pies plates roses shirts stamps tickets toys".split()
SHOPS = "shop market store bakery school stand".split()
WHOLE_PLACES = "farm factory library garden school museum club".split()
PLANTS = "apple trees,pear trees,rose bushes,tomato plants,tulips,bean plants".split(",")


def a_name(rng: random.Random) -> str:
    """A first name; one in eight is made up, so that the models learn to copy a name that they have never seen."""
    if rng.random() < 0.125:
        return "".join(rng.choice(SYLLABLES) for _ in range(rng.choice((2, 2, 3)))).capitalize()
    return rng.choice(NAMES)


def two_names(rng: random.Random) -> tuple[str, str]:
    """Two different names."""
    first, second = a_name(rng), a_name(rng)
    while second == first:
        second = a_name(rng)
    return first, second


def two_goods(rng: random.Random) -> tuple[str, str]:
    """Two different things that people count."""
    first, second = rng.sample(GOODS, 2)
    return first, second
