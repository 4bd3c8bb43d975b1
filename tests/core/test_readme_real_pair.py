"""What the chapter on evidence says of the Qwen2.5-Coder pair is what is stored of it, to the digit."""

from __future__ import annotations

import json
import math
import re
from collections import Counter

import numpy as np
import pytest

from citer_core.assets import ASSETS
from citer_core.evidence.payback import paybacks
from citer_core.evidence.real_regime import of_qwen
from citer_core.evidence.statistics import paired_difference, unpack
from citer_core.labelling.rollouts_file import rollouts_row
from tests.core.chapter_tables import card, part

EVIDENCE = (ASSETS / "docs" / "evidence.md").read_text(encoding="utf-8")


def test_what_was_graded_again():
    lines = (ASSETS / "benchmarks" / "graded-again.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    for row in rows:
        assert row["right_now"] - row["right_before"] == sum(2 * right - 1 for _, right in row["changed"])
    shown = [row for row in rows if "Qwen" in row["id"] or row["changed"]]
    table = [f"| {row['id']} | {row['right_before']} | {row['right_now']} |" for row in shown]
    assert part(EVIDENCE, "graded again").strip().splitlines()[2:] == table
    n_changed = sum(len(row["changed"]) for row in rows)
    assert f"of {sum(row['n'] for row in rows):,} texts {n_changed} have another verdict" in EVIDENCE.replace("\n", " ")


def test_qwen_table():
    table = part(EVIDENCE, "qwen table").strip().splitlines()[2:]
    rows = []
    for file, name in (("gsm8k", "GSM8K"), ("cqa", "CommonsenseQA")):
        lines = (ASSETS / "benchmarks" / f"qwen-{file}.jsonl").read_text(encoding="utf-8").splitlines()
        rows += [(name, json.loads(line)) for line in lines]
    for line, (name, row) in zip(table, rows, strict=True):
        right = row["accuracy"]
        low, high = right["interval_95"]
        assert [cell.strip() for cell in line.strip("|").split("|")] == [
            name,
            row["router"],
            f"{row['threshold']:g}",
            f"{row['llm_token_share']:.1%}",
            f"{right['n_correct']} of {right['n']} ({low:.0%} to {high:.0%})",
            f"{row['n_bytes'] / 1e12:.1f} TB",
            f"{row['bytes_share']:.0%}",
            f"{row['measured_s']:.0f}",
        ]
        assert row["date"] in EVIDENCE and row["hardware"] in EVIDENCE
    for name in ("citer", "citer-plus"):
        training = card(f"routers/qwen2.5-coder-0.5b-1.5b/{name}.json")["training"]
        assert f"{training['auc']:.3f}" in EVIDENCE and f"{training['auc_max_probability']:.3f}" in EVIDENCE


@pytest.mark.parametrize(("file", "mark"), [("cqa", "qwen 200 table"), ("gsm8k", "qwen gsm8k 200 table")])
def test_table_of_200_problems_of_the_real_pair(file, mark):
    text = part(EVIDENCE, "qwen 200")
    lines = (ASSETS / "benchmarks" / f"qwen-{file}-200.jsonl").read_text(encoding="utf-8").splitlines()
    table = part(text, mark).strip().splitlines()[2:]
    for line, row in zip(table, map(json.loads, lines), strict=True):
        right = row["accuracy"]
        low, high = right["interval_95"]
        assert right["n_correct"] == sum(unpack(row["right"], right["n"]))
        assert [cell.strip() for cell in line.strip("|").split("|")] == [
            row["router"],
            f"{row['threshold']:g}",
            f"{row['llm_token_share']:.1%}",
            f"{right['n_correct']} of {right['n']} ({low:.0%} to {high:.0%})",
            f"{row['cut_share']:.1%}",
            f"{row['n_bytes'] / 1e12:.1f} TB",
            f"{row['bytes_share']:.0%}",
            "not measured" if row["measured_s"] is None else f"{row['measured_s']:.0f}",
        ]
        assert row["date"] in text and row["hardware"] in text.replace("\n", " ")
    for name in ("citer", "citer-plus"):
        training = card(f"benchmarks/rollouts/qwen-{file}-{name}.json")["training"]
        assert f"{training['auc']:.3f} for `{name}`" in text.replace("\n", " ")
        assert f"{training['auc_max_probability']:.3f} for" in text.replace("\n", " ")


def test_labels_by_outcome_on_the_real_pair():
    text = part(EVIDENCE, "qwen 200").replace("\n", " ")
    assert f"AUC {card('benchmarks/rollouts/qwen-cqa-citer-outcome.json')['training']['auc']:.3f} on labels" in text
    regime = of_qwen(ASSETS / "benchmarks")
    for other, words in (
        ("citer", "{} points more right than `citer` ({} to {})"),
        ("max-probability", "{} more than max-probability ({} to {}, so"),
        ("citer-plus", "{} more than `citer-plus` ({} to {})"),
    ):
        found = regime.difference("CommonsenseQA", "citer-outcome", other, 0.1)
        ends = (f"{100 * end:+.1f}" for end in (found.low, found.high))
        assert words.format(f"{100 * found.mean:.1f}", *ends) in text
    at = {name: regime.at("CommonsenseQA", name, 0.1) for name in ("citer-outcome", "max-probability")}
    assert f"at {at['citer-outcome'].share:.0%} LLM tokens `citer-outcome`" in text
    assert 0.5 < at["citer-outcome"].gb / at["max-probability"].gb < 0.6, "little more than half"
    few, alone = (regime.at("CommonsenseQA", *of) for of in (("citer-outcome", 0.05), ("always-slm", None)))
    assert f"With {few.share:.1%} of the tokens by the LLM" in text and 1.9 < few.right / alone.right < 2.1
    lines = (ASSETS / "benchmarks" / "qwen-cqa-200.jsonl").read_text(encoding="utf-8").splitlines()
    free = next(row for row in map(json.loads, lines) if row["id"] == "max-probability share 0.05")
    n_right = free["accuracy"]["n_correct"]
    assert n_right > few.right and free["llm_token_share"] < few.share, "the free baseline is ahead with few"
    assert f"max-probability has {n_right} right with {free['llm_token_share']:.1%}" in text


def test_the_second_round_on_the_real_pair():
    text = part(EVIDENCE, "qwen 200").replace("\n", " ")
    assert f"(AUC {card('benchmarks/rollouts/qwen-cqa-citer-2.json')['training']['auc']:.3f} on them)" in text
    regime = of_qwen(ASSETS / "benchmarks")
    for one, other, share, words in (
        ("citer-2", "citer", 0.1, "`citer-2` has {} points more right than `citer` ({} to {})"),
        ("citer-2", "max-probability", 0.1, "{} more than max-probability ({} to {}, again"),
        ("citer-outcome", "max-probability", 0.2, "at 23%: {} points more ({} to {})"),
    ):
        found = regime.difference("CommonsenseQA", one, other, share)
        ends = (f"{100 * end:+.1f}" for end in (found.low, found.high))
        assert words.format(f"{100 * found.mean:.1f}", *ends) in text
    level = regime.difference("CommonsenseQA", "citer-2", "citer-outcome", 0.1)
    ends = f"{100 * level.low:+.1f} to {100 * level.high:+.1f}"
    assert level.mean == 0 and f"as many as `citer-outcome` ({ends})" in text
    second, free = (regime.at("CommonsenseQA", name, 0.1) for name in ("citer-2", "max-probability"))
    assert f"at {second.share:.0%} LLM tokens `citer-2`" in text and second.gb < free.gb / 2
    second, first = (regime.at("CommonsenseQA", name, 0.05) for name in ("citer-2", "citer"))
    assert (
        f"At {second.share:.0%} it has {second.right} right, where `citer` has {first.right} at {first.share:.0%}"
        in text
    )
    outcome, free = (regime.at("CommonsenseQA", name, 0.2) for name in ("citer-outcome", "max-probability"))
    assert f"At {outcome.share:.0%} it has {outcome.right} right" in text
    assert f"max-probability has {free.right} at {free.share:.0%}" in text


def test_what_setting_up_takes_on_the_real_pair():
    text = part(EVIDENCE, "qwen 200").replace("\n", " ")
    regime = of_qwen(ASSETS / "benchmarks")
    stored, found = regime.parts["setup"], paybacks(regime)
    table = part(EVIDENCE, "qwen setup table").strip().splitlines()[2:]
    for line, one in zip(table, found, strict=True):
        assert [cell.strip() for cell in line.strip("|").split("|")] == [
            one.router,
            *(f"{cost['seconds']:,.0f}" for cost in (one.labels, one.training, one.tuning)),
            f"{one.total('seconds') / 60:,.0f} min",
            f"{one.total('gb') / 1e3:.1f} TB",
            f"{one.total('tflop'):,.0f}",
            f"{one.answers('gb'):,.0f} answers",
            f"{one.accuracy:.1%}",
        ]
        assert math.isinf(one.answers("tflop")) and math.isnan(one.answers("seconds")) and one.answers("gb") < 300
    saved = [one.saved["gb"] for one in found]
    assert f"moves {min(saved):.0f} to {max(saved):.0f} GB less" in text
    (llm,) = {one.llm_accuracy for one in found}
    assert f"the LLM alone has ({llm:.1%})" in text and all(one.accuracy < llm for one in found)
    assert stored.date in text and stored.hardware in text
    assert all(f"--{name}" in stored.command for name in ("labels citer=cqa", "limit 10"))
    assert f"of those {stored.content['n_labelled']} rows and {stored.plan['n_tuning'][0]} for tau" in text


def test_who_chooses_makes_no_difference_shown_on_gsm8k():
    text = part(EVIDENCE, "qwen 200").replace("\n", " ")
    regime = of_qwen(ASSETS / "benchmarks")
    for one, words in (("citer", "is {} points ({})"), ("citer-plus", "`citer-plus` less max-probability {} ({})")):
        found = regime.difference("GSM8K", one, "max-probability", 0.1)
        assert found.low < 0 < found.high and found.is_paired
        ends = f"{100 * found.low:+.1f} to {100 * found.high:+.1f}"
        assert words.format(f"{100 * found.mean:+.1f}", ends) in text
    slm, llm = (regime.at("GSM8K", name, None) for name in ("always-slm", "always-llm"))
    at = {name: regime.at("GSM8K", name, 0.1) for name in ("max-probability", "citer-plus", "citer")}
    free, plus, ours = (line.right for line in at.values())
    assert f"max-probability has {free} right, `citer-plus` {plus} and `citer` {ours}" in text
    assert f"the SLM alone ({slm.right} right)" in text and f"the LLM alone ({llm.right})" in text
    for line in at.values():
        assert 0.4 < (line.right - slm.right) / (llm.right - slm.right) < 0.6, "half of the way"
        assert line.gb / llm.gb == pytest.approx(0.40, abs=0.005)
        assert f"computes {line.tflop:.1f} TFLOP, the LLM's own {llm.tflop:.1f}" in text
    free, plus, ours = (regime.at("GSM8K", name, 0.05).right for name in at)
    assert f"half as many LLM tokens max-probability has {free}, `citer-plus` {plus} and `citer` {ours}." in text
    for name, line in at.items():
        bits = [regime.bits["GSM8K", int(one.name)][0] for one in (line, slm)]
        low = paired_difference(*([one] for one in bits))[1][0]
        assert low > 0 or (name == "citer" and low == 0 and "begins at 0.0" in text)
    shares = (0.05, 0.1, 0.2)
    drawn = [regime.at("GSM8K", "random", share) for share in shares]
    assert all(abs(line.share - share) < 0.005 for line, share in zip(drawn, shares, strict=True))
    right = "{}, {} and {} right at 5, 10 and 20%".format(*(line.right for line in drawn))
    assert f"random has {right}, where the SLM alone has {slm.right}" in text
    found = [regime.difference("GSM8K", "max-probability", "random", share) for share in shares]
    ends = [f"({100 * one.low:+.1f} to {100 * one.high:+.1f})" for one in found]
    means = [f"{100 * one.mean:.1f}" for one in found]
    behind = f"by {means[0]} points at 5% {ends[0]}, {means[1]} at 10% {ends[1]}, {means[2]} at 20% {ends[2]}."
    assert all(one.low > 0 for one in found) and f"behind max-probability {behind}" in text


def test_labels_by_outcome_on_gsm8k():
    text = part(EVIDENCE, "qwen 200").replace("\n", " ")
    assert f"AUC {card('benchmarks/rollouts/qwen-gsm8k-citer-outcome.json')['training']['auc']:.3f} on labels" in text
    regime = of_qwen(ASSETS / "benchmarks")
    outcome, llm = regime.at("GSM8K", "citer-outcome", 0.1), regime.at("GSM8K", "always-llm", None)
    assert outcome.share == pytest.approx(0.1, abs=0.005)
    assert f"`citer-outcome` has {outcome.right} right, level" in text
    assert f"one of `citer-outcome` computes {outcome.tflop:.1f}" in text
    mean, (low, high) = paired_difference(*([regime.bits["GSM8K", int(line.name)][0]] for line in (outcome, llm)))
    assert low < 0 < high and f"({100 * mean:+.1f} points, {100 * low:+.1f} to {100 * high:+.1f})" in text
    assert f"for {outcome.gb / llm.gb:.0%} of the bytes of its answers" in text
    for other, words in (
        ("citer", "{} points more than `citer` ({} to {})"),
        ("max-probability", "{} more than max-probability ({} to {}, so not beyond doubt)"),
        ("citer-plus", "{} more than `citer-plus` ({} to {}, neither)"),
    ):
        found = regime.difference("GSM8K", "citer-outcome", other, 0.1)
        assert found.is_paired and (found.low > 0) == (other == "citer")
        assert words.format(f"{100 * found.mean:.1f}", f"{100 * found.low:+.1f}", f"{100 * found.high:+.1f}") in text
    for other, words in (
        ("max-probability", "{} points more than max-probability ({} to {})"),
        ("citer", "{} more than `citer` ({} to {})"),
    ):
        mean, low, high = over_both_sets(regime, "citer-outcome", other)
        assert low > 0, "beyond doubt"
        assert words.format(f"{100 * mean:.1f}", f"{100 * low:+.1f}", f"{100 * high:+.1f}") in text
    few = regime.difference("GSM8K", "citer-outcome", "max-probability", 0.05)
    n_right = regime.at("GSM8K", "citer-outcome", 0.05).right
    ends = f"{100 * few.low:+.1f} to {100 * few.high:+.1f}"
    assert few.low < 0 < few.high and f"it has {n_right} right, {100 * few.mean:.1f} points more" in text
    assert f"more than max-probability ({ends}): no difference shown" in text


def test_what_readme_says_of_the_real_pair():
    text = (ASSETS.parent / "README.md").read_text(encoding="utf-8").replace("\n", " ")
    regime = of_qwen(ASSETS / "benchmarks")
    assert regime.title in text
    found = {
        name: [regime.at(kind, name, share) for kind in ("GSM8K", "CommonsenseQA")]
        for name, share in (("citer-outcome", 0.1), ("max-probability", 0.1), ("always-llm", None))
    }
    ours, free, llm = found.values()
    assert all(line.share == pytest.approx(0.1, abs=0.01) and line.n == 200 for line in (*ours, *free))
    assert f"{ours[0].right} of 200 GSM8K problems and {ours[1].right} of 200 CommonsenseQA questions right" in text
    doubted = [regime.difference(kind, "citer-outcome", "max-probability", 0.1).low <= 0 for kind in regime.tables]
    assert doubted == [True, True], "beyond doubt over both together: the test of outcomes has that"
    assert f"max-probability {free[0].right} and {free[1].right} (behind beyond doubt only over both together)" in text
    assert f"the LLM alone {llm[0].right} and {llm[1].right}: " in text
    saved = " and ".join(f"{one.gb / other.gb:.0%}" for one, other in zip(ours, llm, strict=True))
    assert f"an answer moves {saved} of the bytes of the LLM's own, but FLOPs are not saved" in text
    assert all(one.tflop > other.tflop for one, other in zip(ours, llm, strict=True))


def test_a_fifth_of_the_tokens_is_level_with_the_llm_on_gsm8k():
    text = part(EVIDENCE, "qwen 200").replace("\n", " ")
    regime = of_qwen(ASSETS / "benchmarks")
    llm = regime.at("GSM8K", "always-llm", None)
    at = {name: regime.at("GSM8K", name, 0.2) for name in ("citer-plus", "max-probability", "citer")}
    plus, free, ours = (line.right for line in at.values())
    assert f"`citer-plus` has {plus} right, max-probability {free}, the LLM {llm.right}; `citer` has {ours}" in text
    for name in ("citer-plus", "max-probability"):
        bits = [regime.bits["GSM8K", int(line.name)][0] for line in (at[name], llm)]
        low, high = paired_difference(*([one] for one in bits))[1]
        assert low < 0 < high, "level"
        assert at[name].gb / llm.gb == pytest.approx(0.5, abs=0.01), "half of its bytes"
    found = regime.difference("GSM8K", "max-probability", "citer", 0.2)
    ends = f"{100 * found.low:+.1f} to {100 * found.high:+.1f}"
    assert found.low < 0 and f"by {100 * found.mean:.1f} points ({ends}, so not beyond doubt)" in text
    outcome = regime.at("GSM8K", "citer-outcome", 0.2)
    assert f"`citer-outcome` has {outcome.right}: " in text
    for other, words in (
        ("citer", "{} points more than `citer` ({})"),
        ("max-probability", "{} more than max-probability ({}, so not beyond doubt)"),
    ):
        found = regime.difference("GSM8K", "citer-outcome", other, 0.2)
        ends = f"{100 * found.low:+.1f} to {100 * found.high:+.1f}"
        assert (found.low > 0) == (other == "citer") and words.format(f"{100 * found.mean:.1f}", ends) in text
    mean, (low, high) = paired_difference(*([regime.bits["GSM8K", int(line.name)][0]] for line in (outcome, llm)))
    assert low < 0 and f"{100 * mean:.1f} more than the LLM alone ({100 * low:+.1f} to {100 * high:+.1f}" in text


def test_rollouts_of_the_real_pair():
    """Every row whole and without a text, and the chapter says how many there are."""
    text = part(EVIDENCE, "qwen rollouts")
    found = re.findall(r"^\| (\d+) of \S+ \| (.+) \| ([\d,]+) \| (\S+) \| `(\S+)` \|$", text, re.MULTILINE)
    assert len(found) == 4
    for n_rows, policy, n_tokens, share, file in found:
        settings = json.loads((ASSETS.parent / f"{file}.meta.json").read_text(encoding="utf-8"))["settings"]
        by_router = f"`{settings['router']}` at tau {settings['threshold']:.4f}"
        assert policy == ("the SLM" if settings["router"] == "always-slm" else by_router)
        lines = (ASSETS.parent / file).read_text(encoding="utf-8").splitlines()
        rows = [rollouts_row(1).read(json.loads(line), "") for line in lines]
        assert len({row["id"] for row in rows}) == len(rows) == int(n_rows)
        for row in rows:
            positions = [position for position, _ in row["rollouts"]]
            assert positions == sorted(set(positions))
            assert re.fullmatch(r"gsm8k-train-\d{4}|[0-9a-f]{32}(_\d)?", row["name"])
        rolled_out = [right for row in rows for _, right in row["rollouts"]]
        assert f"{len(rolled_out):,}" == n_tokens and f"{sum(rolled_out) / len(rolled_out):.1%}" == share


def test_the_second_round_of_gsm8k_rolls_out_what_the_first_did():
    first, second = (
        [
            rollouts_row(1).read(json.loads(line), "")
            for line in (ASSETS / "benchmarks" / "rollouts" / name).read_text().splitlines()
        ]
        for name in ("qwen-gsm8k-1.jsonl", "qwen-gsm8k-2.jsonl")
    )
    places = [[(row["id"], [position for position, _ in row["rollouts"]]) for row in rows] for rows in (first, second)]
    assert places[0] == places[1]
    training = card("benchmarks/rollouts/qwen-gsm8k-citer-2.json")["training"]
    ours, free = (f"{training[name]:.3f}" for name in ("auc", "auc_max_probability"))
    assert f"AUC {ours} on labels of its own, where max-probability has {free})" in EVIDENCE.replace("\n", " ")


def test_what_the_second_round_of_gsm8k_brings():
    text = part(EVIDENCE, "qwen 200").replace("\n", " ")
    regime = of_qwen(ASSETS / "benchmarks")
    said = f"A second round of `citer` has {regime.at('GSM8K', 'citer-2', 0.1).right} right"
    assert said in text
    for one, other, words in (
        ("citer-2", "citer", "{} points more than the first ({})"),
        ("citer-2", "max-probability", "{} more than max-probability ({})"),
        ("citer-outcome", "citer-2", "{} fewer than `citer-outcome` ({}): no difference shown"),
    ):
        found = regime.difference("GSM8K", one, other, 0.1)
        assert found.low <= 0 < found.high
        assert words.format(f"{100 * found.mean:.1f}", f"{100 * found.low:+.1f} to {100 * found.high:+.1f}") in text
    for share, words in (
        (0.05, "at 5%, where it has {right}, {points:.1f} points less than the first ({ends})"),
        (0.2, "at 20%, where it has {right} as the LLM alone has, {points:.1f} points more than the first ({ends})"),
    ):
        found = regime.difference("GSM8K", "citer-2", "citer", share)
        right = regime.at("GSM8K", "citer-2", share).right
        assert found.low <= 0 < found.high and (found.mean < 0) == ("less" in words)
        assert ("LLM" not in words) or right == regime.at("GSM8K", "always-llm", None).right
        ends = f"{100 * found.low:+.1f} to {100 * found.high:+.1f}"
        assert words.format(right=right, points=abs(100 * found.mean), ends=ends) in text
    for other, words in (
        ("citer", "beyond doubt: at 10% by {} points ({})"),
        ("max-probability", "ahead by {} there ({}, so not beyond doubt)"),
    ):
        mean, low, high = over_both_sets(regime, "citer-2", other)
        assert (low > 0) == (other == "citer")
        assert words.format(f"{100 * mean:.1f}", f"{100 * low:+.1f} to {100 * high:+.1f}") in text


def over_both_sets(regime, one, other):
    """Mean difference at 10%, as a fraction, and the ends of its 95% interval, of all problems together."""
    bits = [
        np.concatenate([regime.bits[kind, int(regime.at(kind, name, 0.1).name)][0] for kind in regime.tables])
        for name in (one, other)
    ]
    assert len(bits[0]) == 400
    mean, (low, high) = paired_difference(*([right] for right in bits))
    return mean, low, high


def test_outcomes_of_the_real_pair():
    """Both branches of every disagreement, and the chapter says how they end."""
    text = part(EVIDENCE, "qwen outcome").replace("\n", " ")
    ends = {}
    for name, title in (("gsm8k", "GSM8K"), ("cqa", "CommonsenseQA")):
        file = f"assets/benchmarks/rollouts/qwen-{name}-outcome.jsonl"
        lines = (ASSETS.parent / file).read_text(encoding="utf-8").splitlines()
        rows = [rollouts_row(2).read(json.loads(line), "") for line in lines]
        assert len({row["id"] for row in rows}) == len(rows) == 300
        found = ends[name] = Counter((slm, llm) for row in rows for _, slm, llm in row["rollouts"])
        shares = card(f"benchmarks/rollouts/qwen-{name}-citer-outcome.json")["label_shares"]
        assert shares["n_unknown"] == found[0, 0]
        assert f"{sum(found.values()):,} of the {shares['n_tokens']:,} tokens of {title}" in text
        counts = " | ".join(f"{found[end]:,}" for end in ((1, 1), (0, 1), (1, 0), (0, 0)))
        assert f"| 300 of {title} | {counts} | `{file}` |" in text
    cqa, gsm8k = ends["cqa"], ends["gsm8k"]
    assert 8.5 <= sum(cqa.values()) / cqa[0, 1] < 9.5, "one in nine"
    assert 5.5 <= sum(gsm8k.values()) / gsm8k[0, 1] < 6.5 and gsm8k[0, 1] > 2 * gsm8k[1, 0], "one in six, twice as many"
