"""ZeroGPU with a stand-in for the package `spaces`: who asks for the GPU, and for how long."""

from __future__ import annotations

import importlib.machinery
import pickle
import sys
import types

import pytest

from citer_core import zero_gpu
from citer_core.engine import Engine
from citer_core.routing.routers import training_free_routers
from citer_core.tasks.problems import problem_from_text
from citer_core.types import DecodeSettings


class FakeSpaces(types.ModuleType):
    """`GPU(duration=f)` notes what f says of each call and pickles everything, as another process would."""

    def __init__(self):
        super().__init__("spaces")
        self.__spec__ = importlib.machinery.ModuleSpec("spaces", None)
        self.asked = []

    def GPU(self, duration):  # noqa: N802 - its name
        def decorate(work):
            def borrowed(*arguments):
                self.asked.append(duration(*arguments))
                for item in work(*pickle.loads(pickle.dumps(arguments))):
                    yield pickle.loads(pickle.dumps(item))

            return borrowed

        return decorate


@pytest.fixture
def spaces(monkeypatch):
    fake = FakeSpaces()
    monkeypatch.setitem(sys.modules, "spaces", fake)
    monkeypatch.setenv("SPACES_ZERO_GPU", "true")
    return fake


@pytest.mark.parametrize(
    ("n_tokens", "share", "seconds"),
    [(100, 1.0, 22), (100, 0.0, 15), (500, 0.2, 34), (5000, 1.0, 120), (1, 1.0, 15), (100, 7.0, 22)],
)
def test_seconds_from_the_request(n_tokens, share, seconds):
    """10 s to begin, 30 ms a token, 90 ms for one of the LLM; between 15 and 120."""
    assert zero_gpu.gpu_seconds(n_tokens, share) == seconds


@pytest.mark.parametrize("says", [None, "", "false", "0"])
def test_the_package_alone_is_no_gpu(spaces, monkeypatch, says):
    """Spaces on a processor have it, too; the page would look for a GPU there and find none."""
    if says is None:
        monkeypatch.delenv("SPACES_ZERO_GPU")
    else:
        monkeypatch.setenv("SPACES_ZERO_GPU", says)

    def work():
        pass

    assert zero_gpu.spaces_module() is None and zero_gpu.on_gpu(work, lambda: 1) is work
    monkeypatch.setenv("SPACES_ZERO_GPU", "1")
    assert zero_gpu.spaces_module() is spaces


def engine(tiny_pair):
    return Engine(tiny_pair, training_free_routers())


def test_a_run_is_the_same_and_asks_for_its_time(tiny_pair, spaces):
    problem, settings = problem_from_text("What is 2 + 3?", "open"), DecodeSettings(0.5, max_new_tokens=40)
    plain = engine(tiny_pair).start(problem, settings=settings)
    borrowed = engine(tiny_pair).on_zero_gpu().start(problem, settings=settings)
    ids = [event.token_id for event in plain]
    assert [event.token_id for event in borrowed] == ids and borrowed.finish_reason == plain.finish_reason
    assert len(borrowed.trace().events) == len(ids)
    assert spaces.asked == [zero_gpu.gpu_seconds(40)]


def test_the_slm_alone_asks_for_less(tiny_pair, spaces):
    settings = DecodeSettings(0.0, max_new_tokens=300)
    run = engine(tiny_pair).on_zero_gpu().start(problem_from_text("x", "open"), settings=settings)
    next(iter(run))
    assert spaces.asked == [zero_gpu.gpu_seconds(300, 0.0)] != [zero_gpu.gpu_seconds(300)]


def test_stop_works_from_here(tiny_pair, spaces):
    run = engine(tiny_pair).on_zero_gpu().start(problem_from_text("x", "open"), settings=DecodeSettings(0.5, 200))
    for event in run:
        if event.index == 2:
            run.cancel()
    assert run.finish_reason == "cancelled" and len(run.trace().events) == 3
