"""What the paper's reviewers asked of labels, decisions and mechanics, from the newest regime that has each part.

What is not stored is "not measured", with the command that would measure it; `reach` has the other questions. Imports
no torch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from citer_core.errors import DatasetError, GateError
from citer_core.evaluation.metrics import wilson_interval
from citer_core.evidence.claim import SHARE, Claim, Finding, Parts, answer, missing, router_name
from citer_core.evidence.figures import Figure, FigureRow, figures, interval_row, number_row, share_row
from citer_core.evidence.languages import language_claim
from citer_core.evidence.reach import of_reach, unanswered
from citer_core.evidence.regime import Regime
from citer_core.evidence.stored import StoredPart
from citer_core.gate.json_file import read_json
from citer_core.measuring.profile_numbers import measured_crossing, read_profile
from citer_core.measuring.profile_words import crossings

SHORTCUT = "shortcut_one_wording.json"  # the first edition's labels, tried by rolling both branches out
CASES = ("the SLM is right", "only the LLM is", "both are wrong")
PAPERS_SETTLED = 0.80, 0.90
N_SKIPPED = 7  # tokens between two calls of the LLM at about 12% LLM tokens


def of_reviewers(known: Sequence[Regime], folder: Path) -> Iterator[Claim]:
    """All of them.

    Raises:
        DatasetError: a stored result is damaged.
    """
    parts: dict[str, tuple[Regime, StoredPart]] = {}  # of the newest that has it, and whose it is
    for regime in known:
        for name, part in regime.parts.items():
            parts.setdefault(name, (regime, part))
    yield from _labels(parts, folder)
    yield from _mechanics(known, folder)
    yield _flips(parts)
    yield _rounds(parts)
    yield from of_reach(parts, known, folder)
    yield language_claim(folder)
    yield from unanswered()


def _labels(parts: Parts, folder: Path) -> Iterator[Claim]:
    """What the shortcut settles, and how right it is: of the newest set, else of the report of its own."""
    if {"routers", "shortcut"} <= parts.keys():
        (_, cases), (regime, tried) = parts["routers"], parts["shortcut"]
        counted = {
            kind: [round(entry["n_tokens"] * share) for share in entry["shares"]]
            for kind, entry in cases.content["cases"].items()
        }
        of = {
            f"{kind}, {_policy(policy)}": entry["cases"]
            for kind, policies in tried.content.items()
            for policy, entry in policies.items()
        }
        commands, title = (cases.command, tried.command), regime.title
    else:
        try:
            report = read_json(folder / SHORTCUT)
            counted = {"all": [int(report["cases"][case]["n_tokens"]) for case in "123"]}
            of = {"SLM going on alone": report["cases"]}
            commands, title = (report["command"], report["command"]), ""
            rows = [_label_row(policy, case, entry) for policy, its in of.items() for case, entry in its.items()]
        except (GateError, KeyError, TypeError, ValueError) as error:
            raise DatasetError(f"{SHORTCUT} cannot be read: restore it.") from error
    rows = [_label_row(policy, case, entry) for policy, its in of.items() for case, entry in its.items()]
    n = sum(map(sum, counted.values()))
    settled = 1 - sum(cases[2] for cases in counted.values()) / n
    low, high = PAPERS_SETTLED
    words = (
        "As the paper has it."
        if low <= settled <= high
        else "More than in the paper: rollouts decide less of the labels."
        if settled > high
        else "Less than in the paper: rollouts decide more of the labels."
    )
    shares = [
        number_row(kind, f"case {k}: {what}", count / sum(its), "share")
        for kind, its in counted.items()
        for k, what, count in zip(
            (1, 2, 3), ("the SLM is right", "only the LLM is", "both are wrong"), its, strict=True
        )
    ]
    yield Claim(
        "settled", "paper", "The shortcut settles 80 to 90% of the tokens", "80 to 90%",
        "confirmed" if low <= settled <= high else "refuted", words,
        Finding((f"{settled:.2%} of {n:,} tokens",), title), f"`{commands[0]}`",
        figures=figures(("Tokens of each case", "share", shares)),
    )  # fmt: skip
    two = {policy: its["2"] for policy, its in of.items() if "2" in its}
    right = tuple(
        f"{entry['n_right'] / entry['n_decided']:.0%} of {entry['n_decided']} tokens of case 2 "
        f"({_percents(entry['n_right'], entry['n_decided'])}), {policy}"
        for policy, entry in two.items()
        if entry["n_decided"]
    )
    wrong = sum(e["n_decided"] - e["n_right"] for e in two.values()) / max(1, sum(e["n_decided"] for e in two.values()))
    yield answer(
        "shortcut", "How right are the shortcut's labels?", Finding(right, title),
        f"{wrong:.0%} of the labels that prefer the LLM are wrong: the SLM's own token led to the right answer too.",
        commands[1], figures(("Labels that both branches, rolled out, bear out", "share", rows)),
    )  # fmt: skip


def _policy(name: str) -> str:
    return {"llm": "the LLM going on", "routed": "both going on, routed"}.get(name, name)


def _label_row(policy: str, case: str, entry: Mapping[str, Any]) -> FigureRow:
    return share_row(policy, f"case {case}", int(entry["n_right"]), int(entry["n_decided"]))


def _percents(n_right: int, n: int) -> str:
    low, high = wilson_interval(n_right, n)
    return f"{low:.0%} to {high:.0%}"


def _mechanics(known: Sequence[Regime], folder: Path) -> Iterator[Claim]:
    profile = read_profile(folder / "profile.json")
    router, context = profile.router, profile.break_even.n_context
    step = profile.costs.slm.seconds(1, context)
    measured = [(regime, regime.parts["overhead"]) for regime in known if "overhead" in regime.parts]
    routers = [_overhead_figure(regime, part) for regime, part in measured]
    switches = [_switch_figure(regime, part) for regime, part in measured]
    others = [(regime, part) for regime, part in measured if part.pair_revision != profile.pair_revision]
    command = profile.command
    cost = (
        f"{1e6 * router.seconds:.0f} µs and {4 * router.n_params / 1e6:.2f} MB a token, "
        f"{router.seconds / step:.0%} of an SLM step of {1000 * step:.2f} ms"
    )
    yield answer(
        "overhead", "What does the router itself cost?", Finding((cost,)),
        "Small beside the models even of this tiny pair.", command, tuple(routers),
        tuple(_other_overhead(*one) for one in others),
    )  # fmt: skip
    cost = f"{1e6 * profile.costs.switch_s:.0f} µs a call beside the pass itself, which reads what was skipped at once"
    yield answer(
        "switch", "What does a change of the model cost?", Finding((cost,)),
        "With the cache kept a change is nearly free; without it, see the chapter on speed.", command, tuple(switches),
        tuple(_other_switch(*one) for one in others),
    )  # fmt: skip
    even, crossing = profile.break_even, measured_crossing(profile.check)
    yield answer(
        "metrics", "Seconds and FLOPs, not calls to the LLM?",
        Finding(tuple(f"{number.value} {number.label} ({number.note})" for number in crossings(profile))),
        "Bytes promise more than seconds keep; every curve here can be seen over each that was measured.", command,
        figures(
            (
                "LLM tokens below which routing saves",
                "share",
                [
                    number_row("", "in seconds, measured", crossing.at if crossing else None, "share"),
                    number_row("", "in seconds, fitted", even.time, "share"),
                    number_row("", "in bytes, estimated", even.bytes, "share"),
                ],
            )
        ),
    )  # fmt: skip


def _overhead_figure(regime: Regime, part: StoredPart) -> Figure:
    rows = [number_row("", router_name(row["router"]), row["ms"], "ms") for row in part.content["routers"]]
    steps = [number_row("", f"a step of the {w.upper()}", part.content[f"{w}_step_ms"], "ms") for w in ("slm", "llm")]
    return Figure(f"Measured ms a token; {regime.title}", "ms", (*_first_of_each(rows), *steps))


def _switch_figure(regime: Regime, part: StoredPart) -> Figure:
    rows = (
        number_row(how, f"{row['n_skipped']} skipped", row[f"{key}_ms"], "ms")
        for key, how in (("kept", "cache kept"), ("again", "text read again"))
        for row in part.content["switch"]
    )
    title = "Measured ms until the LLM has written a token after so many that it has not read"
    return Figure(f"{title}; {regime.title}", "ms", tuple(rows))


def _other_overhead(regime: Regime, part: StoredPart) -> Finding:
    first = next(row for row in part.content["routers"] if row["n_params"])
    step = part.content["slm_step_ms"]
    cost = f"{1000 * first['ms']:.0f} µs and {first['mb']:.1f} MB a token, {first['ms'] / step:.1%} of an SLM step"
    return Finding((f"{cost} of {step:.0f} ms",), regime.title)


def _other_switch(regime: Regime, part: StoredPart) -> Finding:
    row = next(row for row in part.content["switch"] if row["n_skipped"] == N_SKIPPED)
    cost = (
        f"a token of the LLM after {N_SKIPPED} that it has not read takes {row['kept_ms']:.0f} ms with its cache kept, "
        f"{row['again_ms']:.0f} ms where it reads the text again, {part.content['llm_step_ms']:.0f} ms after none"
    )
    return Finding((cost,), regime.title)


def _first_of_each(rows: Sequence[FigureRow]) -> list[FigureRow]:
    return list({row.label: row for row in reversed(rows)}.values())[::-1]


def _flips(parts: Parts) -> Claim:
    text = "What does a wrong decision cost?"
    if "misjudged" not in parts:
        return missing("flips", text, "misjudged")
    regime, part = parts["misjudged"]
    ways = (("to_slm", "taken from the LLM"), ("to_llm", "given to the LLM"))
    lost = [
        f"{kind}: {entry['to_slm']['n_lost']} of {entry['to_slm']['n']} tokens taken from the LLM, and "
        f"{entry['to_llm']['n_lost']} of {entry['to_llm']['n']} given to it, lost the answer"
        for kind, entry in part.content.items()
    ]
    rows = [
        share_row(f"{kind}, {said_so}", f"answer {what}", entry[way][f"n_{what}"], entry[way]["n"])
        for kind, entry in part.content.items()
        for way, said_so in ways
        for what in ("lost", "won")
    ]
    n = sum(entry[way]["n"] for entry in part.content.values() for way, _ in ways)
    mattered = sum(entry[way][f"n_{w}"] for entry in part.content.values() for way, _ in ways for w in ("lost", "won"))
    return answer(
        "flips", text, Finding(tuple(lost), regime.title),
        f"{1 - mattered / max(1, n):.0%} of the decisions in which the models differ change no verdict; the others "
        "decide the answer.",
        part.command, figures(("Answers that one flipped decision changes", "share", rows)),
    )  # fmt: skip


def _rounds(parts: Parts) -> Claim:
    text = "Do the rounds converge?"
    regime, part = parts.get("routers", (None, None))
    rounds = [row for row in part.content["rounds"] if row["n_compared"]] if part else []
    if regime is None or part is None or not rounds:
        return missing("rounds", text, "routers")
    flips = [row["n_flips"] / row["n_compared"] for row in rounds]
    changed = tuple(
        f"{row['labels'].replace('published-', 'round ')}: {row['n_flips']:,} of {row['n_compared']:,} labels changed"
        for row in rounds
    )
    trained = [
        number_row("AUC on labels held out", f"{router_name(row['router'])}, seed {row['seed']}", row["auc"], "share")
        for row in part.content["routers"]
        if row["router"].removeprefix("citer-").isdecimal() and row["auc"] is not None
    ]
    right = [
        interval_row(kind, line.label, float(line.accuracy), (float(line.low), float(line.high)), int(line.n))
        for kind in regime.tables
        for k in range(1, len(part.content["rounds"]) + 1)
        if (line := regime.at(kind, f"citer-{k}", SHARE)) is not None
    ]
    return answer(
        "rounds", text, Finding(changed, regime.title),
        "One round changes few labels or many: whether they settle takes more rounds."
        if len(flips) == 1
        else "Fewer labels change from round to round."
        if flips == sorted(flips, reverse=True)
        else "The labels do not settle from round to round.",
        part.command,
        figures(
            ("Rolled-out labels that a round changes", "share",
             [share_row("", row["labels"], row["n_flips"], row["n_compared"]) for row in rounds]),
            ("Routers of each round", "share", trained),
            (f"Right answers at {SHARE:.0%} LLM tokens", "share", right),
        ),
    )  # fmt: skip
