"""Transfer on the real pair: points of other data sets' routers against the router of the data set's own table."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from citer_core.errors import DatasetError
from citer_core.evaluation.metrics import paired_difference
from citer_core.evidence.claim import Stored
from citer_core.evidence.claims import QUESTIONS
from citer_core.evidence.regimes import REAL_PAIR, of_parts, of_qwen
from tests.core.stored_evidence import bits, evaluated, every_part

OWN = [True] * 6 + [False] * 2
TRANSFER = next(question for question in QUESTIONS if question.name == "transfer")
WORSE = [False] * 7 + [True]
BETTER = [True] * 7 + [False]


@pytest.fixture
def claim(tmp_path):
    """The claim, of a bundled set and of the real pair with these points of routers from elsewhere on GSM8K."""
    for file in REAL_PAIR:
        rows = [evaluated("always-slm", 0.0, WORSE), evaluated("citer", 0.12, OWN), evaluated("citer", 0.26, WORSE)]
        (tmp_path / f"{file}.jsonl").write_text("".join(rows))
    parts = every_part()

    def claim(*rows, without=()):
        if rows:
            (tmp_path / "qwen-gsm8k-transfer.jsonl").write_text("".join(rows))
        bundled = of_parts("a-set", {name: part for name, part in parts.items() if name not in without})
        return TRANSFER.ask(Stored([bundled, of_qwen(tmp_path)], tmp_path))

    return claim


def test_points_stand_beside_the_bundled_pair(claim):
    found = claim(
        evaluated("citer-both", 0.1, BETTER),
        evaluated("citer-cqa", 0.06, BETTER),
        evaluated("citer-cqa", 0.11, WORSE),  # nearer to the share
        evaluated("citer-cqa", 0.13, BETTER),
    )
    (other,) = found.others
    _, (low, high) = paired_difference([np.array(BETTER)], [np.array(OWN)])
    both = f"CITER of both less its own on GSM8K: +12.5 points ({100 * low:+.1f} to {100 * high:+.1f}, n = 8)"
    assert other.lines[0] == both
    assert other.lines[1].startswith("CITER of CommonsenseQA less its own on GSM8K: -62.5 points")
    assert "Qwen2.5-Coder" in other.where and found.other.startswith("Elsewhere: CITER of both")
    rows = {(row.group, row.label): row.value for row in found.figures[1].rows}
    assert rows == {
        ("CITER on GSM8K", "trained on GSM8K"): 6 / 8,
        ("CITER on GSM8K", "trained on CommonsenseQA"): 1 / 8,
        ("CITER on GSM8K", "trained on both"): 7 / 8,
    }


def test_a_point_far_from_the_share_is_not_compared(claim):
    found = claim(evaluated("citer-cqa", 0.2, BETTER))
    assert found.others == () and len(found.figures) == 1


def test_without_points_the_bundled_pair_stands_alone(claim):
    found = claim()
    assert found.others == () and found.number.startswith("CITER of both less its own on math")
    assert claim(without=("transfer",)).verdict == "not measured"


@pytest.mark.parametrize(
    "row",
    [
        evaluated("citer-plus-cqa", 0.1, OWN),  # no such router of its own
        evaluated("citer-elsewhere", 0.1, OWN),
        evaluated("citer-gsm8k", 0.1, OWN),  # of this data set
        evaluated("citer-cqa", 0.1, OWN[:7]),
        evaluated("citer-cqa", 0.1, OWN, False),
    ],
)
def test_a_point_with_nothing_to_be_held_against_is_an_error(claim, row):
    with pytest.raises(DatasetError, match=r"qwen-gsm8k-transfer\.jsonl: citer-.* nothing to be held against"):
        claim(row)


@pytest.mark.parametrize(
    ("right", "both", "other"),
    [
        ({}, "One router for both will do.", "Even one that has seen the other format only is not measurably worse."),
        (
            {"both_on_math": 5, "both_on_mc": 39, "mc_on_math": 5, "math_on_mc": 5},
            "Neither is better everywhere: one router for both is behind one for each in places, ahead in others.",
            "One that has seen the other format only is worse.",
        ),
    ],
)
def test_what_follows_says_where_a_loss_is_beyond_doubt(tmp_path, right, both, other):
    parts = every_part()
    part = replace(
        parts["transfer"],
        content=[
            row | {"right": bits(right.get(f"{row['trained_on']}_on_{row['tested_on']}", 20))}
            for row in parts["transfer"].content
        ],
    )
    regime = of_parts("a-set", parts | {"transfer": part})
    assert TRANSFER.ask(Stored([regime], tmp_path)).sentence == f"{both} {other}"
