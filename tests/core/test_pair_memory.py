"""A page that changes its pair again and again holds one pair's memory, whatever it keeps of old runs."""

from __future__ import annotations

import os
import threading
import weakref

import pytest
import torch

from citer_core.config import AppConfig
from citer_core.engine import Engine
from citer_core.system_memory import give_back, resident_bytes
from citer_core.tasks.problems import problem_from_text
from citer_core.types import DecodeSettings
from citer_core.ui.pair.engine_slot import EngineSlot
from citer_core.ui.pair.offers import PairOffers
from citer_core.ui.pair.switch import PairSwitch
from citer_core.ui.run.order import Order, RunRegistry
from tests.core.conftest import tiny_qwen2
from tests.forked import Forked
from tests.sampling import few_or_all

PAIR_BYTES = 170_000_000
QUESTION = problem_from_text("How many apples are left?", "math")
WAIT_S = 120


@pytest.fixture(scope="module")
def pairs(tmp_path_factory, tokenizer):
    """Two pairs of about 180 MB each, so that one that is kept is seen beside what Python itself takes."""
    made = []
    for which in (1, 2):
        folders = []
        for model, (width, n_layers) in enumerate(((512, 2), (1024, 4))):
            folder = tmp_path_factory.mktemp(f"pair{which}") / ("slm", "llm")[model]
            tiny_qwen2(10 * which + model, width, n_layers, initializer_range=0.02).save_pretrained(folder)
            tokenizer.save_pretrained(folder)
            folders.append(str(folder))
        made.append(",".join(folders))
    return made


def switched(pairs):
    def load(pair, dtype, download, on_progress):
        return Engine.load(pair, dtype=dtype, on_progress=on_progress)

    slot = EngineSlot(lambda: load(pairs[0], "float32", False, lambda *_: None))
    slot.fill()
    return slot, PairSwitch(slot, load, PairOffers(AppConfig(pairs="any")), pairs[0], "float32")


def run_once(slot: EngineSlot, registry: RunRegistry) -> list[int]:
    with slot.lease() as lease:
        run = lease.wait(0).start(QUESTION, router="random", settings=DecodeSettings(threshold=0.5, max_new_tokens=8))
        order = Order(lambda _: run)
        order.begin(run)
        registry.add(order)
        tokens = [event.token_id for event in run]
    order.end(trace=run.trace())
    assert [event.token_id for event in run.trace().events] == tokens, "a kept run still has its trace"
    assert run.trace().pair.name and run.trace().router.name == "random"
    return tokens


@pytest.mark.skipif(resident_bytes() is None, reason="this system does not say what a process holds")
@pytest.mark.parametrize("n_changes", few_or_all(2, 5))
def test_memory_comes_back_after_changes(pairs, n_changes):
    """In a process of its own: what one holds, and gives back, depends on all that ran in it before."""
    code = "import sys; from tests.core.test_pair_memory import change; change(int(sys.argv[1]), sys.argv[2:])"
    process = Forked(code, str(n_changes), *pairs, env=dict(os.environ))
    said = process.communicate()[1]
    assert process.returncode == 0, said


def change(n_changes, pairs):
    slot, switch = switched(pairs)
    registry = RunRegistry()
    engine = slot.wait(0)
    size = sum(p.numel() * p.element_size() for lm in (engine.pair.slm, engine.pair.llm) for p in lm.model.parameters())
    assert size > PAIR_BYTES
    models = [weakref.ref(engine.pair.llm.model)]
    del engine
    first = run_once(slot, registry)
    give_back()
    before = resident_bytes()
    for number in range(1, n_changes + 1):
        switch.begin(pairs[number % 2], "float32")
        assert switch.wait(WAIT_S), switch.status()
        assert switch.status()["change"]["stage"] == "ready", switch.status()["change"]
        tokens = run_once(slot, registry)
        assert (tokens == first) is (number % 2 == 0), "each pair writes its own text, and the same again"
        models.append(weakref.ref(slot.wait(0).pair.llm.model))
    for thread in threading.enumerate():
        if thread.name == "engine-reaper":
            thread.join(WAIT_S)
    assert [model() is None for model in models] == [True] * n_changes + [False]
    give_back()  # as before the first change: what the last run let go of is no pair's
    after = resident_bytes()
    assert after <= 1.1 * before, f"{before / 1e6:.0f} MB before, {after / 1e6:.0f} MB after"


def test_a_run_in_flight_keeps_its_tokens(folders, tmp_path, tokenizer):
    pairs = [folders, f"{tmp_path},{tmp_path}"]
    tiny_qwen2(3).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    slot, switch = switched(pairs)
    settings = DecodeSettings(threshold=0.5, max_new_tokens=24)
    expected = [event.token_id for event in slot.wait(0).start(QUESTION, router="random", settings=settings)]
    with slot.lease() as lease:
        run = iter(lease.wait(0).start(QUESTION, router="random", settings=settings))
        tokens = [next(run).token_id for _ in range(5)]
        old = weakref.ref(lease.wait(0).pair.llm.model)
        switch.begin(pairs[1], "float32")
        # The size of these two is not known, so the old pair makes way: but only when its run has ended.
        while switch.status()["change"]["stage"] != "wait":
            assert not switch.wait(0.01), switch.status()["change"]
        tokens += [event.token_id for event in run]
        del run
    assert tokens == expected
    assert switch.wait(WAIT_S) and switch.status()["change"]["stage"] == "ready"
    assert old() is None
    assert not torch.equal(torch.tensor(tokens[:8]), torch.tensor(run_once(slot, RunRegistry())))
