"""What the paper claims and what its reviewers asked, each with our number: confirmed, refuted, or not measured.

Every number is computed from stored results; a claim whose result is not stored says "not measured". The table of the
chapter on evidence and the page's questions are made of these. Here are the claims that one router beats another;
`reviewers` has the others. Imports no torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from citer_core.evidence.claim import NOT_MEASURED, SHARE, Claim, Finding, Verdict, router_name, verdict_of
from citer_core.evidence.figures import Figure, difference_row
from citer_core.evidence.regime import NEAR, SHARES, Difference, Regime
from citer_core.evidence.regimes import BENCHMARKS, regimes
from citer_core.evidence.reviewers import of_reviewers
from citer_core.evidence.speculative_claim import speculative_claim

LED_BY = {
    "citer-outcome": "a router that learns from outcomes",
    "citer": "CITER as published",
    "max-probability": "the free max-probability baseline",
}
ALONE = {"always-slm": "SLM", "always-llm": "LLM"}
OF_ROLLOUTS = ("citer-s", "second")  # claims about what only tokens of case 3 can show
SETTING = "Qwen2 1.5B / 72B; here both models are far smaller"
# name, source, routers of which the first that is stored is compared with the first of the others, text, the paper's
CLAIMS = (
    ("free-1", "this project", ["citer"], ["max-probability"],
     "CITER beats the free max-probability baseline after one round", ""),
    ("free", "this project", ["citer-2"], ["max-probability"],
     "CITER beats the free max-probability baseline after two rounds", ""),
    ("plus", "this project", ["citer-plus-2", "citer-plus"], ["max-probability"],
     "CITER plus beats max-probability", ""),
    ("outcome", "this project", ["citer-outcome"], ["max-probability"],
     "Labels by outcome beat max-probability", ""),
    ("co-llm", "paper", ["citer-2", "citer"], ["co-llm"],
     "Better than Co-LLM at one cost", "+17% accuracy or -27% transfer"),
    ("citer-s", "paper", ["citer-2", "citer"], ["citer-s-b"],
     "Rollouts pay: better than CITER-S, which has none", "+23% accuracy or -42% transfer"),
    ("query", "paper", ["citer-2", "citer"], ["query-level"],
     "Tokens pay: better than routing whole questions", "+12% accuracy or -30% transfer"),
    ("second", "paper", ["citer-2"], ["citer"],
     "A second round makes it better", "+2 to 3% accuracy, -5% cost"),
    ("ties", "this project", ["citer-outcome"], ["outcome-fail-slm"],
     "Tokens where both models fail are better left out than labelled for the SLM", ""),
    ("ties-llm", "this project", ["citer-outcome"], ["outcome-fail-llm"],
     "Tokens where both models fail are better left out than labelled for the LLM", ""),
)  # fmt: skip
_OURS: dict[Verdict, str] = {
    "confirmed": "The trained router is worth its training here.",
    "refuted": "The free baseline is better: take it.",
    "no difference shown": "The free baseline is as good, as far as this measurement can tell.",
}
_PAPERS: dict[Verdict, str] = {
    "confirmed": "It holds here.",
    "refuted": "It does not hold here.",
    "no difference shown": "Nothing of it shows here",
}


def claims(folder: Path = BENCHMARKS, known: Sequence[Regime] | None = None) -> list[Claim]:
    """All of them, what speaks against CITER first.

    Args:
        folder: of the stored results.
        known: what is stored there, where it is read already.

    Raises:
        DatasetError: a stored result is damaged.
    """
    known = list(regimes(folder)) if known is None else known
    compared = [_claim(known, *row) for row in CLAIMS]
    of_paper = [claim for claim in compared if claim.source == "paper"]
    ours = [claim for claim in compared if claim.source != "paper"]
    return [*ours, *of_paper, speculative_claim(known), *of_reviewers(known, folder)]


def _claim(
    known: Sequence[Regime], name: str, source: str, first: Sequence[str], second: Sequence[str], text: str, paper: str
) -> Claim:
    there = [(regime, *pair) for regime in known if (pair := _pair_of(regime, first, second)) is not None]
    said = f"{paper} ({SETTING})" if paper else ""
    if not there:
        return Claim(name, source, text, said, NOT_MEASURED, "Nothing is stored that compares them.")
    (regime, a, b), *others = there
    differences = _differences(regime, a, b)
    verdict = verdict_of(list(differences.values()))
    sentence = (_PAPERS if source == "paper" else _OURS)[verdict]
    if source == "paper" and verdict == "no difference shown":
        sentence += f"{_why_not(regime) if name in OF_ROLLOUTS else ''}."
    if name.startswith("ties"):
        sentence = {"confirmed": "Leave them out.", "refuted": "Label them."}.get(
            verdict, "It makes no difference that could be measured."
        )
    if name == "co-llm" and regime.name == "one-wording":
        verdict, sentence = "open", "Our stored Co-LLM lacks its published start, which flatters CITER."
    return Claim(
        name, source, text, said, verdict, sentence, replace(_found(regime, a, b), verdict=""), f"`{regime.command}`",
        tuple(_found(*other) for other in others), (_figure(there),),
    )  # fmt: skip


def _pair_of(regime: Regime, first: Sequence[str], second: Sequence[str]) -> tuple[str, str] | None:
    """The first two of these routers that were measured at `SHARE`."""
    for a in first:
        for b in second:
            if _differences(regime, a, b):
                return a, b
    return None


def _differences(regime: Regime, a: str, b: str, share: float = SHARE) -> dict[str, Difference]:
    found = {kind: regime.difference(kind, a, b, share) for kind in regime.tables}
    return {kind: difference for kind, difference in found.items() if difference is not None}


def _found(regime: Regime, a: str, b: str) -> Finding:
    differences = _differences(regime, a, b)
    return Finding(
        tuple(f"{kind} {found}{_missed(regime, kind, (a, b))}" for kind, found in differences.items()),
        regime.title,
        f"{router_name(a)} less {router_name(b)}",
        verdict_of(list(differences.values())),
    )


def _why_not(regime: Regime) -> str:
    """What of the labels explains that rollouts change nothing, where that is stored."""
    if "routers" in regime.parts:
        cases = regime.parts["routers"].content["cases"]
        shares = " and ".join(f"{entry['shares'][2]:.1%} of the tokens of {kind}" for kind, entry in cases.items())
        return f": {shares} are case 3, which only rollouts decide"
    return ": with one wording nearly no token needs a rollout" if regime.name == "one-wording" else ""


def _missed(regime: Regime, kind: str, routers: Sequence[str]) -> str:
    """Which of them did not come near the share, in brackets."""
    lines = [(router, regime.at(kind, router, SHARE)) for router in routers]
    far = [(router, line) for router, line in lines if line is not None and abs(line.share - SHARE) > NEAR]
    return "".join(f" ({router} at {line.share:.0%})" for router, line in far)


def _figure(there: Sequence[tuple[Regime, str, str]]) -> Figure:
    """Differences in points: of the regime that leads at several shares, of the others at one."""
    rows = []
    for number, (regime, a, b) in enumerate(there):
        shares = SHARES if number == 0 else (SHARE,)
        for kind in regime.tables:
            for share in shares:
                found = regime.difference(kind, a, b, share)
                if found is not None:
                    rows.append(difference_row(short(regime), f"{kind} at {share:.0%}", found))
    _, a, b = there[0]
    return Figure(
        f"{router_name(a)} less {router_name(b)}: right answers at a share of LLM tokens, in points",
        "points",
        tuple(rows),
        (0.0, "no difference"),
    )


def short(regime: Regime) -> str:
    """A regime's title without its explanation."""
    return regime.title.partition(":")[0]


def headline(regime: Regime) -> str:
    """The honest sentence of README: who has how much right at one share of LLM tokens, the best one first."""
    kinds = list(regime.tables)
    found = {
        name: [regime.at(kind, name, None if name in ALONE else SHARE) for kind in kinds] for name in [*LED_BY, *ALONE]
    }
    there = {name: [line for line in lines if line is not None] for name, lines in found.items()}
    right = {name: [line.accuracy for line in lines] for name, lines in there.items() if len(lines) == len(kinds)}

    def words(name: str) -> str:
        return " and ".join(f"{share:.1%} of {kind}" for share, kind in zip(right[name], kinds, strict=True))

    told = sorted((name for name in LED_BY if name in right), key=lambda name: -sum(right[name]))
    best, *others = (f"{LED_BY[name]} has {words(name)} right" for name in told)
    alone = ", ".join(f"the {label} alone {words(name)}" for name, label in ALONE.items() if name in right)
    n = min(int(line.n) for lines in there.values() for line in lines)
    return f"At {SHARE:.0%} LLM tokens, {best}, {', '.join(others)} ({n:,} unseen problems of each; {alone})."
