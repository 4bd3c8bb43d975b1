"""`Claim`: one thing that is claimed or asked, with our number, its verdict and what can be drawn of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from citer_core.evidence.figures import Figure
from citer_core.evidence.regime import NAMES, Difference, Regime
from citer_core.evidence.stored import StoredPart

Verdict = Literal["confirmed", "refuted", "no difference shown", "open", "answered", "not measured"]
SHARE = 0.10  # of LLM tokens, at which routers are compared
NOT_MEASURED: Literal["not measured"] = "not measured"
Parts = Mapping[str, tuple[Regime, StoredPart]]  # each with the regime that it is of


@dataclass(frozen=True, slots=True)
class Finding:
    """What was measured on one pair.

    Attributes:
        lines: each says one thing with its number.
        where: the pair.
        lead: what all lines are of; "" where each says that itself.
        verdict: what this alone would say; "" where nothing is claimed.
    """

    lines: tuple[str, ...]
    where: str = ""
    lead: str = ""
    verdict: Verdict | Literal[""] = ""

    @property
    def text(self) -> str:
        """All in one line."""
        said = "; ".join(filter(None, (*self.lines, self.where)))
        return f"{self.lead}: {said}" if self.lead else said


@dataclass(frozen=True, slots=True)
class Claim:
    """One row of the table.

    Attributes:
        name: in addresses.
        source: who claims or asks it: "paper", "reviewers" or "this project".
        text: the claim or question.
        paper: the paper's own figure and its setting; "" where there is none.
        verdict: on what was measured here.
        sentence: what follows, in plain words.
        found: numbers with interval and n, of the newest regime that has them; None where nothing was measured.
        command: that gives them; "" where nothing was measured.
        others: the same of the other regimes.
        figures: what can be drawn of it.
    """

    name: str
    source: str
    text: str
    paper: str
    verdict: Verdict
    sentence: str
    found: Finding | None = None
    command: str = ""
    others: tuple[Finding, ...] = ()
    figures: tuple[Figure, ...] = ()

    @property
    def number(self) -> str:
        """What was found, in one line."""
        return self.found.text if self.found else NOT_MEASURED

    @property
    def other(self) -> str:
        """What was found elsewhere, in one line; "" where there is none."""
        said = (f"{one.text}: {one.verdict}" if one.verdict else one.text for one in self.others)
        return " ".join(f"Elsewhere: {words}." for words in said)


def missing(name: str, text: str, part: str) -> Claim:
    """A question whose part is not stored."""
    sentence = f"`evidence --parts {part}` measures it."
    return Claim(name, "reviewers", text, "", NOT_MEASURED, sentence)


def answer(
    name: str,
    text: str,
    found: Finding,
    sentence: str,
    command: str,
    drawn: tuple[Figure, ...] = (),
    others: tuple[Finding, ...] = (),
) -> Claim:
    """A question that numbers answer."""
    return Claim(name, "reviewers", text, "", "answered", sentence, found, f"`{command}`", others, drawn)


def router_name(router: str) -> str:
    """As people know it; `NAME@SEED` is that of one training."""
    base = router.partition("@")[0]
    return NAMES.get(base, base)


def verdict_of(differences: Sequence[Difference]) -> Verdict:
    """Confirmed where every interval is above 0, refuted where one is below it; nothing is where there is none."""
    if any(d.high < 0 for d in differences):
        return "refuted"
    return "confirmed" if differences and all(d.low > 0 for d in differences) else "no difference shown"
