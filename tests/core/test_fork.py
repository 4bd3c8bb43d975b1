"""A branch equals one run with the same decisions: tokens, writers, what each model was fed, and the text."""

from __future__ import annotations

import dataclasses
import itertools
import random

import pytest
import torch

from citer_core.engine import Engine
from citer_core.errors import SettingError
from citer_core.fork import Fork
from citer_core.routing.decode import decode
from citer_core.routing.router import Router
from citer_core.routing.routers.training_free import (
    BidirectionalEntropyRouter,
    DisagreementRouter,
    MaxProbabilityRouter,
)
from citer_core.tasks.datasets import bundled_rows
from citer_core.trace import ParentInfo, RoutingTrace
from citer_core.types import DecodeSettings, prefers_llm
from tests.core.examples import random_prompts
from tests.sampling import sampled

N_NEW = 40


class Dictated(Router):
    """The inner router, but some positions are decided beforehand."""

    name, label = "dictated", "Dictated"

    def __init__(self, inner, decisions):
        self.inner, self.decisions = inner, decisions
        self.uses_llm_entropy, self.reads_llm = inner.uses_llm_entropy, inner.reads_llm

    def confidence(self, features):
        position = int(features.position[0])
        if position in self.decisions:
            return torch.tensor([0.0 if self.decisions[position] == "llm" else 1.0])
        return self.inner.confidence(features)


def run(pair, router, prompt, threshold, fork=None, **sampling):
    settings = DecodeSettings(threshold=threshold, max_new_tokens=N_NEW, **sampling)
    own = list(decode(pair, router, prompt, settings, fork=fork))
    return [*(fork.events if fork else ()), *own]


def facts(events):
    return [(e.index, e.token_id, e.text, e.source, e.slm_tokens_fed, e.llm_tokens_fed, e.context_len) for e in events]


ROUTERS = [MaxProbabilityRouter, BidirectionalEntropyRouter, DisagreementRouter]


@pytest.mark.parametrize(
    ("router_class", "sampling", "number"),
    sampled(itertools.product(ROUTERS, [{}, {"temperature": 0.9, "seed": 5}], range(4)), every=7),
)
def test_a_flip_is_one_run_with_the_same_decisions(tiny_pair, router_class, sampling, number):
    pair, router = dataclasses.replace(tiny_pair, eos_ids=frozenset()), router_class()
    prompt = random_prompts(4)[number]
    parent = run(pair, router, prompt, 0.4, **sampling)
    for at in (0, 1, 2, 9 + number, 38):
        source = "slm" if parent[at].source == "llm" else "llm"
        branch = run(pair, router, prompt, 0.6, Fork(tuple(parent[:at]), source), **sampling)
        decisions = {i: event.source for i, event in enumerate(parent[:at])} | {at: source}
        fresh = run(pair, Dictated(router, decisions), prompt, 0.6, **sampling)
        assert facts(branch) == facts(fresh)
        assert branch[at].forced and not any(e.forced for e in branch[at + 1 :])
        for ours, theirs in zip(branch[at + 1 :], fresh[at + 1 :], strict=True):
            assert ours.slm_confidence == pytest.approx(theirs.slm_confidence, abs=1e-4)


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


# ------------------------------------------------------------------ replay: what the browser shows when tau moves


def first_flip(events, threshold):
    for event in events:
        if not event.forced and (event.source == "llm") != prefers_llm(event.slm_confidence, threshold):
            return event.index
    return None


def check_what_if(engine, problem, recorded_at, taus):
    settings = DecodeSettings(threshold=recorded_at, max_new_tokens=256)
    parent = list(engine.start(problem, settings=settings))
    assert first_flip(parent, recorded_at) is None
    for tau in taus:
        moved = dataclasses.replace(settings, threshold=tau)
        real = list(engine.start(problem, settings=moved))
        flip = first_flip(parent, tau)
        if flip is None:
            assert facts(real) == facts(parent)
            continue
        assert facts(real[:flip]) == facts(parent[:flip])
        assert real[flip].source != parent[flip].source
        branch = list(engine.start(problem, settings=moved, fork=Fork(tuple(parent[:flip]))))
        assert facts(branch) == facts(real)  # "Continue from here" is the run that would have been made
        assert first_flip(branch, tau) is None
    flipped = len(parent) // 2
    source = "slm" if parent[flipped].source == "llm" else "llm"
    branch = list(engine.start(problem, settings=settings, fork=Fork(tuple(parent[:flipped]), source)))
    decisions = {i: event.source for i, event in enumerate(parent[:flipped])} | {flipped: source}
    ids = engine.pair.encode(problem.prompt)
    fresh = list(decode(engine.pair, Dictated(engine.router(), decisions), ids, settings))
    assert facts(branch) == facts(fresh)


def problems(n):
    return [row.problem for kind in ("math", "mc") for row in bundled_rows(kind)[: n // 2]]


@pytest.mark.parametrize("problem", sampled(problems(4), every=2), ids=lambda problem: problem.data_type)
def test_the_exact_part_of_a_what_if_is_what_a_real_run_writes(engine, problem):
    check_what_if(engine, problem, 0.93, (0.2, 0.99))


@pytest.mark.slow
@pytest.mark.parametrize("number", range(50))
def test_fifty_runs_at_five_taus(engine, number):
    draw = random.Random(number)
    recorded_at = draw.choice([0.3, 0.7, 0.93])
    taus = [0.0, 1.0, *(round(draw.random(), 2) for _ in range(3))]
    check_what_if(engine, problems(50)[number], recorded_at, taus)
