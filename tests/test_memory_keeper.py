"""Memory that is given back: when it is asked for, and that a whole-set analysis leaves next to nothing."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time

import pytest

from citer_core.system_memory import MemoryKeeper, resident_bytes
from citer_core.ui.pair.engine_slot import EngineSlot
from tests.fakes import FakeEngine

MB = 1_000_000
# Each reading in a thread of its own, as those of different visitors, and each of them really read.
READINGS = """
import asyncio, json, threading, time, torch
from types import SimpleNamespace
from citer_core.engine import Engine
from citer_core.system_memory import MemoryKeeper
from citer_core.system_memory import resident_bytes
from citer_core.serving.line import WaitingLine
from citer_core.ui.pair.engine_slot import EngineSlot
from citer_core.ui.jobs import JobLine
from citer_core.ui.asking import Visitor
from citer_core.ui.labels import answers
from citer_core.ui.labels.rows import LabelInput, bundled_set

torch.set_num_threads(1)
slot = EngineSlot(Engine.load, keeper=MemoryKeeper(look_s=0.25, quiet_s=0.1))
slot.start()
assert slot.wait(60) is not None
source = bundled_set("mc")
some = LabelInput("some of them", source.rows[:50])
found = []

def read(visitor):
    answers.source_of = lambda _: some
    events = answers.about_labels(JobLine(WaitingLine(1), slot), slot)

    async def listen():
        async for message in events["labels"](b"{}", Visitor(visitor, "", None)):
            last = message
        found.append(len(json.loads(last)["problems"]))

    asyncio.run(listen())

sizes = [resident_bytes()]
for number in range(3):
    thread = threading.Thread(target=read, args=(f"visitor {number}",))
    thread.start()
    thread.join()
    # What is given back goes a moment later, on a busy machine some moments.
    end = time.monotonic() + 10
    while (size := resident_bytes()) > 1.04 * sizes[-1] and time.monotonic() < end:
        time.sleep(0.3)
    sizes.append(size)
print(json.dumps({"sizes": sizes, "found": found}))
"""


class Process:
    """A process whose size is told."""

    def __init__(self, size: int | None) -> None:
        self.size = size
        self.gave = threading.Event()
        self.n_given = 0

    def resident(self) -> int | None:
        return self.size

    def give(self) -> None:
        self.size = 100 * MB
        self.n_given += 1
        self.gave.set()


def kept(process: Process) -> MemoryKeeper:
    return MemoryKeeper(look_s=0.01, quiet_s=0.01, resident=process.resident, give=process.give)


def test_it_is_asked_for_while_a_long_computation_grows():
    process = Process(100 * MB)
    keeper = kept(process)
    keeper.begin()
    process.size = 140 * MB
    assert not process.gave.wait(0.1)
    process.size = 160 * MB
    assert process.gave.wait(5)
    keeper.end()


def test_it_is_asked_for_at_rest_and_never_where_nothing_grew():
    process = Process(100 * MB)
    keeper = kept(process)
    keeper.begin()
    keeper.end()
    assert not process.gave.wait(0.1)
    keeper.begin()
    process.size = 110 * MB
    time.sleep(0.05)
    assert process.n_given == 0
    keeper.end()
    assert process.gave.wait(5)


def test_what_is_freed_after_the_end_is_asked_for_too():
    process = Process(100 * MB)
    keeper = MemoryKeeper(look_s=0.01, quiet_s=0.01, late_s=0.3, resident=process.resident, give=process.give)
    keeper.begin()
    keeper.end()
    time.sleep(0.1)
    process.size = 110 * MB  # by those who carry the answer
    assert process.gave.wait(5)


def test_a_system_that_says_nothing_is_left_alone():
    process = Process(None)
    keeper = kept(process)
    keeper.begin()
    process.size = 900 * MB
    keeper.end()
    assert not process.gave.wait(0.1)


def test_the_slot_tells_it_of_every_lease():
    process = Process(100 * MB)
    slot = EngineSlot(FakeEngine().load, keeper=kept(process))
    slot.start()
    with slot.lease() as lease:
        assert lease.wait(10) is not None
        assert lease.wait(10) is not None  # the same one
        process.size = 200 * MB
        assert process.gave.wait(5)
    process.gave.clear()
    process.size = 105 * MB
    with slot.lease() as lease:
        assert lease.wait(10) is not None
    assert process.gave.wait(5)


@pytest.mark.skipif(resident_bytes() is None, reason="this system does not say what a process holds")
@pytest.mark.slow
def test_readings_of_fifty_problems_leave_next_to_nothing():
    """Without a keeper one grows the process by 13%, of the 590 MB that it has with the pair loaded."""
    done = subprocess.run([sys.executable, "-c", READINGS], capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    loaded, first, *later = report["sizes"]
    assert report["found"] == [50] * 3
    # What leaks stays: one reading may be taken while memory is still being given back, not both.
    assert first < loaded * 1.08 and min(later) < first * 1.05, report
