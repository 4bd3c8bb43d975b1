"""Separation, calibration and intervals against scikit-learn, hand-made numbers and published values."""

from __future__ import annotations

import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from citer_core.evaluation.metrics import expected_calibration_error, reliability, roc_auc, wilson_interval


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=2, max_size=60).filter(
        lambda x: len({b for _, b in x}) == 2
    )
)
def test_auc_is_sklearns_ties_included(pairs):
    score = torch.tensor([s / 6 for s, _ in pairs])
    label = torch.tensor([int(b) for _, b in pairs])
    assert roc_auc(score, label) == pytest.approx(roc_auc_score(label, score))


def test_calibration_by_hand():
    confidence = torch.tensor([0.05, 0.05, 0.95, 0.95, 1.0])
    label = torch.tensor([0, 1, 1, 1, 0])
    curve = reliability(confidence, label)
    assert [(round(a, 4), round(b, 4), n) for a, b, n in curve] == [(0.05, 0.5, 2), (0.9667, 0.6667, 3)]
    assert expected_calibration_error(confidence, label) == pytest.approx((2 * 0.45 + 3 * 0.3) / 5)


def test_wilson_interval_against_published_values():
    assert wilson_interval(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-3)
    assert wilson_interval(95, 100) == pytest.approx((0.8882, 0.9785), abs=1e-3)
    assert wilson_interval(0, 0) == (0.0, 1.0)


def test_wilson_covers_as_often_as_it_says():
    rng = random.Random(0)
    hits = 0
    for _ in range(400):
        low, high = wilson_interval(sum(rng.random() < 0.3 for _ in range(80)), 80)
        hits += low <= 0.3 <= high
    assert hits / 400 > 0.92
