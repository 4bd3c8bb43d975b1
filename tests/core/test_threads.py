"""How many threads compute: one for small models, what is fastest for others, what a person asks for above all."""

from __future__ import annotations

import pytest
import torch

from citer_core.config import wanted_threads
from citer_core.errors import SettingError
from citer_core.models import threads
from citer_core.models.threads import SMALL_BYTES, choose_threads, seconds_with, use_threads
from citer_core.types import PairOptions
from tests.core.conftest import tiny_qwen2

LARGE = 10 * SMALL_BYTES


def never(_: int) -> float:
    raise AssertionError("measured")


@pytest.mark.parametrize(
    ("n_bytes", "budget", "seconds", "n_threads"),
    [
        (LARGE, 8, {1: 8.0, 4: 2.5, 8: 2.0}, 8),
        (LARGE, 8, {1: 8.0, 4: 2.0, 8: 1.9}, 4),  # no reason to keep four more cores busy
        (LARGE, 2, {1: 3.0, 2: 400.0}, 1),  # other programs keep the cores busy
        (LARGE, 2, {1: 3.0, 2: 2.8}, 1),
        (LARGE, 3, {1: 3.0, 3: 1.2}, 3),
    ],
)
def test_the_fastest_number_that_is_worth_its_cores(n_bytes, budget, seconds, n_threads):
    assert choose_threads(n_bytes, budget, lambda n: seconds[n]).n_threads == n_threads


def test_small_models_and_single_cores_need_no_measurement():
    assert choose_threads(SMALL_BYTES, 64, never).n_threads == 1
    assert choose_threads(LARGE, 1, never).n_threads == 1


@pytest.fixture
def n_threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_what_a_person_asks_for_stands(n_threads, monkeypatch):
    monkeypatch.setattr(threads, "seconds_with", never)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    models = (tiny_qwen2(1), tiny_qwen2(2))
    assert use_threads(models, 3).n_threads == torch.get_num_threads() == 3
    assert use_threads(models, None).n_threads == torch.get_num_threads() == 1  # they are small
    torch.set_num_threads(2)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert use_threads(models, None).n_threads == torch.get_num_threads() == 2


def test_measuring_leaves_the_number_as_it_was(n_threads):
    torch.set_num_threads(1)
    assert seconds_with(2, torch.float32) > 0.0
    assert torch.get_num_threads() == 1


@pytest.mark.parametrize(("text", "wanted"), [("", None), ("4", 4), ("0", None), ("4,2", None), ("x", None)])
def test_the_wish_of_the_environment(text, wanted):
    assert wanted_threads({"OMP_NUM_THREADS": text}) == wanted
    assert wanted_threads({}) is None


def test_no_threads_are_refused():
    with pytest.raises(SettingError, match="from 1"):
        PairOptions(threads=0)
