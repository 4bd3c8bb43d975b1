"""The parts of README and of three chapters that are made of stored results: each stands between two marks.

    python -m citer_core.evidence.chapter     # writes them anew; a test says when that is to be done

Every number there comes from here; the sentences around them have none. Imports no torch.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from citer_core.assets import ASSETS
from citer_core.evidence.arena import arenas, right_alone
from citer_core.evidence.claim import NOT_MEASURED, SHARE, Claim, Stored
from citer_core.evidence.claims import claims, headline
from citer_core.evidence.look_back import line_of, ways
from citer_core.evidence.regime import NAMES, Difference, Regime
from citer_core.evidence.regimes import BENCHMARKS, regimes
from citer_core.evidence.transfer import compared_with_own
from citer_core.evidence.truths import AT_SHARE, LABELLED, answered, cells
from citer_core.measuring.profile_numbers import measured_crossing, read_profile
from citer_core.tasks.datasets import bundled_rows

FILES = (ASSETS.parent / "README.md", *(ASSETS / "docs" / f"{name}.md" for name in ("evidence", "method", "speed")))
FREE = "max-probability"
ALONE = ("always-slm", "always-llm", "speculative")  # what has no share of LLM tokens
RELAYED = 0.0134  # of the tokens: CITER's calls of the LLM in the table of RelayLLM
ROWS = {"gsm8k": "GSM8K", "cqa": "CommonsenseQA"}


def blocks(known: Sequence[Regime]) -> dict[str, str]:
    """Each part's text, in Markdown, by the name of its marks.

    Args:
        known: what is stored, the newest first.
    """
    own, real = known[0], next(regime for regime in known if regime.name == "qwen")
    first = next(regime for regime in known if regime.name == "one-wording")
    return {
        "headline": headline(own),
        "short table": _short_table(),
        "claims": _claims(claims(known=known)),
        "measured": _measured(own),
        "pair": _pair(),
        "arena": _arena(own),
        "look back": _looked_back(own),
        "relay": _relayed(own),
        "truths": _truths(own),
        "first edition": _alone(first),
        "real arena": _arena(real),
        "real headline": _real(real),
        "transfer": _transfer(real),
        "outcomes": _outcomes(),
        "graded again": _graded(),
        "speed table": _speed(),
        "batch": _batch(),
        "profile": _profile(),
    }


def filled(text: str, made: Mapping[str, str]) -> str:
    """The text with each marked part as it is made now."""
    for name, block in made.items():
        start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
        before, is_there, rest = text.partition(start)
        if is_there:
            text = f"{before}{start}\n{block}\n{end}{rest.partition(end)[2]}"
    return text


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [f"| {' | '.join(cells)} |" for cells in (head, *rows)]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]])


def _claims(known: Sequence[Claim]) -> str:
    """One line each; what follows is left out where several say the same of their verdicts."""
    said = Counter(claim.sentence for claim in known)
    rows = [
        [
            f"{claim.text} (paper: {claim.paper.partition(' (')[0]})" if claim.paper else claim.text,
            f"**{claim.verdict}**",
            _found(claim).replace(" (no training)", ""),
            claim.sentence if said[claim.sentence] == 1 else "",
        ]
        for claim in known
    ]
    return table(("claim or question", "verdict", "number", "what follows"), rows)


def _found(claim: Claim) -> str:
    """One line of it: all of a difference, the first line of what has many."""
    if claim.found is None:
        return ""
    if not claim.found.lead:
        return claim.found.lines[0]
    return f"{claim.found.lead}: {'; '.join(claim.found.lines[:2])}"


def _measured(regime: Regime) -> str:
    minutes = sum(part.seconds for part in regime.parts.values()) / 60
    return (
        f"All parts of it, from its two models but for the routers that come with it, took {minutes:.0f} minutes with "
        f"`--workers 2` ({regime.hardware}, {regime.date})."
    )


def _pair() -> str:
    """Either model of the bundled pair alone."""
    card = _json(ASSETS / "models" / "card.json")
    rows = []
    for which in ("slm", "llm"):
        model = card["models"][which]
        kinds = [one["share"] for one in model["accuracy"]["math"]["by_kind"].values()]
        right = [_share(model[of][kind]) for of in ("accuracy", "typed") for kind in ("math", "mc")]
        rows.append([which.upper(), f"{model['n_params']:,}", *right, f"{min(kinds):.0%} to {max(kinds):.0%}"])
    seen, typed = (card["models"]["llm"][of] for of in ("accuracy", "typed"))
    said = (
        f"Greedy, on {seen['math']['n']:,} unseen problems of each format, and on {typed['math']['n']} and "
        f"{typed['mc']['n']} as people type them (`{card['command']}`, {card['date']}, {card['hardware']}):"
    )
    head = ("model", "parameters", "math", "mc", "math, typed", "mc, typed", "kinds of math")
    return f"{said}\n\n{table(head, rows)}"


def _short_table() -> str:
    """README's: the router that comes with the pair, at its tau."""
    card = _json(ASSETS / "routers" / "embedded" / "citer.json")
    rows = []
    for kind in ("math", "mc"):
        slm, routed, llm = card["test"][kind]
        right = [f"{point['accuracy']['share']:.1%}" for point in (slm, routed, llm)]
        rows.append([kind, right[0], right[1], f"{routed['llm_token_share']:.1%}", right[2]])
    tau, n = card["recommended_threshold"], len(list(bundled_rows("math")))
    head = ("format", "SLM only", f"CITER at tau = {tau:g}", "tokens by the LLM", "LLM only")
    return f"On {n} problems of each format that did not choose tau:\n\n{table(head, rows)}"


def _arena(regime: Regime) -> str:
    """Every contender at equal bytes, the one that recovers most first; and right answers at a share of LLM tokens."""
    found = arenas(regime)
    level = found[0].level
    standings = [{one.label: one for one in arena.standings(level)} for arena in found]
    labels = dict.fromkeys(label for of in standings for label in of)
    rows = []
    for label in sorted(labels, key=lambda label: -sum(of[label].gap for of in standings if label in of)):
        ours = [of.get(label) for of in standings]
        gaps = ["" if one is None else f"{one.gap:.0%} ({one.low:.0%} to {one.high:.0%})" for one in ours]
        tables = [of[(of.label == label) & np.isclose(of.share_wanted, SHARE)] for of in regime.tables.values()]
        rows.append(
            [
                label.removesuffix(" (no training)"),
                *gaps,
                ", ".join(f"{of.accuracy.iloc[0]:.1%}" for of in tables if len(of)),
            ]
        )
    head = ["contender", *regime.tables, f"right at {SHARE:.0%} LLM tokens"]
    n = " and ".join(f"{arena.n:,} of {arena.kind}" for arena in found)
    return (
        f"{regime.title}; share of the gap recovered at {level:.0%} of the bytes of the LLM's own answers, on {n} "
        f"(right alone: {right_alone(found)}); measured until {regime.date}, {regime.hardware}:\n\n{table(head, rows)}"
    )


def _looked_back(regime: Regime) -> str:
    """Every caller at every strictness, between the models and speculative decoding."""
    if "look_back" not in regime.parts:
        return NOT_MEASURED
    content, kinds = regime.parts["look_back"].content, list(regime.tables)
    rows = [[_name(regime, one), "", *_costs([_line(regime, kind, one, None) for kind in kinds])] for one in ALONE]
    for k, way in enumerate(ways()):
        points = [content[kind]["points"][k] for kind in kinds]
        passes = ", ".join(f"{point['work']['llm']['n_passes'] / point['n_tokens']:.1%}" for point in points)
        found = [line_of(regime, kind, way) for kind in kinds]
        rows.append([f"{way.label}, {dict(way.others)['take_back']:g}", passes, *_costs(found)])
    head = ("way, share below which it takes back", "LLM passes", *kinds, "bytes", "ms, one at a time")
    n = next(iter(content.values()))["n"]
    return f"n = {n:,} of each; LLM passes are those a kept token:\n\n{table(head, rows)}"


def _truths(regime: Regime) -> str:
    """Routers of a few problems, by whose text is labelled."""
    if "truths" not in regime.parts:
        return NOT_MEASURED
    content = regime.parts["truths"].content
    found = {kind: cells(entry) for kind, entry in content.items()}
    shares = sorted({share for of in found.values() for *_, share in of})
    rows = []
    for truth, size in dict.fromkeys((truth, size) for of in found.values() for truth, size, _ in of):
        right = [f"{np.mean(of[truth, size, share]):.1%}" for of in found.values() for share in shares]
        spent = [next(one for one in entry["labels"] if one["truth"] == truth) for entry in content.values()]
        seconds = ", ".join(f"{size * one['seconds'] / one['n_problems']:.0f}" for one in spent)
        rows.append([LABELLED[truth], str(size), *right, seconds])
    n = next(iter(content.values()))["n"]
    head = [
        *("whose text", "problems"),
        *(f"{kind} at {share:.0%}" for kind in found for share in shares),
        "s to label",
    ]
    said = answered(Stored([regime], BENCHMARKS))
    assert said.found is not None, "it is stored"
    lines = "\n".join(f"- {line}" for line in said.found.lines)
    return (
        f"Right answers at shares of LLM tokens, n = {n:,} of each, two seeds:\n\n{table(head, rows)}\n\n"
        f"{said.sentence} At {AT_SHARE:.0%} LLM tokens:\n\n{lines}"
    )


def _relayed(regime: Regime) -> str:
    """RelayLLM's published table, with CITER in it, beside ours at the calls that CITER has there."""
    found = arenas(regime)
    its = [{of.routers.get(one.label): one.gap for one in of.standings(RELAYED, by_passes=True)} for of in found]
    ours, free = (" and ".join(f"{of[name]:.0%}" for of in its) for name in ("citer-2", FREE))
    return (
        "RelayLLM ([2601.05167](https://arxiv.org/abs/2601.05167)) trains the small model itself to call the large "
        "one. With Qwen3-1.7B and 8B, on six sets of mathematics, it recovers 60% of the gap with 1.07% of the tokens "
        f"by the LLM, and CITER 37% with {RELAYED:.2%}. Here, with {RELAYED:.2%} LLM passes, CITER after two rounds "
        f"recovers {ours} "
        f"({' and '.join(of.kind for of in found)}), max-probability {free}."
    )


def _costs(lines: Sequence[Any]) -> list[str]:
    """Right answers of each kind, bytes as a share of the LLM's, and milliseconds where they were measured."""
    timed = [f"{1000 * line.seconds_alone:.0f}" for line in lines if line.seconds_alone == line.seconds_alone]
    return [*map(_right, lines), ", ".join(f"{line.bytes_share:.0%}" for line in lines), ", ".join(timed)]


def _alone(regime: Regime) -> str:
    right = [
        " and ".join(f"{_line(regime, kind, name, None).accuracy:.1%} of {kind}" for kind in regime.tables)
        for name in ("always-slm", "always-llm")
    ]
    n = int(next(iter(regime.tables.values())).n.iloc[0])
    return f"Either model alone, on {n} problems of each: SLM {right[0]}, LLM {right[1]} right ({regime.date})."


def _real(regime: Regime) -> str:
    """README's sentence on the real pair."""
    ways = (("citer-outcome", SHARE), (FREE, SHARE), ("always-llm", None))
    ours, free, llm = ([_line(regime, kind, name, share) for kind in regime.tables] for name, share in ways)
    right = [" and ".join(str(line.right) for line in lines) for lines in (ours, free, llm)]
    bytes_of = " and ".join(f"{line.gb / alone.gb:.0%}" for line, alone in zip(ours, llm, strict=True))
    first, second = (
        np.concatenate([regime.bits[kind, int(line.name)][0] for kind, line in zip(regime.tables, of, strict=True)])
        for of in (ours, free)
    )
    less = Difference.paired([first], [second])
    return (
        f"On {regime.title}, at about {SHARE:.0%} LLM tokens, a router of outcomes has {right[0]} of {ours[0].n} "
        f"problems of {' and '.join(regime.tables)} right, {FREE} {right[1]} (difference over both: "
        f"{100 * less.mean:+.1f} points, {100 * less.low:+.1f} to {100 * less.high:+.1f}), the LLM {right[2]}. An "
        f"answer moves {bytes_of} of the LLM's own bytes."
    )


def _line(regime: Regime, kind: str, router: str, share: float | None) -> Any:
    line = regime.at(kind, router, share)
    assert line is not None, (regime.name, kind, router, share)
    return line


def _transfer(regime: Regime) -> str:
    rows = []
    for one, less in compared_with_own(regime, BENCHMARKS):
        right = f"{int(one.right.sum())} of {len(one.right)}"
        rows.append([one.tested_on, NAMES[one.router], one.trained_on, right, _points(less)])
    return table(("tested on", "router", "learned from", "right", "less its own"), rows)


def _outcomes() -> str:
    rows = []
    for key, name in ROWS.items():
        found = _lines(BENCHMARKS / "rollouts" / f"qwen-{key}-outcome.jsonl")
        ended = [tuple(outcome[1:]) for row in found for outcome in row["rollouts"]]
        counts = [f"{ended.count(way):,}" for way in ((1, 1), (0, 1), (1, 0), (0, 0))]
        rows.append([f"{len(found)} of {name}", *counts])
    return table(("rows", "both end right", "only the LLM's", "only the SLM's", "neither"), rows)


def _graded() -> str:
    rows = _lines(BENCHMARKS / "graded-again.jsonl")
    n, changed = sum(row["n"] for row in rows), sum(len(row["changed"]) for row in rows)
    gained = sum(right for row in rows for _, right in row["changed"])
    return (
        f"Of {n:,} texts of this pair that were written again, {changed} have another verdict, {gained} of them "
        "now right, before wrong. `assets/benchmarks/graded-again.jsonl` lists them."
    )


def _speed() -> str:
    """The bundled pair's decoding with two threads and with one."""
    both, one = (_json(BENCHMARKS / f"{name}.json") for name in ("decode", "decode-1-thread"))
    rows = []
    for name, row in both["contenders"].items():
        outside = "" if row["outside_share"] is None else f"{row['outside_share']:.1%}"
        speeds = (of["contenders"][name]["tokens_per_s"] for of in (both, one))
        rows.append([name, *(f"{speed:,.0f}" for speed in speeds), outside])
    routed = both["contenders"]["routed at 30%"]
    head = ("run", "tokens/s", "with one thread", "time outside models and router")
    reprefill = [f"{of['speedup_over_reprefill_at_30']:.1f} times" for of in (both, one)]
    return (
        f"Float32, {both['n_prompt']} prompt tokens, {both['n_new']} new ones, medians of {both['n_rounds']} rounds on "
        f"{both['date']}, {both['hardware']} (`{both['command']}`) and one thread (`{one['command']}`), as each of two "
        f"runs at once gets here:\n\n{table(head, rows)}"
        f"\n\nKeeping the LLM's cache makes routing at 30% {reprefill[0]} as fast as feeding the whole text at every "
        f"call, as the authors' published code does, and {reprefill[1]} with one thread. Routing at 30% is "
        f"{routed['speedup_over_llm_passes']:.2f} times as fast as the LLM's own passes; from bytes alone it would be "
        f"{routed['speedup_estimated_from_bytes']:.2f}."
    )


def _batch() -> str:
    """Whole problems one by one and in batches."""
    found = _json(BENCHMARKS / "batch.json")
    rows = []
    for tau, row in found["thresholds"].items():
        assert row["same_tokens"], tau
        speeds = (f"{row[name]:,.0f}" for name in ("single_tokens_per_s", "batch_tokens_per_s"))
        rows.append([tau, f"{row['llm_token_share']:.1%}", *speeds, f"{row['ratio']:.1f}"])
    head = ("tau", "LLM tokens", "tokens/s one by one", "tokens/s in batches", "ratio")
    return (
        f"{found['batch_size']} prompts per pass ({found['n_prompts']} whole problems, `{found['command']}`, "
        f"{found['date']}), with the same tokens as single runs:\n\n{table(head, rows)}"
    )


def _profile() -> str:
    """Up to which share the bundled pair's routing saves time."""
    found = _json(BENCHMARKS / "profile.json")
    crossing = measured_crossing(read_profile(BENCHMARKS / "profile.json").check)
    assert crossing is not None, "measured on both sides"
    runs = [
        f"{'the LLM alone' if row['llm_share'] is None else format(row['llm_share'], '.0%')} "
        f"{row['predicted_tokens_per_s']:,.0f} and {row['measured_tokens_per_s']:,.0f}"
        for row in found["check"]
    ]
    even = found["break_even"]
    return (
        f"Recorded {found['date']} on {found['hardware']} (`{found['command']}`): real runs save time up to about "
        f"{crossing.at:.0%} LLM tokens (measured, between {crossing.low:.0%} and {crossing.high:.0%}); the fit says "
        f"{even['time']:.0%}, and bytes are saved below {even['bytes']:.0%} (both estimated). Tokens/s, predicted and "
        f"measured: {', '.join(runs)}."
    )


def _name(regime: Regime, router: str) -> str:
    table = next(iter(regime.tables.values()))
    return str(table.label[table.router == router].iloc[0]).removesuffix(" (no training)")


def _right(line: Any) -> str:
    return f"{line.accuracy:.1%} ({line.low:.0%} to {line.high:.0%})"


def _share(accuracy: Mapping[str, Any]) -> str:
    low, high = accuracy["interval_95"]
    return f"{accuracy['share']:.1%} ({low:.0%} to {high:.0%})"


def _points(found: Difference) -> str:
    return f"{100 * found.mean:+.1f} ({100 * found.low:+.1f} to {100 * found.high:+.1f})"


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    made = blocks(list(regimes()))
    for file in FILES:
        file.write_text(filled(file.read_text(encoding="utf-8"), made), encoding="utf-8")
