"""Branches of branches, what they keep of their parent, and forks that are refused; others: `test_decoder.py`."""

from __future__ import annotations

import dataclasses

import pytest

from citer_core.engine import Engine
from citer_core.errors import SettingError
from citer_core.fork import Fork
from citer_core.routing.decode import decode
from citer_core.routing.routers.training_free import (
    MaxProbabilityRouter,
)
from citer_core.tasks.datasets import bundled_rows
from citer_core.trace import ParentInfo, RoutingTrace
from citer_core.types import DecodeSettings

N_NEW = 40


def run(pair, router, prompt, threshold, fork=None, **sampling):
    settings = DecodeSettings(threshold=threshold, max_new_tokens=N_NEW, **sampling)
    own = list(decode(pair, router, prompt, settings, fork=fork))
    return [*(fork.events if fork else ()), *own]


def facts(events):
    return [(e.index, e.token_id, e.text, e.source, e.slm_tokens_fed, e.llm_tokens_fed, e.context_len) for e in events]


def test_a_branch_of_a_branch_and_a_token_chosen_by_hand(tiny_pair):
    pair, router, prompt = dataclasses.replace(tiny_pair, eos_ids=frozenset()), MaxProbabilityRouter(), [11, 402, 77, 8]
    parent = run(pair, router, prompt, 0.5)
    chosen = parent[6].slm_top[3].token_id
    branch = run(pair, router, prompt, 0.5, Fork(tuple(parent[:6]), "slm", chosen))
    assert (branch[6].token_id, branch[6].source, branch[6].forced) == (chosen, "slm", True)
    assert branch[6].llm_tokens_fed == 0
    again = run(pair, router, prompt, 0.5, Fork(tuple(branch[:15]), "llm"))
    assert again[6].forced and again[15].forced and facts(again[:15]) == facts(branch[:15])
    # Going on without a choice is what the branch itself wrote.
    assert facts(run(pair, router, prompt, 0.5, Fork(tuple(branch[:20])))) == facts(branch)


def test_costs_and_measured_seconds_of_the_prefix_stay_the_parents(tiny_pair):
    engine = Engine(tiny_pair, {"max-probability": MaxProbabilityRouter()})
    problem = bundled_rows("math")[0].problem
    settings = DecodeSettings(threshold=0.5, max_new_tokens=30)
    parent = engine.start(problem, settings=settings)
    events = list(parent)
    info = ParentInfo(parent.trace().key, 10)
    other = "slm" if events[10].source == "llm" else "llm"
    branch = engine.start(problem, settings=settings, fork=Fork(tuple(events[:10]), other), parent=info)
    assert list(branch)[:10] == events[:10]
    trace = branch.trace()
    assert trace.parent == info and RoutingTrace.from_json(trace.to_json()) == trace
    assert trace.events[10].forced and trace.events[10].source == other and trace.key != parent.trace().key


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda e: {"events": (dataclasses.replace(e[0], token_id=10**9),)}, "does not know"),
        (lambda e: {"events": (dataclasses.replace(e[0], token_id=0),)}, "ends before"),
        (lambda e: {"events": tuple(e[:5])}, "may have 5"),
        (lambda e: {"events": (), "source": "slm", "token_id": -1}, "does not know"),
        (lambda e: {"events": (), "token_id": 3}, "needs a model"),
    ],
)
def test_a_fork_that_nothing_can_follow_is_refused(tiny_pair, change, says):
    engine = Engine(tiny_pair, {"max-probability": MaxProbabilityRouter()})
    problem = bundled_rows("math")[0].problem
    pair = dataclasses.replace(tiny_pair, eos_ids=frozenset())
    events = list(decode(pair, MaxProbabilityRouter(), [5, 6], DecodeSettings(max_new_tokens=6)))
    with pytest.raises(SettingError, match=says):
        engine.start(problem, settings=DecodeSettings(max_new_tokens=5), fork=Fork(**change(events)))
