"""What the paper's reviewers asked, a table of questions: each answered of the newest regime that has what it needs.

What is not stored is "not measured", with the command that would measure it. Imports no torch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from citer_core.evaluation.metrics import unpack
from citer_core.evidence.arena import answered
from citer_core.evidence.claim import (
    NOT_MEASURED,
    SHARE,
    Answer,
    Figure,
    FigureRow,
    Finding,
    Question,
    Stored,
    Unit,
    figures,
    router_name,
    said,
)
from citer_core.evidence.languages import in_languages
from citer_core.evidence.look_back import looked_back
from citer_core.evidence.payback import MEASURES, Payback, paybacks
from citer_core.evidence.regime import Regime, of_seeds
from citer_core.evidence.settled import borne_out
from citer_core.evidence.stored import StoredPart
from citer_core.evidence.transfer import transferred
from citer_core.evidence.truths import answered as answered_truths
from citer_core.measuring.profile_numbers import Profile, measured_crossing, read_profile
from citer_core.measuring.profile_words import crossings

N_SKIPPED = 7  # tokens between two calls of the LLM at about 12% LLM tokens
QUARTERS = ("shortest quarter", "second", "third", "longest quarter")
LOOKED_AT = ("always-slm", "max-probability", "citer-2", "citer-outcome", "always-llm")
IN_WORDS = {"seconds": "in seconds (one answer at a time)", "gb": "in bytes", "tflop": "in FLOPs"}
UNITS: dict[str, Unit] = {"seconds": "seconds", "gb": "GB", "tflop": "TFLOP"}


def _profile(stored: Stored) -> Profile:
    return read_profile(stored.folder / "profile.json")


def _overheads(stored: Stored) -> Iterator[tuple[Regime, StoredPart]]:
    """The part of every regime that has it."""
    return ((regime, regime.parts["overhead"]) for regime in stored.known if "overhead" in regime.parts)


def _router_cost(stored: Stored) -> Answer:
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
    return Answer(Finding((cost,)), sentence, profile.command, tuple(drawn), tuple(others))


def _switch_cost(stored: Stored) -> Answer:
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
    return Answer(Finding((cost,)), sentence, profile.command, tuple(drawn), tuple(others))


def _metrics(stored: Stored) -> Answer:
    profile = _profile(stored)
    even, crossing = profile.break_even, measured_crossing(profile.check)
    rows = [
        FigureRow.number("", "in seconds, measured", crossing.at if crossing else None, "share"),
        FigureRow.number("", "in seconds, fitted", even.time, "share"),
        FigureRow.number("", "in bytes, estimated", even.bytes, "share"),
    ]
    return Answer(
        Finding(tuple(f"{number.value} {number.label} ({number.note})" for number in crossings(profile))),
        "Bytes promise more than seconds keep; every curve here can be seen over each that was measured.",
        profile.command,
        figures(("LLM tokens below which routing saves", "share", rows)),
    )


def _flips(stored: Stored) -> Answer | None:
    if "misjudged" not in stored.parts:
        return None
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
    return Answer(
        Finding(tuple(lost), regime.title),
        f"{1 - mattered / max(1, n):.0%} of the decisions in which the models differ change no verdict; the others "
        "decide the answer.",
        part.command,
        figures(("Answers that one flipped decision changes", "share", rows)),
    )


def _rounds(stored: Stored) -> Answer | None:
    if "routers" not in stored.parts:
        return None
    regime, part = stored.parts["routers"]
    rounds = [row for row in part.content["rounds"] if row["n_compared"]]
    if not rounds:
        return None
    flips = [row["n_flips"] / row["n_compared"] for row in rounds]
    changed = tuple(
        f"{row['labels'].replace('published-', 'round ')}: {row['n_flips']:,} of {row['n_compared']:,} labels changed"
        for row in rounds
    )
    trained = [
        FigureRow.number(
            "AUC on labels held out", f"{router_name(row['router'])}, seed {row['seed']}", row["auc"], "share"
        )
        for row in part.content["routers"]
        if row["router"].removeprefix("citer-").isdecimal() and row["auc"] is not None
    ]
    right = [
        FigureRow.interval(kind, line.label, float(line.accuracy), (float(line.low), float(line.high)), int(line.n))
        for kind in regime.tables
        for k in range(1, len(part.content["rounds"]) + 1)
        if (line := regime.at(kind, f"citer-{k}", SHARE)) is not None
    ]
    changes = [FigureRow.share("", row["labels"], row["n_flips"], row["n_compared"]) for row in rounds]
    return Answer(
        Finding(changed, regime.title),
        "One round changes few labels or many: whether they settle takes more rounds."
        if len(flips) == 1
        else "Fewer labels change from round to round."
        if flips == sorted(flips, reverse=True)
        else "The labels do not settle from round to round.",
        part.command,
        figures(
            ("Rolled-out labels that a round changes", "share", changes),
            ("Routers of each round", "share", trained),
            (f"Right answers at {SHARE:.0%} LLM tokens", "share", right),
        ),
    )


def _end_to_end(stored: Stored) -> Answer | None:
    priced = [(regime, found) for regime in stored.known if (found := paybacks(regime))]
    if not priced:
        return None
    (regime, found), *others = priced
    return Answer(
        _paid(regime, found),
        "Max-probability needs nothing but its tau; a trained router has to win back its labels first, and no router "
        "here is more often right than the LLM alone."
        if all(one.accuracy <= one.llm_accuracy for _, found in priced for one in found)
        else "Max-probability needs nothing but its tau; a trained router has to win back its labels first.",
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


def _length(stored: Stored) -> Answer | None:
    """By the length of the answer from the part `accuracy`, by that of the question from `length`."""
    if "accuracy" not in stored.parts:
        return None
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
    return Answer(
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
    right = of_seeds([unpack(point["right"], entry["n"])[mine] for point in points])
    return FigureRow.interval("", "", right["accuracy"], (right["low"], right["high"]), len(mine))


def _said(row: FigureRow) -> str:
    return f"{row.text} ({row.low:.1%} to {row.high:.1%}, n = {row.n})"


def _measures(parts: str) -> str:
    return f"`evidence --parts {parts}` measures it."


OURS = "this project"
QUESTIONS = (
    Question(
        "arena", "Which router at equal bytes?", answered, _measures("accuracy speculative look_back rules"), OURS,
    ),
    Question("shortcut", "How right are the shortcut's labels?", borne_out, ""),
    Question("overhead", "What does the router itself cost?", _router_cost, ""),
    Question("switch", "What does a change of the model cost?", _switch_cost, ""),
    Question("metrics", "Seconds and FLOPs, not calls to the LLM?", _metrics, ""),
    Question("flips", "What does a wrong decision cost?", _flips, _measures("misjudged")),
    Question("rounds", "Do the rounds converge?", _rounds, _measures("routers")),
    Question(
        "end-to-end", "What does it cost from data to router, and when has it paid?", _end_to_end,
        _measures("accuracy setup"),
    ),
    Question(
        "look-back", "The LLM's right answers for less, by taking tokens back?", looked_back,
        _measures("accuracy speculative look_back"), OURS,
    ),
    Question("truths", "Do labels need known answers?", answered_truths, _measures("truths"), OURS),
    Question("transfer", "One router for each benchmark, or one for all?", transferred, _measures("transfer")),
    Question("long", "Does it hold for long questions and answers?", _length, _measures("accuracy length")),
    Question("languages", "Other languages?", in_languages, "No accuracy is stored."),
    # Nothing can be stored of these yet.
    Question(
        "families", "Other model families, such as Llama 3?", lambda _: None,
        "Pairs of other families load; none is stored.",
    ),
    Question(
        "pages", "Texts of pages?", lambda _: None,
        "All answers here are a few sentences; of long texts that says little.",
    ),
)  # fmt: skip
