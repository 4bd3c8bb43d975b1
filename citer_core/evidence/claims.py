"""What the paper claims and what its reviewers asked, each with our number: confirmed, refuted, or not measured.

Every number is computed from stored results; a claim whose result is not stored says "not measured". The table of the
chapter on evidence and the page's questions are made of these. Imports no torch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from citer_core.errors import DatasetError, GateError
from citer_core.evidence.regimes import BENCHMARKS, NEAR, Difference, Regime, regimes
from citer_core.gate.json_file import read_json
from citer_core.measuring.profile_file import read_profile

Verdict = Literal["confirmed", "refuted", "no difference shown", "open", "answered", "not measured"]
SHARE = 0.10  # of LLM tokens, at which routers are compared
NOT_MEASURED: Literal["not measured"] = "not measured"


@dataclass(frozen=True, slots=True)
class Claim:
    """One row of the table.

    Attributes:
        name: in addresses.
        source: who claims or asks it.
        text: the claim or question.
        paper: the paper's own figure and its setting; "" where there is none.
        verdict: on what was measured here.
        number: with interval and n.
        sentence: what follows, in plain words.
        command: that gives the number; "" where nothing was measured.
    """

    name: str
    source: Literal["paper", "reviewers", "this project"]
    text: str
    paper: str
    verdict: Verdict
    number: str
    sentence: str
    command: str


def claims(folder: Path = BENCHMARKS) -> list[Claim]:
    """All of them, what speaks against CITER first.

    Raises:
        DatasetError: a stored result is damaged.
    """
    known = list(regimes(folder))
    return [*_ours(known), *_of_paper(known), *_of_reviewers(known, folder)]


def verdict_of(differences: Sequence[Difference]) -> Verdict:
    """Confirmed where every interval is above 0, refuted where one is below it."""
    if any(d.high < 0 for d in differences):
        return "refuted"
    return "confirmed" if all(d.low > 0 for d in differences) else "no difference shown"


def _compared(
    known: Sequence[Regime], first: Sequence[str], second: Sequence[str]
) -> tuple[list[Difference], str, str]:
    """(differences of each kind of problem, in words, command) of the first regime that has a pair of these routers."""
    for regime in known:
        for a in first:
            for b in second:
                found = {kind: regime.difference(kind, a, b, SHARE) for kind in regime.tables}
                there = {kind: difference for kind, difference in found.items() if difference is not None}
                if there:
                    words = "; ".join(f"{kind} {d}{_missed(regime, kind, (a, b))}" for kind, d in there.items())
                    return list(there.values()), f"{words}; {regime.title}", f"`{regime.command}`"
    return [], NOT_MEASURED, ""


def _missed(regime: Regime, kind: str, routers: Sequence[str]) -> str:
    """Which of them did not come near the share, in brackets."""
    lines = [(router, regime.at(kind, router, SHARE)) for router in routers]
    far = [(router, line) for router, line in lines if line is not None and abs(line.share - SHARE) > NEAR]
    return "".join(f" ({router} at {line.share:.0%})" for router, line in far)


def _ours(known: Sequence[Regime]) -> Iterator[Claim]:
    for name, first, second, text in (
        ("free", ["citer-2", "citer"], ["max-probability"], "CITER beats the free max-probability baseline"),
        ("plus", ["citer-plus-2", "citer-plus"], ["max-probability"], "CITER plus beats max-probability"),
        ("outcome", ["citer-outcome"], ["max-probability"], "Labels by outcome beat max-probability"),
    ):
        found, number, command = _compared(known, first, second)
        verdict: Verdict = verdict_of(found) if found else NOT_MEASURED
        sentence = {
            "confirmed": "The trained router is worth its training here.",
            "refuted": "The free baseline is better: take it.",
            "no difference shown": "The free baseline is as good, as far as this measurement can tell.",
            NOT_MEASURED: "Nothing is stored that compares them.",
        }[verdict]
        yield Claim(name, "this project", text, "", verdict, number, sentence, command)


def _of_paper(known: Sequence[Regime]) -> Iterator[Claim]:
    setting = "Qwen2 1.5B / 72B; here both models are far smaller"
    for name, first, second, text, paper in (
        (
            "co-llm",
            ["citer-2", "citer"],
            ["co-llm"],
            "Better than Co-LLM at one cost",
            "+17% accuracy or -27% transfer",
        ),
        (
            "citer-s",
            ["citer-2", "citer"],
            ["citer-s-b"],
            "Rollouts pay: better than CITER-S, which has none",
            "+23% accuracy or -42% transfer",
        ),
        (
            "query",
            ["citer-2", "citer"],
            ["query-level"],
            "Tokens pay: better than routing whole questions",
            "+12% accuracy or -30% transfer",
        ),
        ("second", ["citer-2"], ["citer-1"], "A second round makes it better", "+2 to 3% accuracy, -5% cost"),
    ):
        found, number, command = _compared(known, first, second)
        verdict: Verdict = verdict_of(found) if found else NOT_MEASURED
        sentence = {
            "confirmed": "It holds here.",
            "refuted": "It does not hold here.",
            "no difference shown": "Nothing of it shows here: with one wording nearly no token needs a rollout.",
            NOT_MEASURED: "Nothing is stored that compares them.",
        }[verdict]
        if name == "co-llm" and found and "first edition" in number:
            verdict, sentence = "open", "Our stored Co-LLM lacks its published start, which flatters CITER."
        yield Claim(name, "paper", text, f"{paper} ({setting})", verdict, number, sentence, command)
    yield Claim(
        "speculative",
        "paper",
        "Cheaper than speculative decoding, at some accuracy",
        "80.8% in 4.0 s against 87.0% in 10.9 s",
        NOT_MEASURED,
        NOT_MEASURED,
        "Speculative decoding keeps the LLM's answer and routing does not: they are different trades.",
        "",
    )


def _of_reviewers(known: Sequence[Regime], folder: Path) -> Iterator[Claim]:
    yield from _labels(folder)
    yield from _mechanics(folder)
    parts: dict[str, Any] = {}
    for regime in known:
        for name, part in regime.parts.items():
            parts.setdefault(name, part)
    yield _flips(parts.get("misjudged"))
    yield _convergence(parts.get("routers"))
    yield _setup(parts.get("routers"))
    for name, text, sentence in (
        ("transfer", "One router for each benchmark, or one for all?", "`evidence --parts transfer` measures it."),
        (
            "families",
            "Other model families, such as Llama 3?",
            "Pairs of other families can be loaded; none is stored.",
        ),
        (
            "long",
            "Long texts, other languages, lengths of the input?",
            "Recorded runs show some; no accuracy is stored.",
        ),
    ):
        yield Claim(name, "reviewers", text, "", NOT_MEASURED, NOT_MEASURED, sentence, "")


def _labels(folder: Path) -> Iterator[Claim]:
    try:
        report = read_json(folder / "shortcut.json")
        cases, command = report["cases"], f"`{report['command']}`"
        n = {case: int(entry["n_tokens"]) for case, entry in cases.items()}
        two = cases["2"]
        low, high = (float(x) for x in two["interval_95"])
        settled = (n["1"] + n["2"]) / sum(n.values())
        right = f"{two['share_right']:.0%} of {two['n_decided']} tokens of case 2 ({low:.0%} to {high:.0%})"
    except (GateError, KeyError, TypeError, ValueError) as error:
        raise DatasetError("shortcut.json cannot be read: restore it.") from error
    yield Claim(
        "settled", "paper", "The shortcut settles 80 to 90% of the tokens", "80 to 90%", "confirmed",
        f"{settled:.2%} of {sum(n.values()):,} tokens, all but {n['3']}",
        "More than in the paper, because every solution has one wording; so rollouts decide nearly nothing here.",
        command,
    )  # fmt: skip
    yield Claim(
        "shortcut", "reviewers", "How right are the shortcut's labels?", "", "answered", right,
        "A quarter of the labels that prefer the LLM are wrong: the SLM's own token led to the right answer too.",
        command,
    )  # fmt: skip


def _mechanics(folder: Path) -> Iterator[Claim]:
    profile = read_profile(folder / "profile.json")
    router, context = profile.router, profile.break_even.n_context
    step = profile.costs.slm.seconds(1, context)
    yield Claim(
        "overhead", "reviewers", "What does the router itself cost?", "", "answered",
        f"{1e6 * router.seconds:.0f} µs and {4 * router.n_params / 1e6:.2f} MB a token, {router.seconds / step:.0%} of "
        f"an SLM step of {1000 * step:.2f} ms",
        "Small beside the models even of this tiny pair.", f"`{profile.command}`",
    )  # fmt: skip
    yield Claim(
        "switch", "reviewers", "What does a change of the model cost?", "", "answered",
        f"{1e6 * profile.costs.switch_s:.0f} µs a call beside the pass itself, which reads what was skipped at once",
        "With the cache kept a change is nearly free; without it, see the chapter on speed.", f"`{profile.command}`",
    )  # fmt: skip
    even = profile.break_even
    yield Claim(
        "metrics", "reviewers", "Seconds and FLOPs, not calls to the LLM?", "", "answered",
        f"routing saves below {even.time:.0%} LLM tokens in seconds and {even.bytes:.0%} in bytes",
        "Bytes promise more than seconds keep; every curve here can be seen over each that was measured.",
        f"`{profile.command}`",
    )  # fmt: skip


def _flips(part: Any) -> Claim:
    text = "What does a wrong decision cost?"
    if part is None:
        return Claim(
            "flips", "reviewers", text, "", NOT_MEASURED, NOT_MEASURED, "`evidence --parts misjudged` measures it.", ""
        )
    lost = {
        kind: f"{kind}: {entry['to_slm']['n_lost']} of {entry['to_slm']['n']} tokens taken from the LLM, and "
        f"{entry['to_llm']['n_lost']} of {entry['to_llm']['n']} given to it, lost the answer"
        for kind, entry in part.content.items()
    }
    return Claim(
        "flips", "reviewers", text, "", "answered", "; ".join(lost.values()),
        "Most decisions do not matter, a few decide the answer.", f"`{part.command}`",
    )  # fmt: skip


def _convergence(part: Any) -> Claim:
    text = "Do the rounds converge?"
    rounds = [row for row in part.content["rounds"] if row["n_compared"]] if part else []
    if not rounds:
        return Claim(
            "rounds", "reviewers", text, "", NOT_MEASURED, NOT_MEASURED, "`evidence --parts routers` measures it.", ""
        )
    flips = ", ".join(f"{row['labels']}: {row['n_flips']} of {row['n_compared']} labels changed" for row in rounds)
    return Claim(
        "rounds",
        "reviewers",
        text,
        "",
        "answered",
        flips,
        "Fewer labels change from round to round.",
        f"`{part.command}`",
    )


def _setup(part: Any) -> Claim:
    text = "What does it cost from data to router, and when has it paid?"
    if part is None:
        return Claim(
            "end-to-end", "reviewers", text, "", NOT_MEASURED, NOT_MEASURED,
            "`evidence --parts routers` times every step.", "",
        )  # fmt: skip
    seconds = part.content["seconds"]
    by = {kind: sum(s for name, s in seconds.items() if name.startswith(kind)) for kind in ("label", "train")}
    return Claim(
        "end-to-end", "reviewers", text, "", "answered",
        f"{by['label']:.0f} s of labelling and {by['train']:.0f} s of training for all routers, on {part.hardware}",
        "Divide it by the seconds that an answer saves.", f"`{part.command}`",
    )  # fmt: skip


def claims_table(known: Sequence[Claim]) -> str:
    """The table of the chapter, in Markdown."""
    head = ["| claim or question | from | verdict | number | what follows | command |", "|---|---|---|---|---|---|"]
    rows = [
        f"| {c.text}{f' (paper: {c.paper})' if c.paper else ''} | {c.source} | **{c.verdict}** | {c.number} | "
        f"{c.sentence} | {c.command} |"
        for c in known
    ]
    return "\n".join([*head, *rows])


def headline(regime: Regime) -> str:
    """The honest sentence of README: who is ahead at one share, with both numbers of each kind of problem."""
    words, n = [], 0
    for kind in regime.tables:
        free, citer = (regime.at(kind, name, SHARE) for name in ("max-probability", "citer"))
        assert free is not None and citer is not None, "the regime of one wording has both"
        words.append(f"{free.accuracy:.1%} against {citer.accuracy:.1%} on {kind}")
        n = int(free.n)
    return (
        f"On the bundled pair's first edition, where every solution has one wording, the free max-probability baseline "
        f"is ahead of CITER at {SHARE:.0%} LLM tokens: {' and '.join(words)} ({n} problems each, a difference within "
        "chance)."
    )


if __name__ == "__main__":
    print(claims_table(claims()))
