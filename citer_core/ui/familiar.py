"""`Familiar`: whether a problem is like those that the bundled pair was trained on, by its words.

The signal is the share of a question's words that stand in none of the held-out bundled problems of the same make. Each
of these, compared with the others alone, says where the limit is (`tests/test_familiar.py`): above it are 1 in 100 of
them, and nearly all that people ask of a chat model. Knows no engine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_WORD = re.compile(r"[^\W\d_]+")
# The largest usual share of words that no other problem has, by type; free text is outside of what it knows as such.
LIMITS = {"math": 0.15, "mc": 0.55}


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
