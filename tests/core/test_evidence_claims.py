"""Regimes, claims and the view: every number computed again from the stored files, and the table of the chapter."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from citer_core.assets import ASSETS
from citer_core.cost import QWEN2_1_5B, QWEN2_72B
from citer_core.errors import DatasetError
from citer_core.evaluation.metrics import wilson_interval
from citer_core.evidence import claims as claims_module
from citer_core.evidence.claims import claims, claims_table, headline, verdict_of
from citer_core.evidence.regimes import Difference, newcombe, of_matched, of_parts, regimes
from citer_core.evidence.statistics import unpack
from citer_core.ui.evidence.messages import evidence_message, lead, routers_here
from tests.core.stored_evidence import RIGHT, N, accuracy_part

ROOT = Path(__file__).resolve().parents[2]
ONE_WORDING = ASSETS / "benchmarks" / "evidence" / "one-wording" / "matched_shares.json"
CHAPTER = (ASSETS / "docs" / "evidence.md").read_text(encoding="utf-8")


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
    found = regime.difference("math", "citer-2", "citer-1", 0.1)
    assert found.is_paired and found.mean == pytest.approx(6 / N) and found.low > 0
    assert regime.difference("math", "citer-2", "co-llm", 0.1) is None
    low, high = newcombe((30, 40), (24, 40))
    assert high - low > found.high - found.low, "all that citer-1 got right, citer-2 did too"


def test_newcombe_against_its_published_example():
    """Newcombe 1998, table II, (a): 56/70 less 48/80, method 10."""
    assert newcombe((56, 70), (48, 80)) == pytest.approx((0.0524, 0.3339), abs=1e-4)


def test_the_first_edition_is_kept_as_it_was_measured():
    kept = json.loads(ONE_WORDING.read_text())
    regime = of_matched(ONE_WORDING)
    for kind, points in kept["points"].items():
        for point in points:
            line = regime.at(kind, point["router"], point["share_wanted"])
            assert (line.right, line.n) == (point["accuracy"]["n_correct"], 200)
            assert [round(x, 4) for x in (line.low, line.high)] == point["accuracy"]["interval_95"]
            assert (line.tau, line.share) == (point["threshold"], point["llm_token_share"])
            assert math.isnan(line.seconds)
    now = json.loads((ASSETS / "benchmarks" / "matched_shares.json").read_text())
    assert now["pair_revision"] != kept["pair_revision"] or now["points"] == kept["points"]


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


def test_the_chapter_and_readme_say_what_is_stored():
    assert claims_table(claims()) in CHAPTER.split("<!-- claims -->")[1].split("<!-- /claims -->")[0]
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert headline(of_matched(ONE_WORDING)) in readme


def test_the_view_is_told_what_the_tables_say_and_nothing_else():
    content = evidence_message()["evidence"]
    assert json.dumps(content, allow_nan=False)
    known = {regime.name: regime for regime in regimes()}
    assert [regime["name"] for regime in content["regimes"]] == list(known)
    for told in content["regimes"]:
        for kind, entry in told["kinds"].items():
            table = known[told["name"]].tables[kind]
            assert entry["lead"] == lead(known[told["name"]], kind)
            for point, (_, line) in zip(entry["points"], table.iterrows(), strict=True):
                for name in ("router", "tau", "share", "right", "n", "low", "high", "bytes_share", "gb", "seconds"):
                    value = line[name]
                    missing = value is None or (isinstance(value, float) and math.isnan(value))
                    assert point[name] == (None if missing else value), (kind, name)
    assert len(content["claims"]) == len(claims())
    numbers = [evidence_message()["number"] for _ in range(2)]
    assert numbers[0] != numbers[1]


def test_the_lead_says_first_where_the_free_baseline_is_ahead():
    assert "max-probability, which needs no training, is ahead: 97.5% right against 94.0% for CITER" in lead(
        of_matched(ONE_WORDING), "math"
    )


def test_only_routers_of_the_pair_that_is_here_can_be_opened():
    card = json.loads((ASSETS / "models" / "card.json").read_text())
    assert {"citer", "max-probability"} <= routers_here(card["pair_revision"])
    assert routers_here("0123456789abcdef-0123456789abcdef") == routers_here("") == frozenset()


def test_nothing_of_it_imports_torch():
    code = "import sys, citer_core.ui.evidence.messages as m; m.evidence_message(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=ROOT).returncode == 0
    assert np.__name__ == "numpy"
