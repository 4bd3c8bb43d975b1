"""What holds for all tests: those marked `gpu` are skipped, with the reason, where there is none."""

from __future__ import annotations

import gc

import pytest

NO_GPU = "torch sees no NVIDIA GPU on this machine: assets/docs/gpu.md says how to run this where there is one"


@pytest.hookimpl(trylast=True)  # when all that nobody asked for are gone: nobody else waits for torch
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked:
        return
    import torch

    if not torch.cuda.is_available():
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=NO_GPU))


def pytest_collection_finish(session: pytest.Session) -> None:
    """What the imports left is for ever: a million objects less for every collection that comes later."""
    gc.collect()
    gc.freeze()
