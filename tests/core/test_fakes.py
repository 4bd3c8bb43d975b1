"""The scripted engine has the real one's interface: the same public names, and calls that take the same arguments.

A new member of `Engine`, `Run` or the decoder is given to the fake one too, or named here because no test with a
fake one needs it; a member that is renamed or takes other arguments fails here rather than nowhere.
"""

from __future__ import annotations

import inspect

import pytest

from citer_core.engine import Engine
from citer_core.routing.routers.training_free import MaxProbabilityRouter
from citer_core.tasks.problems import problem_from_text
from citer_core.types import DecodeSettings
from tests.fakes import FakeEngine

# What only the real ones have: it needs models, or is for the decoder.
NOT_FAKED = {
    "Engine": {"inside", "on_zero_gpu"},
    "Run": {"begin", "is_cancelled", "pair", "prompt_ids", "record", "remote", "finish", "router", "steps", "wait"},
    "SharedDecoder": {"n_free", "n_live"},
}
# What only the fake ones have: the script, and what a test looks at.
SCRIPTED = {
    "Engine": {"confidences", "delay_s", "error", "fail_at", "load_s", "n_loads", "n_slots", "pieces", "runs",
               "script"},
    "Run": {"engine", "events", "router_info"},
    "SharedDecoder": set(),
}  # fmt: skip


def public(thing: object) -> set[str]:
    """Names that do not begin with an underscore."""
    return {name for name in dir(thing) if not name.startswith("_")}


def arguments(call: object) -> list[tuple[str, str, bool]]:
    """Name, kind and whether it may be left out, of each argument; `self` is bound already."""
    parameters = inspect.signature(call).parameters.values()  # type: ignore[arg-type]
    return [(p.name, p.kind.description, p.default is not p.empty) for p in parameters]


def pairs_of(real: Engine, fake: FakeEngine) -> dict[str, tuple[object, object]]:
    problem, settings = problem_from_text("1 + 1?", "math"), DecodeSettings(max_new_tokens=1)
    runs = real.start(problem, settings=settings), fake.start(problem, settings=settings)
    return {"Engine": (real, fake), "Run": runs, "SharedDecoder": (real.open_decoder(1), fake.open_decoder(1))}


@pytest.mark.parametrize("name", NOT_FAKED)
def test_a_fake_has_the_interface_of_what_it_stands_for(tiny_pair, name):
    real, fake = pairs_of(Engine(tiny_pair, {"max-probability": MaxProbabilityRouter()}), FakeEngine())[name]
    assert type(real).__name__ == name
    assert public(real) - public(fake) == NOT_FAKED[name], "only the real one has these"
    assert public(fake) - public(real) == SCRIPTED[name], "only the fake one has these"
    for member in sorted(public(real) & public(fake)):
        ours, theirs = getattr(fake, member), getattr(real, member)
        assert callable(ours) == callable(theirs), member
        if callable(theirs):
            assert arguments(ours) == arguments(theirs), member
