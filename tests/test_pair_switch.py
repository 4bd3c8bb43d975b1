"""Changing the pair of a running page: who computes goes on, what fails falls back, what is replaced is freed."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable

import pytest

from citer_core.config import AppConfig
from citer_core.errors import CiterError, PairError, SettingError
from citer_core.models.presets import PRESETS
from citer_core.models.store import PairNeeds
from citer_core.tasks.problems import problem_from_text
from citer_core.types import DecodeSettings
from citer_core.ui.pair import offers as pair_offers
from citer_core.ui.pair.engine_slot import EngineSlot
from citer_core.ui.pair.offers import PairOffers
from citer_core.ui.pair.switch import PairSwitch
from tests.fakes import FakeEngine

OLD, NEW = "embedded", "qwen2.5-coder-0.5b-1.5b"
OLD_TITLE, NEW_TITLE = PRESETS[OLD].title, PRESETS[NEW].title
SCRIPTS = {OLD: "one two three four five six", NEW: "uno dos tres"}
PROBLEM = problem_from_text("How many?", "math")
LONG_S = 10.0  # no test waits that long for what happens


@pytest.fixture(scope="module", autouse=True)
def _what_others_left() -> None:
    """What is freed is found by the collector, which looks no longer at all that other tests have imported and made."""
    gc.collect()
    gc.freeze()


class Loader:
    """Loads fakes, and stops at a stage until it is let go.

    Attributes:
        at: set when it has come to the stage.
        go: lets it on.
        before_load: called when it has been told that it may read weights.
        errors: raised instead of a result, by pair.
    """

    def __init__(self, stop_at: str | None = None) -> None:
        self.stop_at = stop_at
        self.at, self.go = threading.Event(), threading.Event()
        self.errors: dict[str, Exception] = {}
        self.before_load: Callable[[], None] = lambda: None
        self.asked: list[tuple[str, str, bool]] = []
        self.made: list[weakref.ref[FakeEngine]] = []

    def __call__(self, pair, dtype, download, on_progress):
        self.asked.append((pair, dtype, download))
        stopping = pair == NEW
        for stage, done, total in (("fetch", 1, 10), ("fetch", 7, 10), ("convert", 0, None), ("load", 0, None)):
            on_progress(stage, done, total)
            if stopping and stage == self.stop_at and not self.at.is_set():
                self.at.set()
                assert self.go.wait(LONG_S)
        if stopping:
            self.before_load()
        if pair in self.errors:
            raise self.errors[pair]
        engine = FakeEngine(SCRIPTS[pair]).load(PRESETS[pair].title, dtype=dtype)
        self.made.append(weakref.ref(engine))
        return engine


class Room:
    """What the machine has free, in bytes."""

    free = 10_000


@pytest.fixture
def room(monkeypatch):
    room = Room()
    monkeypatch.setattr(pair_offers, "free_bytes", lambda device: room.free)
    monkeypatch.setattr(pair_offers, "needs_of", lambda *_: PairNeeds(0, 0, False, 1000, 1000))
    monkeypatch.setattr(pair_offers, "loaded_bytes", lambda info: 0 if info is None else 600)
    return room


def make(loader: Loader) -> tuple[EngineSlot, PairSwitch]:
    config = AppConfig(pairs="presets")
    slot = EngineSlot(lambda: loader(OLD, "float32", False, lambda *_: None))
    slot.fill()
    return slot, PairSwitch(slot, loader, PairOffers(config), OLD, "float32")


def begin(switch: PairSwitch) -> str:
    """Begins a change; what cancels it."""
    return switch.begin(NEW, "bfloat16")["token"]


def ended(switch: PairSwitch) -> tuple[str, str]:
    """Stage and message of a change that is over."""
    assert switch.wait(LONG_S), switch.status()["change"]
    change = switch.status()["change"]
    assert change["is_over"]
    return change["stage"], change["message"]


def is_freed(engine: weakref.ref[FakeEngine]) -> bool:
    gone = threading.Event()
    alive = engine()
    if alive is None:
        return True
    weakref.finalize(alive, gone.set)
    del alive
    return gone.wait(LONG_S)


def written(slot: EngineSlot) -> str:
    with slot.lease() as lease:
        run = lease.wait(0).start(PROBLEM, settings=DecodeSettings())
        return "".join(event.text for event in run)


def test_the_new_pair_takes_over_and_the_old_one_is_freed(room):
    loader = Loader()
    slot, switch = make(loader)
    assert switch.status()["pair"] == OLD_TITLE and switch.holds_bundled
    begin(switch)
    assert ended(switch) == ("ready", f"{NEW_TITLE} is loaded.")
    status = switch.status()
    assert (status["pair"], status["dtype"], status["generation"]) == (NEW_TITLE, "bfloat16", 2)
    assert written(slot) == SCRIPTS[NEW] and not switch.holds_bundled
    assert is_freed(loader.made[0])
    assert loader.asked == [(OLD, "float32", False), (NEW, "bfloat16", True)]


def test_a_run_ends_on_the_pair_that_it_began_with(room):
    loader = Loader()
    slot, switch = make(loader)
    with slot.lease() as lease:
        run = iter(lease.wait(0).start(PROBLEM, settings=DecodeSettings()))
        texts = [next(run).text]
        begin(switch)
        assert ended(switch)[0] == "ready"
        assert written(slot) == SCRIPTS[NEW], "a new run takes the new pair at once"
        assert loader.made[0]() is not None and lease.wait(0) is loader.made[0](), "the lease keeps its engine"
        texts += [event.text for event in run]
        del run
    assert "".join(texts) == SCRIPTS[OLD]
    assert is_freed(loader.made[0])


@pytest.mark.parametrize(
    ("error", "says"),
    [(PairError("No such dtype."), "No such dtype."), (MemoryError("secret"), f"{NEW_TITLE} could not be loaded: ")],
)
def test_a_pair_that_cannot_be_loaded_leaves_the_old_one(room, error, says):
    loader = Loader()
    slot, switch = make(loader)
    loader.errors[NEW] = error
    begin(switch)
    stage, message = ended(switch)
    assert stage == "failed" and message.startswith(says) and message.endswith(f"{OLD_TITLE} goes on.")
    assert "secret" not in message
    assert slot.wait(0) is loader.made[0]() and switch.pair == OLD and written(slot) == SCRIPTS[OLD]
    loader.errors.clear()
    begin(switch)
    assert ended(switch)[0] == "ready", "and it can be tried again"


def test_what_it_is_doing_is_said_and_a_second_asker_is_told(room):
    loader = Loader("fetch")
    _, switch = make(loader)
    begin(switch)
    assert loader.at.wait(LONG_S)
    change = switch.status()["change"]
    assert (change["stage"], change["done"], change["total"], change["is_over"]) == ("fetch", 1, 10, False)
    with pytest.raises(SettingError, match=f"{NEW_TITLE} is downloading already: wait for it, or cancel"):
        begin(switch)
    loader.go.set()
    assert ended(switch)[0] == "ready"


@pytest.mark.parametrize("stage", ["fetch", "convert", "load"])
def test_a_cancelled_change_leaves_the_old_pair_and_nothing_behind(room, stage):
    loader = Loader(stage)
    slot, switch = make(loader)
    token = begin(switch)
    assert loader.at.wait(LONG_S)
    seen = switch.status()["change"]
    assert token not in str(seen), "everybody sees the status"
    assert not any(map(switch.cancel, ("another", seen["id"], "", None, 7, "\ud800")))
    assert switch.cancel(token)
    assert switch.status()["change"]["is_cancelling"]
    loader.go.set()
    assert ended(switch) == ("cancelled", f"Cancelled. {OLD_TITLE} goes on.")
    assert not switch.cancel(token), "it is over"
    assert written(slot) == SCRIPTS[OLD] and switch.status()["generation"] == 1
    # Weights that were being read come back after all, and are dropped.
    assert len(loader.made) == (2 if stage == "load" else 1)
    assert all(is_freed(made) for made in loader.made[1:])


def test_without_room_for_both_the_old_pair_ends_its_runs_and_goes_first(room):
    room.free = 500
    loader = Loader()
    slot, switch = make(loader)
    freed_before_load = []
    loader.before_load = lambda: freed_before_load.append(loader.made[0]() is None)
    with slot.lease() as lease:
        run = iter(lease.wait(0).start(PROBLEM, settings=DecodeSettings()))
        texts = [next(run).text]
        begin(switch)
        while switch.status()["change"]["stage"] != "wait":
            assert not switch.wait(0.01), "it waits for the run"
        assert switch.status()["change"]["n_runs"] == 1 and switch.status()["state"] == "loading"
        assert slot.wait(0) is None, "new runs wait"
        texts += [event.text for event in run]
        assert "".join(texts) == SCRIPTS[OLD]
        del run
    assert ended(switch)[0] == "ready"
    assert freed_before_load == [True]
    assert written(slot) == SCRIPTS[NEW]


def test_who_made_way_comes_back_when_the_new_pair_fails(room):
    room.free = 500
    loader = Loader()
    slot, switch = make(loader)
    loader.errors[NEW] = PairError("Two vocabularies.")
    begin(switch)
    assert ended(switch) == ("failed", f"Two vocabularies. {OLD_TITLE} goes on.")
    assert loader.asked[-1] == (OLD, "float32", False) and is_freed(loader.made[0])
    assert written(slot) == SCRIPTS[OLD]


def test_cancelled_while_it_waits_for_a_run(room):
    room.free = 500
    slot, switch = make(Loader())
    with slot.lease() as lease:
        engine = lease.wait(0)
        token = begin(switch)
        while switch.status()["change"]["stage"] != "wait":
            assert not switch.wait(0.01)
        assert switch.cancel(token)
        assert ended(switch)[0] == "cancelled"
        assert slot.wait(0) is engine, "it never went away"


def test_a_server_without_any_pair_says_so_and_takes_another(room):
    room.free = 500
    loader = Loader()
    slot, switch = make(loader)
    loader.errors |= {NEW: PairError("Too large."), OLD: PairError("Gone.")}
    begin(switch)
    assert ended(switch) == ("failed", f"Too large. {OLD_TITLE} could not be loaded again: Gone.")
    assert switch.status()["state"] == "failed"
    with pytest.raises(CiterError, match="Gone"):
        slot.wait(0)
    loader.errors.clear()
    room.free = 10_000
    begin(switch)
    assert ended(switch)[0] == "ready" and written(slot) == SCRIPTS[NEW]


def test_the_first_pair_is_not_interrupted(room):
    slot = EngineSlot(FakeEngine().load)
    switch = PairSwitch(slot, Loader(), PairOffers(AppConfig(pairs="presets")), OLD, "float32")
    with pytest.raises(SettingError, match="The first pair is still being loaded"):
        begin(switch)
