"""What a pair may be asked, and how well the bundled one answers, in words; `Familiar`: whether a problem is like those
that it was trained on.

The signal is the share of a question's words that stand in none of the held-out bundled problems of the same make. Each
of these, compared with the others alone, says where the limit is (`tests/test_familiar.py`): above it are 1 in 100 of
them, and nearly all that people ask of a chat model. Knows no engine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from citer_core.assets import ASSETS
from citer_core.errors import GateError
from citer_core.gate.fields import MapOf, Real, Record
from citer_core.gate.json_file import read_json

WHAT_IT_CAN = (
    "The bundled pair, trained from scratch for this page, knows arithmetic word problems and multiple-choice facts, "
    "nothing else."
)

_SHARE = Record({"share": Real(0.0, 1.0)})

_MATH = Record({"share": Real(0.0, 1.0)}, {"by_kind": MapOf(_SHARE, 100)})

_MODEL = Record({"accuracy": Record({"math": _MATH, "mc": _SHARE})})

_CARD = Record({"models": Record({"slm": _MODEL, "llm": _MODEL})})

CARD = ASSETS / "models" / "card.json"


def _models(card_path: Path) -> Mapping[str, Any] | None:
    try:
        models: Mapping[str, Any] = _CARD.read(read_json(card_path, max_bytes=1_000_000), "card")["models"]
    except GateError:
        return None
    return models


def chances(card_path: Path = CARD) -> dict[str, str]:
    """How well either model alone answers problems of a kind, in words, by kind; empty where there is no card."""
    models = _models(card_path) or {}
    kinds = [models[which]["accuracy"]["math"].get("by_kind", {}) for which in models]
    return {
        kind: "Of unseen problems of this kind, alone, "
        + " and ".join(
            f"the {which.upper()} has {models[which]['accuracy']['math']['by_kind'][kind]['share']:.0%} right"
            for which in models
        )
        + "."
        for kind in (kinds[0] if kinds else {})
    }


def how_well(card_path: Path) -> str:
    """What either model reaches alone on unseen problems, from the pair's card; empty where there is no card."""
    if (models := _models(card_path)) is None:
        return ""
    slm, llm = (
        [round(100 * models[which]["accuracy"][kind]["share"]) for kind in ("math", "mc")] for which in ("slm", "llm")
    )
    total = (
        f" Alone, the SLM is right on {slm[0]}% of unseen word problems and {slm[1]}% of questions, "
        f"the LLM on {llm[0]}% and {llm[1]}%."
    )
    kinds = [
        [round(100 * kind["share"]) for kind in models[which]["accuracy"]["math"].get("by_kind", {}).values()]
        for which in ("slm", "llm")
    ]
    if not all(kinds):
        return total
    ranges = [f"{min(shares)} to {max(shares)}%" for shares in kinds]
    return f"{total} Of {len(kinds[0])} kinds of word problems, each: the SLM {ranges[0]}, the LLM {ranges[1]}."


def about_bundled() -> str:
    """What the bundled pair may be asked, and how well it answers."""
    return WHAT_IT_CAN + how_well(CARD)


def told_of_bundled(recorded: Mapping[str, str]) -> dict[str, Any]:
    """What the page is told beside the bundled problems: `about`; `chances`, in words by kind; `recorded`, the kind of
    each recorded question.
    """
    kinds = [{"question": question, "kind": kind} for question, kind in recorded.items()]
    return {"about": about_bundled(), "chances": chances(), "recorded": kinds}


def what_it_can(title: str, *, chat: bool) -> str:
    """What a pair that is not the bundled one may be asked, in a few sentences under the problem's box."""
    if chat:
        return (
            f"{title}: instruct models, which follow ordinary instructions in many languages. Ask what you like, or "
            "pick a question. They can be wrong about facts and numbers, and know nothing later than their training."
        )
    return (
        f"{title}: models without a chat form, which go on with a text. Problems are put to them as plain text; "
        "what they can answer depends on their training."
    )


_WORD = re.compile(r"[^\W\d_]+")

# The largest usual share of words that no other problem has, by type; free text is outside of what it knows as such.
LIMITS = {"math": 0.25, "mc": 0.46}


def words_of(question: str) -> set[str]:
    """The words of a question, in lower case."""
    return set(_WORD.findall(question.lower()))


@dataclass(frozen=True, slots=True)
class Strangeness:
    """How unlike the known problems a question is."""

    n_words: int
    n_unknown: int
    limit: float

    @property
    def is_outside(self) -> bool:
        """Whether it is outside what the pair knows."""
        return self.n_unknown > self.limit * self.n_words


class Familiar:
    """Over the questions that are known.

    Args:
        questions: the bundled ones.
    """

    def __init__(self, questions: Iterable[str]) -> None:
        self._known = frozenset().union(*map(words_of, questions))

    def judge(self, question: str, data_type: str) -> Strangeness:
        """How unlike them this one is; a type without a limit is outside with every word."""
        words = words_of(question)
        if data_type not in LIMITS:
            return Strangeness(len(words), len(words), 0.0)
        return Strangeness(len(words), len(words - self._known), LIMITS[data_type])

    def warning(self, question: str, data_type: str) -> str | None:
        """What to say beside the output of a problem that is outside; None for one that is not."""
        found = self.judge(question, data_type)
        if not found.is_outside:
            return None
        if data_type not in LIMITS:
            why = "it knows word problems and multiple choice, no free text"
        else:
            why = (
                f"{found.n_unknown} of its {found.n_words} words are in none of the problems that it knows, usually "
                f"at most {found.limit:.0%}"
            )
        return f"This is outside what the bundled pair knows ({why}). What it writes is shown; expect no sense in it."
