"""What replay calls exact is exact: problems generated again at other taus, token by token."""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from itertools import product
from typing import Any

import pytest

from citer_core.engine import Engine
from citer_core.fork import Fork
from citer_core.replay import replay
from citer_core.tasks.datasets import bundled_rows
from citer_core.tasks.problems import Problem
from citer_core.types import DecodeSettings, TokenEvent
from tests.sampling import sampled

RECORDED_AT = 0.93


def facts(event: TokenEvent) -> tuple[Any, ...]:
    """What is the same in a branch and in a run of its own."""
    return event.token_id, event.text, event.source, event.slm_tokens_fed, event.llm_tokens_fed, event.context_len


def moves_of(
    engine: Engine, router: str, problem: Problem, taus: tuple[float, ...], temperature: float
) -> Counter[str]:
    """Each move of tau, generated for real beside what replay says of it; asserts that nothing exact is wrong."""
    settings = DecodeSettings(threshold=RECORDED_AT, max_new_tokens=256, temperature=temperature, seed=11)
    run = engine.start(problem, router=router, settings=settings)
    events = list(run)
    recorded = [event.token_id for event in events]
    trace = run.trace()
    probe = [token.to_dict() for token in engine.probe(problem, recorded)]
    found: Counter[str] = Counter()
    for tau in taus:
        moved = dataclasses.replace(settings, threshold=tau)
        real = list(engine.start(problem, router=router, settings=moved))
        flip = replay(trace, tau).first_flip
        if flip is not None:  # "Continue from here" is the run that would have been made
            branch = list(engine.start(problem, router=router, settings=moved, fork=Fork(tuple(events[:flip]))))
            assert list(map(facts, branch)) == list(map(facts, real)) and real[flip].source != events[flip].source
        is_same = [event.token_id for event in real] == recorded
        for name, again in (("", replay(trace, tau)), (" with a probe", replay(trace, tau, probe=probe))):
            n = again.n_exact
            assert [event.token_id for event in real[:n]] == recorded[:n]
            assert tuple(event.source for event in real[:n]) == again.decisions[:n]
            assert tuple(event.llm_tokens_fed for event in real[:n]) == again.llm_tokens_fed[:n]
            if again.is_same_text:
                assert is_same
            if again.doubt == "other" and n < len(real):
                assert real[n].token_id != recorded[n]
            found[f"exact to the end{name}"] += again.is_same_text
        found["truly the same text"] += is_same
        found["moves"] += 1
    return found


@pytest.mark.parametrize(
    ("kind", "router", "temperature"),
    sampled(product(["mc", "math"], ["citer", "bidirectional-entropy", "disagreement"], [0.8, 0.0]), every=9),
)
def test_what_is_called_exact_is_what_a_real_run_writes(
    engine: Engine, kind: str, router: str, temperature: float
) -> None:
    found = moves_of(engine, router, bundled_rows(kind)[0].problem, (0.3, 0.85, 1.0), temperature)
    assert router != "citer" or found["exact to the end"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("temperature", [0.0, 0.8])
@pytest.mark.parametrize("kind", ["math", "mc"])
def test_a_hundred_problems_at_five_taus(engine: Engine, kind: str, temperature: float) -> None:
    """With -s it prints how many moves replay calls exact to the end, beside how many truly are."""
    found: Counter[str] = Counter()
    for number, row in enumerate(bundled_rows(kind)[:100]):
        draw = random.Random(number)
        taus = (0.5, 0.7, 0.85, *(round(draw.random(), 2) for _ in range(2)))
        found += moves_of(engine, "citer", row.problem, taus, temperature)
    print(kind, temperature, dict(found))
    assert found["moves"] == 500
    assert 0 < found["exact to the end"] <= found["exact to the end with a probe"] <= found["truly the same text"]
