"""For all tests: long ones are first; those marked `gpu` are skipped, with the reason, where there is none."""

from __future__ import annotations

import gc
import signal

import pytest

NO_GPU = "torch sees no NVIDIA GPU on this machine: assets/docs/gpu.md says how to run this where there is one"


# `make test &` of a script: what a shell starts in the background ignores Ctrl-C, and would hand that on to the
# commands whose Ctrl-C is tested.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Files whose tests take long go first: what begins last is what the other processes then wait for.
LONG_FIRST = ("tests/ui/journeys/", "tests/ui/", "tests/core/test_bundled_pair.py", "tests/faults/")


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


def _place(item: pytest.Item) -> int:
    """The first of `LONG_FIRST` that it belongs to."""
    return next((k for k, start in enumerate(LONG_FIRST) if item.nodeid.startswith(start)), len(LONG_FIRST))


def pytest_collection_finish(session: pytest.Session) -> None:
    """What the imports left is for ever: a million objects less for every collection that comes later."""
    gc.collect()
    gc.freeze()
