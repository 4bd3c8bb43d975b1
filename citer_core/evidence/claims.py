"""What the paper claims and what its reviewers asked, each with our number: confirmed, refuted, or not measured.

`QUESTIONS` is the one table of them. Every number is computed from stored results; what is not stored is "not
measured", with the command that would measure it. The table of the chapter on evidence and the page's questions are
made of these. Here are also the claims that one router beats another, and `lesson`: when a learned one pays. Imports no
torch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from citer_core.evidence import look_back, questions, truths
from citer_core.evidence.arena import answered, arenas, right_alone
from citer_core.evidence.claim import (
    SHARE,
    Claim,
    Figure,
    FigureRow,
    Finding,
    Question,
    Stored,
    Verdict,
    cost_figures,
    difference_figure,
    router_name,
    said,
    verdict_of,
)
from citer_core.evidence.regime import NEAR, SHARES, Difference, Regime
from citer_core.evidence.regimes import BENCHMARKS, regimes
from citer_core.evidence.transfer import in_languages, transferred

LED_BY = {
    look_back.LABEL: "look-back, where the LLM takes back the first slip of what it reads,",
    "citer-outcome": "a router that learns from outcomes",
    "citer-2": "CITER after two rounds",
    "max-probability": "the free max-probability baseline",
}
OURS, PAPER = "this project", "paper"
OF_ROLLOUTS = ("citer-s", "second")  # claims about what only tokens of case 3 can show
SETTING = "Qwen2 1.5B / 72B; here both models are far smaller"
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
WAYS = (
    ("always-slm", None),
    ("max-probability", SHARE),
    ("citer-2", SHARE),
    ("citer-outcome", SHARE),
    ("speculative", None),
    ("always-llm", None),
)
_SENTENCES = {
    "confirmed": "Routing costs less and gives up some right answers; speculative decoding keeps the LLM's text.",
    "refuted": "Take speculative decoding here: it keeps the LLM's own text and costs no more.",
    "open": "They are different trades: speculative decoding keeps the LLM's text, routing may cost less or more.",
}
FREE = "max-probability"
LEARNED = {
    "citer": "CITER after one round",
    "citer-2": "CITER after two rounds",
    "citer-outcome": "a router of outcome labels",
}
_IS: dict[Verdict, str] = {
    "confirmed": "is ahead of",
    "refuted": "is behind",
    "no difference shown": "is neither measurably ahead of nor behind",
}
BOTH = (
    "It pays where text can be worded in many right ways: there the SLM is unsure of words that do not matter, and "
    "labels that look at what becomes of the answer tell these from the decisive ones. Where every solution has one "
    "wording, an unsure SLM is nearly always a wrong one, and its own probability says so for nothing."
)
NEITHER = "Where the SLM's own probability already says when it is wrong, nothing is left for a router to learn."


def claims(folder: Path = BENCHMARKS, known: Sequence[Regime] | None = None) -> list[Claim]:
    """All of `QUESTIONS`, answered.

    Args:
        folder: of the stored results.
        known: what is stored there, where it is read already.

    Raises:
        DatasetError: a stored result is damaged.
    """
    stored = Stored(list(regimes(folder)) if known is None else known, folder)
    return [question.ask(stored) for question in QUESTIONS]


def _compared(
    name: str, first: Sequence[str], second: Sequence[str], text: str, paper: str = "", source: str = OURS
) -> Question:
    """That a router beats another: of those that are stored, the first of either list."""
    answer = partial(_beaten, name, source, first, second)
    said = f"{paper} ({SETTING})" if paper else ""
    return Question(name, text, answer, (), "Nothing is stored that compares them.", source, said)


def _beaten(name: str, source: str, first: Sequence[str], second: Sequence[str], stored: Stored) -> Claim | None:
    there = [(regime, *pair) for regime in stored.known if (pair := _pair_of(regime, first, second)) is not None]
    if not there:
        return None
    (regime, a, b), *others = there
    verdict = verdict_of(list(_differences(regime, a, b).values()))
    sentence = (_PAPERS if source == "paper" else _OURS)[verdict]
    if source == "paper" and verdict == "no difference shown":
        sentence += f"{_why_not(regime) if name in OF_ROLLOUTS else ''}."
    if name.startswith("ties"):
        sentence = {"confirmed": "Leave them out.", "refuted": "Label them."}.get(
            verdict, "It makes no difference that could be measured."
        )
    if name == "co-llm" and regime.name == "one-wording":
        verdict, sentence = "open", "Our stored Co-LLM lacks its published start, which flatters CITER."
    elsewhere = tuple(_found(*other) for other in others)
    found = replace(_found(regime, a, b), verdict="")
    return Claim(found, sentence, regime.command, (_figure(there),), elsewhere, verdict)


def _pair_of(regime: Regime, first: Sequence[str], second: Sequence[str]) -> tuple[str, str] | None:
    """The first two of these routers that were measured at `SHARE`."""
    for a in first:
        for b in second:
            if _differences(regime, a, b):
                return a, b
    return None


def _differences(regime: Regime, a: str, b: str) -> dict[str, Difference]:
    found = {kind: regime.difference(kind, a, b, SHARE) for kind in regime.tables}
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
    rows = [
        row
        for number, (regime, a, b) in enumerate(there)
        for row in _rows_at(regime, a, b, SHARES if number == 0 else (SHARE,), short(regime))
    ]
    _, a, b = there[0]
    return difference_figure(f"{router_name(a)} less {router_name(b)}: right answers at a share of LLM tokens", rows)


def _rows_at(regime: Regime, a: str, b: str, shares: Sequence[float], group: str) -> list[FigureRow]:
    """The first router less the second, kind by kind."""
    return [
        FigureRow.difference(group, f"{kind} at {share:.0%}", found)
        for kind in regime.tables
        for share in shares
        if (found := regime.difference(kind, a, b, share)) is not None
    ]


def short(regime: Regime) -> str:
    """A regime's title without its explanation."""
    return regime.title.partition(":")[0]


def headline(regime: Regime) -> str:
    """The honest sentence of README: who recovers how much of the gap at equal bytes, the best one first."""
    found = arenas(regime)
    level = found[0].level
    standings = [arena.standings(level) for arena in found]
    gaps = {one.label: [next(o.gap for o in of if o.label == one.label) for of in standings] for one in standings[0]}
    best: dict[str, list[float]] = {}
    for label, its in gaps.items():
        name = look_back.LABEL if label.startswith(look_back.LABEL) else found[0].routers.get(label, "")
        if name in LED_BY and sum(its) > sum(best.get(name, [-math.inf])):
            best[name] = its
    told = sorted(best, key=lambda name: -sum(best[name]))
    said = [f"{LED_BY[name]}@ {' and '.join(f'{gap:.0%}' for gap in best[name])}" for name in told]
    words = ", ".join(said).replace("@", " recovers", 1).replace("@", "")
    return (
        f"At {level:.0%} of the bytes of the LLM's own answers, {words} of the gap between both models "
        f"({found[0].n:,} unseen problems of {' and '.join(one.kind for one in found)} each; right alone: "
        f"{right_alone(found)})."
    )


def _speculative(stored: Stored) -> Claim:
    """Of the newest regime that has it; a matter of cost, whose verdict has to hold in bytes and in seconds."""
    regime, part = stored.parts["speculative"]
    words, cheaper = [], []
    for kind, entry in part.content.items():
        drafted, ours = regime.at(kind, "speculative", None), regime.at(kind, "citer-2", SHARE)
        if drafted is None:
            continue
        accepted = entry["n_accepted"] / max(1, entry["n_drafted"])
        words.append(f"{kind} {_of(drafted)}, {accepted:.0%} of the drafted tokens kept")
        if ours is not None:
            words[-1] += f", against {_of(ours)} for citer-2 at {SHARE:.0%}"
            pairs = [(ours[name], drafted[name]) for name in ("gb", "seconds_alone")]
            cheaper += [None if a != a or b != b else a < b for a, b in pairs]  # NaN: not measured
    verdict: Verdict = "open"
    if cheaper and None not in cheaper and len(set(cheaper)) == 1:
        verdict = "confirmed" if cheaper[0] else "refuted"
    found = Finding(tuple(words), regime.title)
    return Claim(found, _SENTENCES[verdict], part.command, cost_figures(_ways(regime)), verdict=verdict)


def _of(line: Any) -> str:
    seconds = None if line.seconds_alone != line.seconds_alone else float(line.seconds_alone)
    return f"{line.accuracy:.1%} right, {said(line.gb, 'GB')} and {said(seconds, 'seconds')} an answer"


def _ways(regime: Regime) -> list[tuple[str, str, Any]]:
    return [
        (kind, f"{line.label}{f', {share:.0%} LLM tokens' if share else ''}", line)
        for kind in regime.tables
        for router, share in WAYS
        if (line := regime.at(kind, router, share)) is not None
    ]


@dataclass(frozen=True, slots=True)
class Lesson:
    """What follows, in sentences, and what it follows from."""

    sentences: tuple[str, ...]
    figure: Figure


def lesson(known: Sequence[Regime]) -> Lesson | None:
    """Of every regime in which both were measured at the same shares, the newest first; None without one."""
    sentences, verdicts, rows = list[str](), list[Verdict](), list[FigureRow]()
    for regime in known:
        for router, name in LEARNED.items():
            there = _differences(regime, router, FREE)
            if not there:
                continue
            verdicts.append(verdict_of(list(there.values())))
            numbers = "; ".join(f"{kind} {difference}" for kind, difference in there.items())
            sentences.append(
                f"{short(regime)}: {name} {_IS[verdicts[-1]]} max-probability at {SHARE:.0%} LLM tokens: {numbers}."
            )
            rows += _rows_at(regime, router, FREE, SHARES, f"{short(regime)}, {name}")
    if not rows:
        return None
    if "confirmed" in verdicts and set(verdicts) != {"confirmed"}:
        sentences.append(BOTH)
    elif "confirmed" not in verdicts:
        sentences.append(NEITHER)
    title = "Right answers of the learned router less those of max-probability, at a share of LLM tokens"
    return Lesson(tuple(sentences), difference_figure(title, rows))


QUESTIONS = (  # who recovers most at equal bytes, then claims of ours, of the paper, and what was asked
    Question(
        "arena", "Which router at equal bytes?", answered, (),
        "`evidence --parts accuracy speculative look_back rules` measures it.", OURS,
    ),
    _compared("free-1", ["citer"], [FREE], "CITER beats the free max-probability baseline after one round"),
    _compared("free", ["citer-2"], [FREE], "CITER beats the free max-probability baseline after two rounds"),
    _compared("plus", ["citer-plus-2", "citer-plus"], [FREE], "CITER plus beats max-probability"),
    _compared("outcome", ["citer-outcome"], [FREE], "Labels by outcome beat max-probability"),
    _compared(
        "ties", ["citer-outcome"], ["outcome-fail-slm"],
        "Tokens where both models fail are better left out than labelled for the SLM",
    ),
    _compared(
        "ties-llm", ["citer-outcome"], ["outcome-fail-llm"],
        "Tokens where both models fail are better left out than labelled for the LLM",
    ),
    _compared(
        "co-llm", ["citer-2", "citer"], ["co-llm"], "Better than Co-LLM at one cost", "+17% accuracy or -27% transfer",
        PAPER,
    ),
    _compared(
        "citer-s", ["citer-2", "citer"], ["citer-s-b"], "Rollouts pay: better than CITER-S, which has none",
        "+23% accuracy or -42% transfer", PAPER,
    ),
    _compared(
        "query", ["citer-2", "citer"], ["query-level"], "Tokens pay: better than routing whole questions",
        "+12% accuracy or -30% transfer", PAPER,
    ),
    _compared("second", ["citer-2"], ["citer"], "A second round makes it better", "+2 to 3% accuracy, -5% cost", PAPER),
    Question(
        "speculative", "Cheaper than speculative decoding, at some accuracy", _speculative, ("speculative",),
        "Speculative decoding keeps the LLM's answer and routing does not: they are different trades.", PAPER,
        "80.8% in 4.0 s against 87.0% in 10.9 s",
    ),
    Question(
        "settled", "The shortcut settles 80 to 90% of the tokens", questions.settled, ("routers",), source=PAPER,
        paper="80 to 90%",
    ),
    Question("shortcut", "How right are the shortcut's labels?", questions.borne_out, ("shortcut",)),
    Question("overhead", "What does the router itself cost?", questions.router_cost),
    Question("switch", "What does a change of the model cost?", questions.switch_cost),
    Question("metrics", "Seconds and FLOPs, not calls to the LLM?", questions.metrics),
    Question("flips", "What does a wrong decision cost?", questions.flips, ("misjudged",)),
    Question("rounds", "Do the rounds converge?", questions.rounds, ("routers",)),
    Question(
        "end-to-end", "What does it cost from data to router, and when has it paid?", questions.end_to_end, (),
        "`evidence --parts accuracy setup` measures it.",
    ),
    Question(
        "look-back", "The LLM's right answers for less, by taking tokens back?", look_back.looked_back, ("look_back",),
        "`evidence --parts accuracy speculative look_back` measures it.", OURS,
    ),
    Question("truths", "Do labels need known answers?", truths.answered, ("truths",), source=OURS),
    Question("transfer", "One router for each benchmark, or one for all?", transferred, ("transfer",)),
    Question(
        "long", "Does it hold for long questions and answers?", questions.length, ("accuracy",),
        "`evidence --parts accuracy length` measures it.",
    ),
    Question("languages", "Other languages?", in_languages, (), "No accuracy is stored."),
    # Nothing can be stored of these yet.
    Question(
        "families", "Other model families, such as Llama 3?", lambda _: None, (),
        "Pairs of other families load; none is stored.",
    ),
    Question(
        "pages", "Texts of pages?", lambda _: None, (),
        "All answers here are a few sentences; of long texts that says little.",
    ),
)  # fmt: skip
