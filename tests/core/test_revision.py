"""A pair's name covers every weight, and names from before are still understood."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch

from citer_core.models.revision import BLOCK, _sums, weights_revision
from citer_core.models.same_pair import is_same_pair, is_same_run
from tests.core.conftest import tiny_qwen2


def flip(parameter, place, bit):
    parameter.data.view(torch.int16).view(-1)[place] ^= bit


def test_one_flipped_bit_anywhere_changes_the_name():
    """The old name looked at 64 values of each tensor, so most flips kept it."""
    model = tiny_qwen2(1).to(torch.bfloat16)
    before, rng, n_seen_by_the_sample = weights_revision(model), random.Random(3), 0
    for _ in range(150):
        _, parameter = rng.choice(list(model.named_parameters()))
        place, bit = rng.randrange(parameter.numel()), 1 << rng.randrange(15)
        flip(parameter, place, bit)
        after = weights_revision(model)
        flip(parameter, place, bit)
        assert after != before
        n_seen_by_the_sample += after.partition(".")[0] != before.partition(".")[0]
    assert n_seen_by_the_sample < 100, "this test looks where the sample does not"
    assert weights_revision(model) == before


def test_the_same_weights_in_another_precision_have_one_name():
    model = tiny_qwen2(1).to(torch.bfloat16)
    name = weights_revision(model)
    assert weights_revision(model.float()) == name
    sample, _, whole = name.partition(".")
    assert len(sample) == 16 and len(whole) == 8
    assert weights_revision(model.half()) == sample, "float16 cannot be rounded to the same numbers"


@pytest.mark.parametrize("n", [1, 3, 4, 1000, BLOCK - 1, BLOCK, BLOCK + 5, 2 * BLOCK])
def test_sums_are_those_of_plain_arithmetic(n):
    """Against numpy, whose unsigned numbers are modulo 2^64 by definition."""
    values = torch.randn(n, generator=torch.Generator().manual_seed(n)).bfloat16()
    content = values.view(torch.int16).numpy().tobytes()
    expected = []
    for start in range(0, len(content), 2 * BLOCK):
        block = content[start : start + 2 * BLOCK]
        words = np.frombuffer(block + bytes(-len(block) % 8), "<u8")
        expected.append(int((words * (2 * np.arange(len(words), dtype="u8") + 1)).sum(dtype="u8")))
    assert [total % 2**64 for total in _sums(values)] == expected == [total % 2**64 for total in _sums(values.float())]


def test_words_that_change_places_change_the_sum():
    values = torch.arange(64.0).bfloat16()
    moved = values.clone()
    moved[:4], moved[40:44] = values[40:44], values[:4]
    assert _sums(moved) != _sums(values)


@pytest.mark.parametrize(
    ("recorded", "loaded", "pair", "run"),
    [
        ("a.1-b.2", "a.1-b.2", True, True),
        ("a-b", "a.1-b.2", True, True),  # from before the whole was covered
        ("a.1-b.2", "a-b", True, True),  # float16 here
        ("a.1-b", "a.1-b.2", True, True),
        ("a.1-b.2", "a.1-b.3", False, False),
        ("a.9-b.2", "a.1-b.2", False, False),
        ("a-c", "a.1-b.2", False, False),
        ("a.1-b.2", "a.1-server:x", True, False),
        ("a-server:x", "a.1-server:x", True, True),
        ("a.1-server:x", "a.1-server:y.2-z", True, False),
        ("a.1-server:x", "a.1-b.2", False, False),
        ("", "a.1-b.2", False, False),
        ("elsewhere", "a.1-b.2", False, False),
    ],
)
def test_names_are_compared_by_what_both_say(recorded, loaded, pair, run):
    assert (is_same_pair(recorded, loaded), is_same_run(recorded, loaded)) == (pair, run)
