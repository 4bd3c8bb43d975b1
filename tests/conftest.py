"""For all tests: long ones are first; those marked `gpu` are skipped, with the reason, where there is none."""

from __future__ import annotations

import gc
import signal
from typing import Any

import pytest

NO_GPU = "torch sees no NVIDIA GPU on this machine: assets/docs/gpu.md says how to run this where there is one"


# `make test &` of a script: what a shell starts in the background ignores Ctrl-C, and would hand that on to the
# commands whose Ctrl-C is tested.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# One process takes all files that fork, so that there is one fork server with all that it imports.
FORKS = (
    "tests/faults/", "tests/core/test_pair_memory.py", "tests/core/test_store.py", "tests/test_contributing.py",
    "tests/test_wheel.py",
)  # fmt: skip
# Files whose tests take long go first: what begins last is what the other processes then wait for.
LONG_FIRST = ("tests/faults/", "tests/ui/journeys/", "tests/ui/", "tests/core/test_bundled_pair.py")


@pytest.hookimpl(trylast=True)  # after the unselected tests are gone: the others do not wait for torch
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=_place)  # stable: all else stays as it stood
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked:
        return
    import torch

    if not torch.cuda.is_available():
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=NO_GPU))


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Each process takes a file, but all files that fork are one."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "forks" if nodeid.startswith(FORKS) else super()._split_scope(nodeid)

    return Scheduling(config, log)


def _place(item: pytest.Item) -> int:
    """The first of `LONG_FIRST` that it belongs to."""
    return next((k for k, start in enumerate(LONG_FIRST) if item.nodeid.startswith(start)), len(LONG_FIRST))


def pytest_collection_finish(session: pytest.Session) -> None:
    """What the imports left is for ever: a million objects less for every collection that comes later."""
    gc.collect()
    gc.freeze()
