"""How many threads compute: one for small models, what is fastest for others, what a person asks for above all."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch

from citer_core.config import wanted_threads
from citer_core.errors import SettingError
from citer_core.models import batch_threads, threads
from citer_core.models.batch_threads import BatchThreads, ThreadWatch, seconds_of_product
from citer_core.models.pair import load_pair
from citer_core.models.threads import SMALL_BYTES, ThreadChoice, choose_threads, seconds_with, use_threads
from citer_core.routing.decode import decode_batch
from citer_core.routing.routers.max_probability import MaxProbabilityRouter
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


SHAPE = (64, 128)


def of_two() -> BatchThreads:
    return BatchThreads((1, 2), SHAPE, torch.float32)


class Machine:
    """A clock, what products take, and how many cores the process is given."""

    def __init__(self) -> None:
        self.seconds = {1: 2.0, 2: 1.2}
        self.now = self.cpu = 0.0
        self.measured: list[int] = []
        self.samples: Iterator[float] | None = None  # what measurements find one after another, whatever they measure

    def passes(self, seconds: float, cores: float) -> None:
        self.now += seconds
        self.cpu += seconds * cores

    def measure(self, _plan: BatchThreads, n_threads: int, *_: object) -> float:
        self.measured.append(n_threads)
        return self.seconds[n_threads] if self.samples is None else next(self.samples)

    def watch(self, plan: BatchThreads | None = None) -> ThreadWatch:
        return ThreadWatch(
            plan or of_two(), 16, measure=self.measure, now=lambda: self.now, cpu_seconds=lambda: self.cpu
        )


IDLE, BUSY = {1: 2.0, 2: 1.2}, {1: 2.0, 2: 400.0}
INTERVAL_S, CHECK_S, TRUSTED_S = batch_threads.INTERVAL_S, batch_threads.CHECK_S, batch_threads.TRUSTED_S


def test_a_batch_takes_more_threads_while_they_help(n_threads):
    torch.set_num_threads(1)
    machine = Machine()
    with machine.watch() as threads:
        threads.refresh()
        assert torch.get_num_threads() == 2
        machine.seconds = BUSY  # others keep the cores busy
        machine.passes(INTERVAL_S / 2, cores=1.0)
        threads.refresh()
        assert torch.get_num_threads() == 2, "measured again at once"
        machine.passes(INTERVAL_S / 2, cores=1.0)
        threads.refresh()
        assert torch.get_num_threads() == 1
        machine.seconds = IDLE
        machine.passes(INTERVAL_S, cores=1.0)
        threads.refresh()
        assert torch.get_num_threads() == 2
    assert torch.get_num_threads() == 1


def test_all_threads_are_kept_without_a_measurement_while_their_cores_are_the_batch_s_own(n_threads):
    torch.set_num_threads(1)
    machine = Machine()
    with machine.watch() as threads:
        threads.refresh()
        assert machine.measured == [1, 2]
        while machine.now < TRUSTED_S - CHECK_S:
            machine.passes(CHECK_S * 1.01, cores=1.95)
            threads.refresh()
        assert machine.measured == [1, 2]
        machine.passes(CHECK_S * 1.01, cores=1.95)
        threads.refresh()
        assert machine.measured == [1, 2, 1, 2], "trusted for ever, though another virtual machine may take the cores"
        machine.passes(INTERVAL_S, cores=1.95)
        threads.refresh()
        machine.seconds = BUSY
        machine.passes(CHECK_S * 1.01, cores=1.0)
        threads.refresh()
        assert torch.get_num_threads() == 1, "did not see within a tenth of a second that the cores are shared"


def test_one_sample_that_met_another_program_is_taken_again(n_threads):
    torch.set_num_threads(1)
    machine = Machine()
    machine.samples = samples = iter([2.0, 9.0, 2.0, 1.2, 2.0, 9.0, 2.0, 9.0])
    with machine.watch() as threads:
        threads.refresh()
        assert torch.get_num_threads() == 2
        machine.passes(INTERVAL_S, cores=1.0)
        threads.refresh()
        assert torch.get_num_threads() == 1
    assert next(samples, None) is None


def test_a_batch_that_begins_soon_after_another_does_not_measure_again(n_threads):
    torch.set_num_threads(1)
    plan, machine = of_two(), Machine()
    with machine.watch(plan) as threads:
        threads.refresh()
    machine.seconds = BUSY
    machine.passes(TRUSTED_S / 2, cores=0.0)  # nobody asked for anything
    with machine.watch(plan) as threads:
        threads.refresh()
        assert torch.get_num_threads() == 2
        machine.passes(CHECK_S, cores=1.0)
        threads.refresh()
        assert torch.get_num_threads() == 1
    machine.seconds = IDLE
    with machine.watch() as threads:
        threads.refresh()
        assert torch.get_num_threads() == 2, "another pair's"


def test_what_was_measured_long_ago_is_measured_again_before_the_first_pass(n_threads):
    torch.set_num_threads(1)
    plan, machine = of_two(), Machine()
    with machine.watch(plan) as threads:
        threads.refresh()
    machine.seconds = BUSY
    machine.passes(TRUSTED_S, cores=0.0)
    with machine.watch(plan) as threads:
        threads.refresh()
        assert torch.get_num_threads() == 1


def test_a_batch_of_one_and_a_pair_without_a_choice_measure_nothing(n_threads):
    torch.set_num_threads(1)
    for plan, n_rows in ((of_two(), 1), (None, 16)):
        with ThreadWatch(plan, n_rows, measure=never) as threads:
            threads.refresh()
            assert torch.get_num_threads() == 1


def test_who_may_choose(monkeypatch):
    small = ThreadChoice(1, "small", is_for_size=True)
    models = (tiny_qwen2(1), tiny_qwen2(2))
    for n_cores, numbers in ((2, (1, 2)), (3, (1, 2)), (64, (1, 2, 4))):
        monkeypatch.setattr(batch_threads, "cpu_budget", lambda n=n_cores: n)
        plan = BatchThreads.of(models, small)
        assert plan is not None and plan.candidates == numbers
        assert plan.shape == (models[0].config.hidden_size, models[0].config.intermediate_size)
        assert BatchThreads.of(models, ThreadChoice(2, "as asked for")) is None
    monkeypatch.setattr(batch_threads, "cpu_budget", lambda: 1)
    assert BatchThreads.of(models, small) is None


def test_a_sample_is_as_long_as_asked(n_threads):
    start = time.perf_counter()
    assert 0.0 < seconds_of_product(of_two(), 1, 16, 0.02) <= time.perf_counter() - start >= 0.02


def test_threads_vary_only_where_they_may(n_threads, monkeypatch):
    """With the number changed in every round the tokens are the same, the confidences up to rounding."""
    monkeypatch.setattr(batch_threads, "INTERVAL_S", 0.0)
    turns = itertools.cycle((1.0, 4.0, 4.0))  # fewer threads are taken at the second bad sample
    seen = list[int]()

    def measure(plan: BatchThreads, n: int, *_: float) -> float:
        seen.append(n)
        return 2.0 if n == 1 else next(turns)

    monkeypatch.setattr(batch_threads, "seconds_of_product", measure)
    router, bundled = MaxProbabilityRouter(), replace(load_pair(), batch_threads=of_two())
    prompts = [bundled.encode(f"Ann has {n} apples and buys {n} more.") for n in range(3, 23)]
    settings = DecodeSettings(threshold=0.7, max_new_tokens=24)

    def completed(*, may_vary: bool) -> list[RoutedSequence]:
        done = decode_batch(bundled, router, prompts, settings, may_vary_threads=may_vary)
        return sorted(done, key=lambda c: c.index)

    fixed = completed(may_vary=False)
    assert not seen
    for one, other in zip(fixed, completed(may_vary=True), strict=True):
        assert one.token_ids == other.token_ids
        confidences = [[step.slm_confidence for step in c.steps] for c in (one, other)]
        assert confidences[0] == pytest.approx(confidences[1], abs=1e-4)
    assert set(seen) == {1, 2} and torch.get_num_threads() == 1
