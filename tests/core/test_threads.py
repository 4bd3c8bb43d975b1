"""How many threads compute: one for small models, what is fastest for others, what a person asks for above all."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
import torch

from citer_core.config import wanted_threads
from citer_core.errors import SettingError
from citer_core.models import threads
from citer_core.models.pair import load_pair
from citer_core.models.threads import SMALL_BYTES, BatchThreads, choose_threads, seconds_with, use_threads
from citer_core.routing.decode import decode_batch
from citer_core.routing.routers.training_free import MaxProbabilityRouter
from citer_core.routing.sequence import RoutedSequence
from citer_core.types import DecodeSettings, PairOptions
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


class Clock:
    """Seconds, and the CPU seconds that a process with so many cores of its own has."""

    def __init__(self, n_cores: int) -> None:
        self.now = self.cpu = 0.0
        self.n_cores = n_cores

    def batch(self) -> BatchThreads:
        return BatchThreads(2, now=lambda: self.now, cpu_seconds=lambda: self.cpu)

    def pass_(self, batch: BatchThreads, seconds: float) -> int:
        """Computes for so long, and lets the batch look; gives the number of threads after that."""
        self.now += seconds
        self.cpu += seconds * min(self.n_cores, torch.get_num_threads())
        batch.refresh()
        return torch.get_num_threads()


def test_a_batch_has_two_threads_while_their_cores_are_its_own(n_threads):
    torch.set_num_threads(1)
    clock = Clock(2)
    with clock.batch() as batch:
        assert [clock.pass_(batch, seconds) for seconds in (0.01, 0.2, 3.0, 0.2)] == [2] * 4
        clock.n_cores = 1  # another program has come
        assert clock.pass_(batch, threads.CHECK_S / 2) == 2, "it is not looked at each pass"
        assert clock.pass_(batch, 0.2) == 1
        assert clock.pass_(batch, threads.AGAIN_S / 2) == 1
        assert clock.pass_(batch, threads.AGAIN_S) == 2, "tried again"
        assert clock.pass_(batch, 0.2) == 1
        clock.n_cores = 2
        assert [clock.pass_(batch, seconds) for seconds in (threads.AGAIN_S + 0.1, 0.2, 0.2)] == [2, 2, 2]
    assert torch.get_num_threads() == 1


def test_without_a_choice_a_batch_changes_nothing(n_threads):
    torch.set_num_threads(1)
    with BatchThreads(None, now=itertools.count().__next__) as batch:
        batch.refresh()
        assert torch.get_num_threads() == 1


def test_only_small_pairs_without_a_choice_may_take_more():
    assert choose_threads(SMALL_BYTES, 2, never).of_batches == 2
    assert choose_threads(SMALL_BYTES, 1, never).of_batches is None
    assert choose_threads(0, 2, never).of_batches is None, "nothing is on the processor"
    assert choose_threads(LARGE, 2, lambda n: 1.0).of_batches is None


def test_threads_vary_only_where_they_may(n_threads, monkeypatch):
    """With the number changed at every pass the tokens are the same, the confidences up to rounding."""
    torch.set_num_threads(1)
    for name, value in (("CHECK_S", 0.0), ("AGAIN_S", 0.0), ("OWN_CORES", 9.0)):
        monkeypatch.setattr(threads, name, value)
    taken, set_num_threads = [], torch.set_num_threads
    monkeypatch.setattr(torch, "set_num_threads", lambda n: (taken.append(n), set_num_threads(n)))
    router, bundled = MaxProbabilityRouter(), replace(load_pair(), batch_threads=2)
    prompts = [bundled.encode(f"Ann has {n} apples and buys {n} more.") for n in range(3, 23)]
    settings = DecodeSettings(threshold=0.7, max_new_tokens=24)

    def completed(*, batch_size: int = 16, may_vary: bool) -> list[RoutedSequence]:
        del taken[:]
        done = decode_batch(bundled, router, prompts, settings, batch_size=batch_size, may_vary_threads=may_vary)
        return sorted(done, key=lambda c: c.index)

    fixed = completed(may_vary=False)
    assert 2 not in taken
    for one, other in zip(fixed, completed(may_vary=True), strict=True):
        assert one.token_ids == other.token_ids
        confidences = [[step.slm_confidence for step in c.steps] for c in (one, other)]
        assert confidences[0] == pytest.approx(confidences[1], abs=1e-4)
    assert taken[:4] == [2, 1, 2, 1] and torch.get_num_threads() == 1
    completed(batch_size=4, may_vary=True)
    assert 2 not in taken, "too few rows"
