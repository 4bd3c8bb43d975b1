"""What replay calls exact is exact: problems generated again at other taus, token by token."""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections import Counter

import pytest

from citer_core.engine import Engine
from citer_core.replay import replay
from citer_core.tasks.datasets import bundled_rows
from citer_core.tasks.problems import Problem
from citer_core.types import DecodeSettings
from tests.sampling import few_or_all, sampled

RECORDED_AT = 0.93


def moves_of(
    engine: Engine, router: str, problem: Problem, taus: tuple[float, ...], temperature: float
) -> Counter[str]:
    """Each move of tau, generated for real beside what replay says of it; asserts that nothing exact is wrong."""
    settings = DecodeSettings(threshold=RECORDED_AT, max_new_tokens=256, temperature=temperature, seed=11)
    run = engine.start(problem, router=router, settings=settings)
    recorded = [event.token_id for event in run]
    trace = run.trace()
    probe = [token.to_dict() for token in engine.probe(problem, recorded)]
    found: Counter[str] = Counter()
    for tau in taus:
        real = list(engine.start(problem, router=router, settings=dataclasses.replace(settings, threshold=tau)))
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


@pytest.mark.parametrize("n_each", few_or_all(1, 2))
@pytest.mark.parametrize(
    ("router", "temperature"),
    sampled(itertools.product(["citer", "bidirectional-entropy", "disagreement"], [0.8, 0.0]), every=3),
)
def test_what_is_called_exact_is_what_a_real_run_writes(
    engine: Engine, router: str, temperature: float, n_each: int
) -> None:
    found: Counter[str] = Counter()
    for kind in ("math", "mc"):
        for row in bundled_rows(kind)[:n_each]:
            found += moves_of(engine, router, row.problem, (0.3, 0.85, 1.0), temperature)
    if router == "citer":
        assert found["exact to the end"] > 0


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
