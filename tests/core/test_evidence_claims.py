"""Regimes and claims: every number computed again from the stored files."""

from __future__ import annotations

import json
import math
import random
from dataclasses import asdict, replace

import numpy as np
import pytest

from citer_core.assets import ASSETS
from citer_core.cost import QWEN2_1_5B, QWEN2_72B
from citer_core.errors import DatasetError
from citer_core.evaluation.metrics import paired_difference, unpack, wilson_interval
from citer_core.evidence import claims as claims_module
from citer_core.evidence.arena import arenas
from citer_core.evidence.claim import verdict_of
from citer_core.evidence.claims import claims, headline
from citer_core.evidence.look_back import plane
from citer_core.evidence.part_tables import on_the_way
from citer_core.evidence.payback import paybacks
from citer_core.evidence.regime import Difference, newcombe
from citer_core.evidence.regimes import REAL_PAIR, of_matched, of_parts, of_qwen, regimes
from citer_core.ui.evidence import lead
from tests.core.stored_evidence import RIGHT, N, accuracy_part, evaluated, every_part


def test_points_of_a_set_are_what_its_rows_say():
    part = accuracy_part()
    regime = of_parts("a-set", {"accuracy": part})
    table = regime.tables["math"]
    assert len(table) == len(RIGHT)
    for point, (_, line) in zip(part.content["math"]["points"], table.iterrows(), strict=True):
        n_right = sum(unpack(point["right"], N))
        assert (line.right, line.accuracy) == (n_right, n_right / N)
        assert (line.low, line.high) == wilson_interval(n_right, N)
        assert line.share == point["n_llm_tokens"] / 1000
        llm = 1000 * QWEN2_72B.weight_bytes + QWEN2_72B.kv_bytes_per_token * 90000
        if line.router == "always-llm":
            assert line.gb == pytest.approx(llm / N / 1e9) and line.seconds == 1.5 / N
            assert line.bytes_share == pytest.approx(1.0)
        else:
            slm = 1000 * QWEN2_1_5B.weight_bytes + QWEN2_1_5B.kv_bytes_per_token * 90000
            called = point["work"]["llm"]["n_passes"]
            llm_part = called * QWEN2_72B.weight_bytes + QWEN2_72B.kv_bytes_per_token * 90 * called
            total = slm + llm_part + 4 * 1000 * point["n_params"]
            assert line.gb == pytest.approx(total / N / 1e9) and line.bytes_share == pytest.approx(total / llm)


def test_differences_are_paired_where_the_problems_are_known():
    regime = of_parts("a-set", {"accuracy": accuracy_part()})
    found = regime.difference("math", "citer-2", "citer", 0.1)
    assert found.is_paired and found.mean == pytest.approx(6 / N) and found.low > 0
    assert regime.difference("math", "citer-2", "co-llm", 0.1) is None
    low, high = newcombe((30, 40), (24, 40))
    assert high - low > found.high - found.low, "all that citer got right, citer-2 did too"


def test_newcombe_against_its_published_example():
    """Newcombe 1998, table II, (a): 56/70 less 48/80, method 10."""
    assert newcombe((56, 70), (48, 80)) == pytest.approx((0.0524, 0.3339), abs=1e-4)


def test_points_of_the_real_pair_are_compared_where_their_shares_are_near(tmp_path):
    first, second = [True] * 6 + [False] * 2, [True] * 3 + [False] * 5
    rows = [
        evaluated("always-slm", 0.0, second),
        evaluated("citer", 0.12, first),
        evaluated("max-probability", 0.075, second),
        evaluated("citer", 0.26, first),
        evaluated("citer", 0.11, first),
        evaluated("random", 0.5, second),
    ]
    for file in REAL_PAIR:
        (tmp_path / f"{file}.jsonl").write_text("".join(rows))
    regime = of_qwen(tmp_path)
    assert [*regime.tables["GSM8K"].share_wanted.fillna(-1)] == [-1, -1, 0.05, -1, 0.1, -1], (
        "0.26 is far, 0.11 is nearer"
    )
    assert regime.difference("GSM8K", "citer", "max-probability", 0.1) is None
    seconds = regime.tables["GSM8K"].seconds
    unmeasured = json.dumps(json.loads(rows[0]) | {"measured_s": None}) + "\n"
    (tmp_path / "qwen-gsm8k-200.jsonl").write_text(unmeasured + rows[1])
    found = of_qwen(tmp_path).tables["GSM8K"].seconds
    assert math.isnan(found[0]) and found[1] == seconds[1] > 0
    (tmp_path / "qwen-cqa-200.jsonl").write_text(
        "".join([evaluated("citer", 0.12, first), evaluated("max-probability", 0.08, second)])
    )
    found = of_qwen(tmp_path).difference("CommonsenseQA", "citer", "max-probability", 0.1)
    _, (low, high) = paired_difference([np.array(first)], [np.array(second)])
    assert found == Difference(3 / 8, low, high, 8, is_paired=True)
    # What was kept without its single problems has the wider interval of independent samples.
    (tmp_path / "qwen-cqa-200.jsonl").write_text(
        "".join([evaluated("citer", 0.12, first, False), evaluated("max-probability", 0.08, second)])
    )
    found = of_qwen(tmp_path).difference("CommonsenseQA", "citer", "max-probability", 0.1)
    assert (found.low, found.high) == newcombe((6, 8), (3, 8)) and not found.is_paired
    (tmp_path / "qwen-gsm8k-200.jsonl").write_text(rows[1].replace('"right": "', '"right": "0000'))
    with pytest.raises(DatasetError, match="qwen-gsm8k"):
        of_qwen(tmp_path)


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / "evidence" / "x").mkdir(parents=True)
    (tmp_path / "evidence" / "x" / "matched_shares.json").write_text('{"points": 3}')
    with pytest.raises(DatasetError, match="matched_shares"):
        list(regimes(tmp_path))


@pytest.mark.parametrize(
    ("intervals", "verdict"),
    [
        ([(0.01, 0.2), (0.1, 0.3)], "confirmed"),
        ([(0.01, 0.2), (-0.1, 0.3)], "no difference shown"),
        ([(0.01, 0.2), (-0.3, -0.1)], "refuted"),
        ([], "no difference shown"),
    ],
)
def test_verdicts(intervals, verdict):
    assert verdict_of([Difference(0.0, low, high, 9, is_paired=True) for low, high in intervals]) == verdict


def test_claims_of_a_set_come_from_its_bits(monkeypatch):
    regime = of_parts("a-set", {"accuracy": accuracy_part()})
    monkeypatch.setattr(claims_module, "regimes", lambda folder: iter([regime]))
    found = {claim.name: claim for claim in claims()}
    assert found["free"].verdict == "refuted" and "-15.0 points" in found["free"].number
    assert found["second"].verdict == "confirmed" and "+15.0 points" in found["second"].number
    assert found["citer-s"].verdict == "not measured" and found["citer-s"].command == ""
    rows = found["free"].figures[0].rows
    assert [(row.label, row.n) for row in rows] == [
        (f"{kind} at {share}%", N) for kind in ("math", "mc") for share in (5, 10)
    ]
    assert rows[1].value == pytest.approx(-15.0) and rows[1].low < -15.0 < rows[1].high < 0


@pytest.fixture
def answered(monkeypatch):
    """Claims by name, of a set that has every part."""
    regime = of_parts("a-set", every_part())
    monkeypatch.setattr(claims_module, "regimes", lambda folder: iter([regime]))
    return regime, {claim.name: claim for claim in claims()}


def test_every_part_answers_its_question(answered):
    _, found = answered
    assert json.dumps([asdict(claim) for claim in found.values()], allow_nan=False)
    asked = {"settled", "shortcut", "flips", "rounds", "end-to-end", "transfer", "long", "speculative", "overhead"}
    for name in asked:
        assert found[name].verdict != "not measured" and found[name].figures and found[name].command, name
    another = "Elsewhere: 40 µs and 0.1 MB a token, 5.0% of an SLM step of 1 ms"  # the profile is of the bundled one
    assert found["overhead"].other.startswith(another)
    assert "after 7 that it has not read takes 8 ms with its cache kept, 9 ms where" in found["switch"].other
    assert found["settled"].verdict == "confirmed" and "85.00% of 2,000 tokens" in found["settled"].number
    assert "75% of 20 tokens of case 2 (53% to 89%), math, the LLM going on" in found["shortcut"].number
    assert "25% of the labels that prefer the LLM are wrong" in found["shortcut"].sentence
    assert "math: 5 of 20 tokens taken from the LLM, and 1 of 80 given to it" in found["flips"].number
    assert found["flips"].sentence.startswith("90% of the decisions")
    assert found["rounds"].sentence == "Fewer labels change from round to round."
    assert "citer of mc" not in found["transfer"].number and "-50.0 points" in found["transfer"].number
    assert "for both will do. One that has seen the other format only is worse." in found["transfer"].sentence
    values = {(row.group, row.label): row for row in found["transfer"].figures[0].rows}
    row = values["CITER on math", "trained on mc"]
    assert row.value == 10 / N and (row.low, row.high) == wilson_interval(10, N)
    quarters = found["long"].figures[0].rows
    assert quarters[0].group == "math, SLM alone" and quarters[0].label == "shortest quarter: under 20 tokens"
    assert sum(row.value * row.n for row in quarters[:4]) == pytest.approx(RIGHT["always-slm", None])
    wanted = "The LLM's own text: not measurably behind. AutoJudge's search: behind."
    assert found["truths"].sentence.endswith(wanted)
    rows = {(row.group, row.label): row.value for row in found["truths"].figures[0].rows}
    assert rows["math, the LLM's own text", "100 problems"] == 33 / N


def test_the_arena_is_the_first_and_knows_rules_by_their_points(answered):
    regime, found = answered
    assert next(iter(found)) == "arena" and found["arena"].verdict == "answered"
    (math, _) = arenas(regime)
    assert {"BiLD", "Speculative cascade"} < math.by_bytes.keys()
    assert [round(p.right.sum()) for p in math.by_bytes["BiLD"] if p.right.sum() >= 20] == [*range(20, 29)]


def test_looking_back_is_held_against_the_llm_and_its_dials_make_a_plane(answered):
    regime, found = answered
    claim = found["look-back"]
    assert claim.sentence.startswith("Look-back is not measurably behind the LLM, for fewer bytes than speculative")
    llm_bytes = 30 * QWEN2_72B.weight_bytes + QWEN2_72B.kv_bytes_per_token * 2700
    slm_bytes = 1000 * QWEN2_1_5B.weight_bytes + QWEN2_1_5B.kv_bytes_per_token * 90000
    alone = 1000 * QWEN2_72B.weight_bytes + QWEN2_72B.kv_bytes_per_token * 90000
    drafts = regime.at("math", "speculative", None).gb * N * 1e9
    ours = slm_bytes + llm_bytes
    said = f"3.0% LLM passes a kept token, {ours / alone:.0%} of its bytes and {ours / drafts:.0%} of those of spec"
    assert "math 92.5% right, -2.5 points" in claim.number and said in claim.number
    assert [figure.unit for figure in claim.figures] == ["share", "GB", "seconds"]
    lines = regime.tables["math"]
    assert len(lines[lines.label == "Look-back: at the end"]) == len({0.1, 0.2, 0.4}), "a point for each strictness"
    shown = plane(regime)
    math_, cell = shown["points"]["math"], [8, round(ours / 1000)]
    assert math_["grid"][1][1] == cell and len(math_["grid"]) == len(shown["budgets"]) and math_["n"] == 20
    in_order = list(range(N))
    random.Random(0).shuffle(in_order)
    assert math_["alone"]["llm"] == [sum(i < 20 for i in in_order[:38]), round(alone / 1000)]
    assert math_["alone"]["speculative"] == [20, round(drafts / 1000)]
    assert plane(replace(regime, parts={})) is None


def test_speculative_decoding_is_a_line_of_the_table_and_beats_what_it_beats(answered):
    regime, found = answered
    line = regime.at("math", "speculative", None)
    slm = 1000 * QWEN2_1_5B.weight_bytes + QWEN2_1_5B.kv_bytes_per_token * 90000
    llm = 50 * QWEN2_72B.weight_bytes + QWEN2_72B.kv_bytes_per_token * 4500
    assert (line.right, line.gb) == (38, pytest.approx((slm + llm) / N / 1e9))
    assert math.isnan(line.share) and math.isnan(line.seconds) and line.seconds_alone == 0.2
    assert regime.at("math", "always-llm", None).seconds_alone == 0.8, "without the SLM that reads along"
    claim = found["speculative"]
    assert claim.verdict == "refuted" and claim.sentence.startswith("Take speculative decoding")
    assert "95.0% right" in claim.number and "90% of the drafted tokens kept" in claim.number
    assert "Speculative decoding, whose text is the LLM's own, has 95.0% right" in lead(regime, "math")[1]


def test_routing_has_paid_when_what_it_saves_has_won_back_its_setup(answered):
    regime, found = answered
    by = {one.router: one for one in paybacks(regime)}
    passes = 10 * QWEN2_1_5B.weight_bytes + QWEN2_1_5B.kv_bytes_per_token * 400
    ours = by["citer-2"]
    assert ours.labels["seconds"] == 2 * 2.0 * 400 / 100 and ours.labels["gb"] == pytest.approx(8 * passes / 1e9)
    assert ours.training == {"seconds": 10.0, "gb": 6.0, "tflop": 8.0}, "the round before it is its policy"
    assert ours.saved["seconds"] == pytest.approx(0.8 - 0.3)
    assert ours.answers("seconds") == math.ceil((16.0 + 10.0 + 1.0) / 0.5)
    assert by["max-probability"].total("seconds") == 1.0 and by["max-probability"].labels["gb"] == 0
    assert "paid after 54 answers in seconds" in found["end-to-end"].number
    never = replace(ours, saved={"seconds": -1.0, "gb": math.nan, "tflop": 1.0})
    assert (never.answers("seconds"), math.isnan(never.answers("gb"))) == (math.inf, True)


def test_the_first_edition_is_kept_as_it_was_measured():
    path = ASSETS / "benchmarks" / "evidence" / "one-wording" / "matched_shares.json"
    kept, regime = json.loads(path.read_text()), of_matched(path)
    for kind, points in kept["points"].items():
        for point in points:
            line = regime.at(kind, point["router"], point["share_wanted"])
            assert (line.right, line.n) == (point["accuracy"]["n_correct"], 200)
            assert [round(x, 4) for x in (line.low, line.high)] == point["accuracy"]["interval_95"]
            assert (line.tau, line.share) == (point["threshold"], point["llm_token_share"])
            assert math.isnan(line.seconds)


def test_the_llm_alone_of_the_real_pair_is_priced_without_the_slm():
    rows = [json.loads(line) for line in (ASSETS / "benchmarks" / "qwen-cqa-200.jsonl").read_text().splitlines()]
    routed = next(row for row in rows if row["router"] == "always-llm")
    line = of_qwen(ASSETS / "benchmarks").at("CommonsenseQA", "always-llm", None)
    # `evaluate` gives the share of what the LLM alone would have moved, to four digits.
    assert line.gb == pytest.approx(routed["n_bytes"] / routed["bytes_share"] / 200 / 1e9, rel=1e-4)
    assert line.bytes_share == 1.0 and 0.7 < line.tflop / (routed["flops"] / 200 / 1e12) < 0.8


def test_a_set_up_for_one_kind_of_problems_is_held_against_that_kind(answered, monkeypatch):
    regime, _ = answered
    part = regime.parts["setup"]
    one = replace(part, content=part.content | {"kinds": ["math"]})
    other = replace(regime, name="other", title="Other pair", parts={"setup": one})
    ours = {found.router: found for found in paybacks(other)}["citer-2"]
    at, alone = regime.at("math", "citer-2", 0.1), regime.at("math", "always-llm", None)
    assert (ours.accuracy, ours.saved["gb"]) == (at.accuracy, alone.gb - at.gb)
    monkeypatch.setattr(claims_module, "regimes", lambda folder: iter([regime, other]))
    said = {claim.name: claim for claim in claims()}["end-to-end"].other
    assert said.startswith("Elsewhere: ") and said.endswith("; Other pair, math.")
    assert f"then {at.accuracy:.1%} right where the LLM has {alone.accuracy:.1%}" in said


def test_rounds_are_trained_on_the_way_to_the_last():
    assert on_the_way("citer", ["published-1"]) == ["citer"]
    assert on_the_way("citer-plus-3", [f"published-{k}" for k in (1, 2, 3)]) == [
        "citer-plus", "citer-plus-2", "citer-plus-3"
    ]  # fmt: skip
    assert on_the_way("citer-outcome", ["outcome"]) == ["citer-outcome"]
    assert on_the_way("max-probability", []) == ["max-probability"]


def test_the_headline_begins_with_the_best():
    said = headline(of_parts("a-set", {"accuracy": accuracy_part()}))
    assert said == (
        "At 20% of the bytes of the LLM's own answers, the free max-probability baseline recovers 91% and 91%, CITER "
        f"after two rounds 64% and 64% of the gap between both models ({N} unseen problems of math and mc each; right "
        "alone: SLM 40.0% and 40.0%, LLM 95.0% and 95.0%)."
    )
    every = headline(of_parts("a-set", every_part()))
    assert every.startswith("At 20% of the bytes of the LLM's own answers, look-back")
