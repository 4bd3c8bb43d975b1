"""What numbers say to what the paper's reviewers asked, each of the newest regime that has what it needs.

Called by the table of questions (`claims`). Imports no torch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from citer_core.evaluation.metrics import unpack, wilson_interval
from citer_core.evidence.claim import (
    NOT_MEASURED,
    SHARE,
    Claim,
    Figure,
    FigureRow,
    Finding,
    Stored,
    Unit,
    figures,
    router_name,
    said,
)
from citer_core.evidence.payback import MEASURES, Payback, paybacks
from citer_core.evidence.regime import Regime, of_seeds
from citer_core.evidence.stored import StoredPart
from citer_core.measuring.profile_numbers import Profile, measured_crossing, read_profile
from citer_core.measuring.profile_words import crossings

CASES = ("the SLM is right", "only the LLM is", "both are wrong")
PAPERS_SETTLED = 0.80, 0.90
POLICIES = {"llm": "the LLM going on", "routed": "both going on, routed"}
N_SKIPPED = 7  # tokens between two calls of the LLM at about 12% LLM tokens
QUARTERS = ("shortest quarter", "second", "third", "longest quarter")
LOOKED_AT = ("always-slm", "max-probability", "citer-2", "citer-outcome", "always-llm")
IN_WORDS = {"seconds": "in seconds (one answer at a time)", "gb": "in bytes", "tflop": "in FLOPs"}
UNITS: dict[str, Unit] = {"seconds": "seconds", "gb": "GB", "tflop": "TFLOP"}


def _profile(stored: Stored) -> Profile:
    return read_profile(stored.folder / "profile.json")


def settled(stored: Stored) -> Claim:
    """The paper's, of what the shortcut settles."""
    regime, part = stored.parts["routers"]
    counted = {
        kind: [round(entry["n_tokens"] * share) for share in entry["shares"]]
        for kind, entry in part.content["cases"].items()
    }
    n = sum(map(sum, counted.values()))
    share = 1 - sum(cases[2] for cases in counted.values()) / n
    low, high = PAPERS_SETTLED
    words = (
        "As the paper has it."
        if low <= share <= high
        else "More than in the paper: rollouts decide less of the labels."
        if share > high
        else "Less than in the paper: rollouts decide more of the labels."
    )
    rows = [
        FigureRow.number(kind, f"case {k}: {what}", count / sum(its), "share")
        for kind, its in counted.items()
        for k, (what, count) in enumerate(zip(CASES, its, strict=True), 1)
    ]
    return Claim(
        Finding((f"{share:.2%} of {n:,} tokens",), regime.title),
        words,
        part.command,
        figures(("Tokens of each case", "share", rows)),
        verdict="confirmed" if low <= share <= high else "refuted",
    )


def borne_out(stored: Stored) -> Claim:
    """How many of the shortcut's labels both branches bear out."""
    regime, part = stored.parts["shortcut"]
    of = {
        f"{kind}, {POLICIES.get(policy, policy)}": entry["cases"]
        for kind, policies in part.content.items()
        for policy, entry in policies.items()
    }
    rows = [
        FigureRow.share(policy, f"case {case}", entry["n_right"], entry["n_decided"])
        for policy, its in of.items()
        for case, entry in its.items()
    ]
    two = {policy: its["2"] for policy, its in of.items() if "2" in its}
    right = tuple(
        f"{entry['n_right'] / entry['n_decided']:.0%} of {entry['n_decided']} tokens of case 2 "
        f"({_percents(entry['n_right'], entry['n_decided'])}), {policy}"
        for policy, entry in two.items()
        if entry["n_decided"]
    )
    wrong = sum(e["n_decided"] - e["n_right"] for e in two.values()) / max(1, sum(e["n_decided"] for e in two.values()))
    return Claim(
        Finding(right, regime.title),
        f"{wrong:.0%} of the labels that prefer the LLM are wrong: the SLM's own token led to the right answer too.",
        part.command,
        figures(("Labels that both branches, rolled out, bear out", "share", rows)),
    )


def _percents(n_right: int, n: int) -> str:
    low, high = wilson_interval(n_right, n)
    return f"{low:.0%} to {high:.0%}"


def _overheads(stored: Stored) -> Iterator[tuple[Regime, StoredPart]]:
    """The part of every regime that has it."""
    return ((regime, regime.parts["overhead"]) for regime in stored.known if "overhead" in regime.parts)


def router_cost(stored: Stored) -> Claim:
    """Seconds and bytes of a router at each token, beside a step of the SLM."""
    profile, drawn, others = _profile(stored), [], []
    router, step = profile.router, profile.costs.slm.seconds(1, profile.break_even.n_context)
    cost = (
        f"{1e6 * router.seconds:.0f} µs and {4 * router.n_params / 1e6:.2f} MB a token, "
        f"{router.seconds / step:.0%} of an SLM step of {1000 * step:.2f} ms"
    )
    for regime, part in _overheads(stored):
        content = part.content
        rows = [FigureRow.number("", router_name(row["router"]), row["ms"], "ms") for row in content["routers"]]
        first_of_each = list({row.label: row for row in reversed(rows)}.values())[::-1]
        steps = [
            FigureRow.number("", f"a step of the {w.upper()}", content[f"{w}_step_ms"], "ms") for w in ("slm", "llm")
        ]
        drawn.append(Figure(f"Measured ms a token; {regime.title}", "ms", (*first_of_each, *steps)))
        if part.pair_revision != profile.pair_revision:
            one, step_ms = next(row for row in content["routers"] if row["n_params"]), content["slm_step_ms"]
            line = f"{1000 * one['ms']:.0f} µs and {one['mb']:.1f} MB a token, {one['ms'] / step_ms:.1%} of an SLM step"
            others.append(Finding((f"{line} of {step_ms:.0f} ms",), regime.title))
    sentence = "Small beside the models even of this tiny pair."
    return Claim(Finding((cost,)), sentence, profile.command, tuple(drawn), tuple(others))


def switch_cost(stored: Stored) -> Claim:
    """What a call of the LLM takes beside the pass itself, with its cache and without."""
    profile, drawn, others = _profile(stored), [], []
    cost = f"{1e6 * profile.costs.switch_s:.0f} µs a call beside the pass itself, which reads what was skipped at once"
    title = "Measured ms until the LLM has written a token after so many that it has not read"
    for regime, part in _overheads(stored):
        switches = part.content["switch"]
        rows = tuple(
            FigureRow.number(how, f"{row['n_skipped']} skipped", row[f"{key}_ms"], "ms")
            for key, how in (("kept", "cache kept"), ("again", "text read again"))
            for row in switches
        )
        drawn.append(Figure(f"{title}; {regime.title}", "ms", rows))
        if part.pair_revision != profile.pair_revision:
            row = next(row for row in switches if row["n_skipped"] == N_SKIPPED)
            line = (
                f"a token of the LLM after {N_SKIPPED} that it has not read takes {row['kept_ms']:.0f} ms with its "
                f"cache kept, {row['again_ms']:.0f} ms where it reads the text again, "
                f"{part.content['llm_step_ms']:.0f} ms after none"
            )
            others.append(Finding((line,), regime.title))
    sentence = "With the cache kept a change is nearly free; without it, see the chapter on speed."
    return Claim(Finding((cost,)), sentence, profile.command, tuple(drawn), tuple(others))


def metrics(stored: Stored) -> Claim:
    """Up to which share of LLM tokens routing saves, in each measure."""
    profile = _profile(stored)
    even, crossing = profile.break_even, measured_crossing(profile.check)
    rows = [
        FigureRow.number("", "in seconds, measured", crossing.at if crossing else None, "share"),
        FigureRow.number("", "in seconds, fitted", even.time, "share"),
        FigureRow.number("", "in bytes, estimated", even.bytes, "share"),
    ]
    return Claim(
        Finding(tuple(f"{number.value} {number.label} ({number.note})" for number in crossings(profile))),
        "Bytes promise more than seconds keep; every curve here can be seen over each that was measured.",
        profile.command,
        figures(("LLM tokens below which routing saves", "share", rows)),
    )


def flips(stored: Stored) -> Claim:
    """How many answers a flipped decision changes."""
    regime, part = stored.parts["misjudged"]
    ways = (("to_slm", "taken from the LLM"), ("to_llm", "given to the LLM"))
    lost = [
        f"{kind}: {entry['to_slm']['n_lost']} of {entry['to_slm']['n']} tokens taken from the LLM, and "
        f"{entry['to_llm']['n_lost']} of {entry['to_llm']['n']} given to it, lost the answer"
        for kind, entry in part.content.items()
    ]
    rows = [
        FigureRow.share(f"{kind}, {said_so}", f"answer {what}", entry[way][f"n_{what}"], entry[way]["n"])
        for kind, entry in part.content.items()
        for way, said_so in ways
        for what in ("lost", "won")
    ]
    n = sum(entry[way]["n"] for entry in part.content.values() for way, _ in ways)
    mattered = sum(entry[way][f"n_{w}"] for entry in part.content.values() for way, _ in ways for w in ("lost", "won"))
    return Claim(
        Finding(tuple(lost), regime.title),
        f"{1 - mattered / max(1, n):.0%} of the decisions in which the models differ change no verdict; the others "
        "decide the answer.",
        part.command,
        figures(("Answers that one flipped decision changes", "share", rows)),
    )


def rounds(stored: Stored) -> Claim | None:
    """Labels that change from round to round, and the routers that learn from them."""
    regime, part = stored.parts["routers"]
    compared = [row for row in part.content["rounds"] if row["n_compared"]]
    if not compared:
        return None
    shares = [row["n_flips"] / row["n_compared"] for row in compared]
    changed = tuple(
        f"{row['labels'].replace('published-', 'round ')}: {row['n_flips']:,} of {row['n_compared']:,} labels changed"
        for row in compared
    )
    trained = [
        FigureRow.number(
            "AUC on labels held out", f"{router_name(row['router'])}, seed {row['seed']}", row["auc"], "share"
        )
        for row in part.content["routers"]
        if row["router"].removeprefix("citer-").isdecimal() and row["auc"] is not None
    ]
    right = [
        FigureRow.of(kind, line.label, line, int(line.n))
        for kind in regime.tables
        for k in range(1, len(part.content["rounds"]) + 1)
        if (line := regime.at(kind, f"citer-{k}", SHARE)) is not None
    ]
    changes = [FigureRow.share("", row["labels"], row["n_flips"], row["n_compared"]) for row in compared]
    return Claim(
        Finding(changed, regime.title),
        "One round changes few labels or many: whether they settle takes more rounds."
        if len(shares) == 1
        else "Fewer labels change from round to round."
        if shares == sorted(shares, reverse=True)
        else "The labels do not settle from round to round.",
        part.command,
        figures(
            ("Rolled-out labels that a round changes", "share", changes),
            ("Routers of each round", "share", trained),
            (f"Right answers at {SHARE:.0%} LLM tokens", "share", right),
        ),
    )


def end_to_end(stored: Stored) -> Claim | None:
    """What a router costs to set up, and after how many answers that has paid."""
    priced = [(regime, found) for regime in stored.known if (found := paybacks(regime))]
    if not priced:
        return None
    (regime, found), *others = priced
    none_better = all(one.accuracy <= one.llm_accuracy for _, found in priced for one in found)
    more = ", and no router here is more often right than the LLM alone" if none_better else ""
    return Claim(
        _paid(regime, found),
        f"Max-probability needs nothing but its tau; a trained router has to win back its labels first{more}.",
        regime.parts["setup"].command,
        tuple(figure for one in priced for figure in _setup_figures(*one)),
        tuple(_paid(*other) for other in others),
    )


def _setup_figures(regime: Regime, found: Sequence[Payback]) -> list[Figure]:
    rows = [
        FigureRow.number(
            IN_WORDS[measure], router_name(one.router), n if math.isfinite(n) else None, "answers", _times(n)
        )
        for measure in MEASURES
        if not all(math.isnan(one.answers(measure)) for one in found)
        for one in found
        for n in [one.answers(measure)]
    ]
    steps = [
        FigureRow.number(router_name(one.router), what, cost["seconds"], "seconds")
        for one in found
        for what, cost in (("labelling", one.labels), ("training", one.training), ("tuning", one.tuning))
    ]
    of = _title(regime)
    drawn = figures(
        (f"Answers after which the set-up is paid; {of}", "answers", rows),
        (f"Seconds of the set-up; {of}", "seconds", steps),
    )
    return [replace(figure, is_log=True) for figure in drawn]


def _paid(regime: Regime, found: Sequence[Payback]) -> Finding:
    lines = []
    for one in found:
        total = ", ".join(said(one.total(measure), UNITS[measure]) for measure in MEASURES)
        measured = [measure for measure in MEASURES if not math.isnan(one.answers(measure))]
        paid = ", ".join(
            f"after {_times(n)} answers {IN_WORDS[measure]}" if math.isfinite(n) else f"never {IN_WORDS[measure]}"
            for measure in measured
            for n in [one.answers(measure)]
        )
        lines.append(
            f"{router_name(one.router)}: {total} to set up, paid {paid}, then {one.accuracy:.1%} right where the LLM "
            f"has {one.llm_accuracy:.1%}"
        )
    return Finding(tuple(lines), _title(regime))


def _title(regime: Regime) -> str:
    """Of the pair, and of the problems that the set-up was for, if these are not all."""
    kinds = regime.parts["setup"].content.get("kinds")
    return f"{regime.title}{', ' + ' and '.join(kinds) if kinds else ''}"


def _times(n: float) -> str:
    return NOT_MEASURED if math.isnan(n) else "never" if math.isinf(n) else f"{n:,.0f}"


def length(stored: Stored) -> Claim:
    """By the length of the answer from the part `accuracy`, by that of the question from `length`."""
    regime, accuracy = stored.parts["accuracy"]
    found = [_drawn("the LLM's answer", accuracy, "length_of", "length_bounds")]
    command = accuracy.command
    if "length" in regime.parts:
        found.append(_drawn("the question", regime.parts["length"], "question_of", "question_bounds"))
        command = regime.parts["length"].command
    words = []
    for kind, entry in accuracy.content.items():
        for router in ("max-probability", "citer-2"):
            short, long = (_quarter(entry, "length_of", router, k) for k in (0, len(QUARTERS) - 1))
            if short is not None and long is not None:
                ends = f"{_said(short)} of the shortest quarter, {_said(long)} of the longest"
                words.append(f"{kind}, {router_name(router)}: {ends}")
    return Claim(
        Finding(tuple(words), regime.title),
        "All problems here are short, 2 to 5 steps; what happens in texts of pages was not measured.",
        command,
        figures(*found),
    )


def _drawn(of: str, part: StoredPart, digits: str, bounds: str) -> tuple[str, Unit, list[FigureRow]]:
    """Right answers of each quarter, router by router."""
    rows = []
    for kind, entry in part.content.items():
        ends = entry[bounds]
        ranges = [f"under {ends[0]}", *(f"{low} to {high - 1}" for low, high in pairwise(ends)), f"{ends[-1]} or more"]
        for router in LOOKED_AT:
            for k, quarter in enumerate(QUARTERS):
                row = _quarter(entry, digits, router, k)
                if row is not None:
                    group = f"{kind}, {router_name(router)}"
                    rows.append(replace(row, group=group, label=f"{quarter}: {ranges[k]} tokens"))
    return f"Right answers by the tokens of {of}", "share", rows


def _quarter(entry: Mapping[str, Any], digits: str, router: str, k: int) -> FigureRow | None:
    """A router's right answers in one quarter, at `SHARE` where it has a tau; None where there is nothing."""
    points = [
        point
        for point in entry["points"]
        if point["router"] == router and (point["share_wanted"] is None or math.isclose(point["share_wanted"], SHARE))
    ]
    mine = [i for i, digit in enumerate(entry[digits]) if digit == str(k)]
    if not points or not mine:
        return None
    right = [unpack(point["right"], entry["n"])[mine] for point in points]
    return FigureRow.of("", "", of_seeds(right), len(mine))


def _said(row: FigureRow) -> str:
    return f"{row.text} ({row.low:.1%} to {row.high:.1%}, n = {row.n})"
