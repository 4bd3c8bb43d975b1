"""What the view Evidence is told, its first sentence, and the advice where tau is offered: all from the rows."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from citer_core.assets import ASSETS
from citer_core.browser_pair import pair_facts, stored_thresholds
from citer_core.evidence.advice import FILE, advice, computed_advice, routers_here
from citer_core.evidence.claims import claims, lesson
from citer_core.evidence.regime import NEAR
from citer_core.evidence.regimes import REAL_PAIR, of_matched, of_qwen
from citer_core.measuring.profile_numbers import measured_crossing, read_profile
from citer_core.ui.evidence import lead
from tests.core.stored_evidence import evaluated

ROOT = Path(__file__).resolve().parents[2]
ONE_WORDING = ASSETS / "benchmarks" / "evidence" / "one-wording" / "matched_shares.json"
WITHOUT_TORCH = """
import json, sys
from citer_core.ui.evidence import evidence_message
print(json.dumps(evidence_message(), allow_nan=False))
sys.exit("torch" in sys.modules)
"""


@pytest.fixture(scope="module")
def stored_claims():
    """All claims of what is stored, by name."""
    return {claim.name: claim for claim in claims()}


def as_json(value):
    return json.loads(json.dumps(value))


def test_the_view_is_told_what_the_tables_say_and_nothing_else_and_without_torch(stored, stored_claims):
    done = subprocess.run([sys.executable, "-c", WITHOUT_TORCH], capture_output=True, check=True, cwd=ROOT)
    content, known = json.loads(done.stdout)["evidence"], stored
    assert [regime["name"] for regime in content["regimes"]] == list(known)
    # Compare offers a share for any two of this pair's routers (`SHARES` of assets/compare/live_form.js).
    own = next(told for told in content["regimes"] if told["pair_revision"] == pair_facts("", "")["revision"])
    for entry in own["kinds"].values():
        at = {(point["router"], point["share_wanted"]) for point in entry["points"]}
        assert {(name, share) for name in stored_thresholds() for share in (0.05, 0.1, 0.2, 0.3)} <= at
    for told in content["regimes"]:
        for kind, entry in told["kinds"].items():
            table = known[told["name"]].tables[kind]
            assert [entry["lead"], entry["more"]] == as_json(lead(known[told["name"]], kind))
            tenth = table[np.isclose(table.share_wanted, 0.1) & (abs(table.share - 0.1) <= NEAR)]
            tenth = tenth[~tenth.router.isin(("decisive", "disagreement"))]
            assert entry["best"] in set(tenth[tenth.accuracy == tenth.accuracy.max()].label)
            for point, (_, line) in zip(entry["points"], table.iterrows(), strict=True):
                for name in ("router", "tau", "share", "right", "n", "low", "high", "bytes_share", "gb", "seconds"):
                    value = line[name]
                    missing = value is None or (isinstance(value, float) and math.isnan(value))
                    assert point[name] == (None if missing else value), (kind, name)
    assert content["claims"] == as_json([asdict(claim) for claim in stored_claims.values()])
    assert content["lesson"] == as_json(asdict(lesson(list(known.values()))))


def test_the_lead_says_first_where_the_free_baseline_is_ahead_and_how_surely(tmp_path):
    said, _ = lead(of_matched(ONE_WORDING), "math")
    assert "which needs no training, is ahead, but not beyond doubt: 97.5% right against 94.0% for CITER" in said
    lines = [evaluated("max-probability", 0.1, [True] * n + [False] * (40 - n)) for n in (30, 6, 4)]
    ours = evaluated("citer", 0.1, [True] * 4 + [False] * 36)

    def standing(free):
        for file in REAL_PAIR:
            (tmp_path / f"{file}.jsonl").write_text(free + ours)
        return lead(of_qwen(tmp_path), "GSM8K")[0]

    assert "no training, is ahead: 75.0% right against 10.0%" in standing(lines[0])
    assert "is ahead, but not beyond doubt: 15.0%" in standing(lines[1])
    assert "is level: 10.0% right against 10.0%" in standing(lines[2])


def test_the_lead_compares_the_points_nearest_to_the_share(stored):
    regime = stored["qwen"]
    free = regime.at("CommonsenseQA", "max-probability", 0.1)
    assert free.share == pytest.approx(0.105, abs=0.001)  # not the one at 0.082, with more right answers
    assert f"which needs no training, has {free.accuracy:.1%}." in lead(regime, "CommonsenseQA")[0]


def test_what_is_said_where_tau_is_offered_is_what_the_evidence_has(stored):
    assert json.loads(FILE.read_text(encoding="utf-8")) == computed_advice(), (
        "python -m citer_core.evidence.advice writes it"
    )
    regime = stored["varied-wording"]
    told = advice(regime, {"citer", "citer-outcome", "always-llm", "never-measured"})
    behind = [
        (kind, share)
        for kind in ("math", "mc")
        for share in (0.1, 0.2, 0.3)
        if regime.difference(kind, "max-probability", "citer", share).low > 0
    ]
    assert behind and list(told["said"]) == ["citer"]
    for kind, share in behind:
        (words,) = [part for part in told["said"]["citer"].split("; ") if f"{kind} at" in part]
        assert f"{share:.0%}" in words
    means = {
        name: np.mean([regime.at(kind, name, share).accuracy for kind in ("math", "mc") for share in (0.1, 0.2, 0.3)])
        for name in ("citer", "citer-outcome", "max-probability")
    }
    assert told["best"] == max(means, key=means.get)
    drafted = regime.at("math", "speculative", None)
    assert f"math {drafted.bytes_share:.0%} with {drafted.accuracy:.1%} right" in told["drafts"]


def test_only_routers_of_the_pair_that_is_here_can_be_opened():
    card = json.loads((ASSETS / "models" / "card.json").read_text())
    assert {"citer", "max-probability"} <= routers_here(card["pair_revision"])
    assert routers_here("0123456789abcdef-0123456789abcdef") == routers_here("") == frozenset()


def test_what_claims_say_of_mechanics_and_of_seconds_is_what_was_measured(stored_claims):
    """Beside the bundled pair the real one; and the crossing of the runs before that of the fitted costs."""
    content = json.loads((ASSETS / "benchmarks" / "evidence" / "qwen" / "overhead.json").read_text())["content"]
    router, step, found = content["routers"][0], content["slm_step_ms"], stored_claims
    assert f"{router['ms'] / step:.1%} of an SLM step of {step:.0f} ms; Qwen2.5-Coder" in found["overhead"].other
    row = next(row for row in content["switch"] if row["n_skipped"] == 7)
    assert f"takes {row['kept_ms']:.0f} ms with its cache kept, {row['again_ms']:.0f} ms" in found["switch"].other
    profile = read_profile(ASSETS / "benchmarks" / "profile.json")
    even, crossing = profile.break_even, measured_crossing(profile.check)
    assert found["metrics"].number.startswith(f"{crossing.at:.0%} LLM tokens")
    assert f"; {even.time:.0%} where the fitted costs" in found["metrics"].number
    assert [row.value for row in found["metrics"].figures[0].rows] == [crossing.at, even.time, even.bytes]
