"""Whom and what the stories are about: names, things, places. Knows nothing about arithmetic.

Visitors type names and things that no list has. So a part of them is made up, in three ways: of syllables, of words of
the fact tables, and of two words; what the models learn is to copy them.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from citer_core.embedded.multiple_choice import vocabulary

MADE_UP, PERSON, WITH_ADJECTIVE = 0.3, 0.15, 0.12


@cache
def tables() -> dict[str, Any]:
    """All of `stories.toml`."""
    return tomllib.loads((Path(__file__).parent / "stories.toml").read_text(encoding="utf-8"))


@cache
def words(name: str) -> tuple[str, ...]:
    """One list of words: "names", "things" and so on."""
    text = str(tables()["words"][name])
    return tuple(part.strip() for part in text.replace("\n", " ").split("," if "," in text else " ") if part.strip())


def draw_words(rng: random.Random) -> dict[str, str]:
    """Three different names, two different things, and one of each other."""
    name, other, third = _different(rng, 3, _a_name)
    a, b = _different(rng, 2, _things)
    return {
        "name": name,
        "other": other,
        "third": third,
        "a": a,
        "b": b,
        "item": _one(rng, "items"),
        "place": _one(rng, "places"),
        "plants": rng.choice(words("plants")) if rng.random() > MADE_UP else _things(rng),
        "way": rng.choice(words("ways")),
    }


@cache
def singulars() -> dict[str, str]:
    """One of what is counted, by its plural; those whose stem changes are left out."""
    plurals = [word for word in words("things") + words("counted") if not word.endswith("ves")]
    return {word: word[: -2 if word.endswith(("xes", "ches", "shes", "sses", "toes")) else -1] for word in plurals}


def _different(rng: random.Random, n: int, draw: Callable[[random.Random], str]) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < n:
        found[draw(rng)] = None
    return list(found)


def _a_name(rng: random.Random) -> str:
    if rng.random() > MADE_UP:
        return rng.choice(words("names"))
    if rng.random() < PERSON:
        return rng.choice(words("people"))
    return _made_up(rng).capitalize()


def _things(rng: random.Random) -> str:
    word = rng.choice(words("things")) if rng.random() > MADE_UP else _made_up(rng).removesuffix("s") + "s"
    return f"{rng.choice(words('adjectives'))} {word}" if rng.random() < WITH_ADJECTIVE else word


def _one(rng: random.Random, name: str) -> str:
    return rng.choice(words(name)) if rng.random() > MADE_UP else _made_up(rng)


def _made_up(rng: random.Random) -> str:
    """A small-letter word of syllables or from the fact tables."""
    if rng.random() < 0.5:
        return "".join(rng.choice(words("syllables")) for _ in range(rng.choice((2, 2, 3))))
    return rng.choice(_known_words())


@cache
def _known_words() -> tuple[str, ...]:
    """Words of the fact tables' answers, in small letters."""
    found = {word.lower() for text in vocabulary() for word in re.findall(r"[A-Za-z]+", text)}
    return tuple(sorted(word for word in found if 3 <= len(word) <= 12))
