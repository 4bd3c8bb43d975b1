"""The arena's arithmetic on numbers that can be told by hand, and its intervals by a plain loop of draws."""

from __future__ import annotations

import numpy as np
import pytest

from citer_core.evidence.arena import LEVELS, N_DRAWS, arena_levels, arena_of, arenas
from citer_core.evidence.regime import COLUMNS, Regime, table_of

N = 40


def right(n):
    """The first n of the problems."""
    return np.arange(N) < n


def line(router, label, gb, passes, **more):
    return {"router": router, "label": label, "gb": gb, "passes": passes, "settings": {}, "n": N, **more}


def made(rows):
    """A regime of (line, right answers of each seed)."""
    table = table_of([dict.fromkeys(COLUMNS) | one for one, _ in rows])
    bits = {("math", k): seeds for k, (_, seeds) in enumerate(rows)}
    return Regime("r", "R", "", "", "", "", "", {"math": table}, bits)


ALONE = [(line("always-slm", "SLM", 1.0, 0.0), [right(10)]), (line("always-llm", "LLM", 10.0, 1.0), [right(30)])]


@pytest.fixture(scope="module")
def arena():
    """SLM 10 and LLM 30 of 40 right; an answer of theirs moves 10% and all of the LLM's bytes."""
    return arena_of(
        made(
            [
                *ALONE,
                (line("citer-2", "C", 2.0, 0.1), [right(14), right(18)]),
                (line("citer-2", "C", 4.0, 0.3), [right(26)]),
                (line("max-probability", "M", 3.0, 0.2), [right(20)]),
                (line("max-probability", "B", 2.0, 0.05, settings={"take_back": 0.1}), [right(22)]),
                (line("disagreement", "O", 2.0, 1.0), [right(40)]),
            ]
        ),
        "math",
    )


def gaps(arena, at, **how):
    return {one.label: round(one.gap, 4) for one in arena.standings(at, **how)}


def test_a_point_stands_as_it_is_and_two_are_mixed(arena):
    assert gaps(arena, 0.2) == {"B": 0.6, "C": 0.3, "M": 0.25}  # C: (16 - 10) / 20, two seeds; M: half way to SLM
    assert gaps(arena, 0.3) == {"B": 0.6, "C": 0.55, "M": 0.5}  # C: half way from 16 to 26
    assert gaps(arena, 0.15) == {"B": 0.3, "C": 0.15, "M": 0.125}
    assert gaps(arena, 0.9) == {"C": 0.8, "B": 0.6, "M": 0.5}
    assert gaps(arena, 0.05, by_passes=True) == {"B": 0.6, "C": 0.15, "M": 0.125}


def test_right_answers_are_those_of_the_mixture(arena):
    """Of 40: B 22; C (14 + 18) / 2; M half way from 10 to 20."""
    assert {one.label: one.right for one in arena.standings(0.2)} == {"B": 22 / N, "C": 16 / N, "M": 15 / N}


def test_the_most_is_first_and_oracles_are_no_contenders(arena):
    assert [one.label for one in arena.standings(0.9)] == ["C", "B", "M"]
    assert list(arena.held_against) == ["C", "M"] and arena.n == N


def test_who_cannot_be_so_cheap_is_left_out():
    dear = arena_of(made([(line("always-slm", "SLM", 5.0, 0.0), [right(10)]), ALONE[1], *[
        (line("citer", "C", 3.0, 0.1), [right(20)]), (line("random", "R", 6.0, 0.1), [right(20)]),
    ]]), "math")  # fmt: skip
    assert gaps(dear, 0.4) == {"C": 0.5}
    assert gaps(dear, 0.55) == {"C": 0.5, "R": 0.25}


DEAR = [
    (line("always-slm", "SLM", 5.0, 0.0), [right(10)]),
    ALONE[1],
    (line("max-probability", "M", 2.8, 0.1), [right(20)]),
    (line("random", "R", 6.0, 0.1), [right(20)]),
]


def test_at_each_cost_a_page_has_the_arenas_own_standing_or_what_a_contender_needs():
    """M, on 28% of the bytes, holds from there on; R is mixed with the SLM, and so cannot be below 50%."""
    (pair,) = arena_levels([made(DEAR)])
    (kind,) = pair["kinds"]
    names = [level["name"] for level in pair["levels"]]
    at = {one["label"]: dict(zip(names, one["at"], strict=True)) for one in kind["contenders"]}
    assert (pair["pair"], pair["title"], pair["level"], kind["kind"], kind["n"]) == ("r", "R", "50", "math", N)
    needs = {one["label"]: (one["needs"], one["is_held"]) for one in kind["contenders"]}
    assert needs == {"M": ([28, 0], True), "R": ([50, 0], False)}
    assert [name for name in names if at["M"][name] is None] == ["10", "15", "20", "25"]
    assert [name for name in names if at["R"][name] is not None][:3] == ["50", "55", "60"]
    assert [at["R"][name][::3] for name in ("50", "55", "60")] == [(0, 0.25), (0.25, 0.375), (0.5, 0.5)]
    assert [at["M"][name][0] for name in ("p5", "p10", "p20")] == [0.25, 0.5, 0.5]  # with the SLM alone below 10%


def test_what_is_stored_is_told_as_the_arena_has_it_at_every_cost(stored):
    known = list(stored.values())
    told = {pair["pair"]: pair for pair in arena_levels(known)}
    for regime in known:
        for one, kind in zip(arenas(regime), told[regime.name]["kinds"] if regime.name in told else (), strict=True):
            assert (kind["kind"], kind["n"]) == (one.kind, one.n)
            assert told[regime.name]["level"] == f"{100 * one.level:.0f}"
            for k, level in enumerate(LEVELS):
                standings = one.standings(level.at, by_passes=level.by_passes)
                own = {s.label: (s.gap, s.low, s.high, s.right) for s in standings}
                assert own.keys() == {of["label"] for of in kind["contenders"] if of["at"][k] is not None}
                for of in kind["contenders"]:
                    assert (of["at"][k] is None) == (round(100 * level.at) < of["needs"][level.by_passes])
                    assert of["at"][k] is None or of["at"][k] == pytest.approx(own[of["label"]], abs=6e-6)
    assert {pair["level"] for pair in told.values()} == {"20", "50"}


def test_intervals_are_those_of_problems_drawn_again(arena):
    """A loop over draws, each its own share of its own gap."""
    generator, shares, differences = np.random.default_rng(5), [], []
    slm, llm, c, b = right(10), right(30), (right(14) * 1.0 + right(18)) / 2, right(22)
    for _ in range(4 * N_DRAWS):
        drawn = generator.integers(0, N, N)
        gap = llm[drawn].sum() - slm[drawn].sum()
        shares.append((c[drawn].sum() - slm[drawn].sum()) / gap)
        differences.append((b[drawn].sum() - c[drawn].sum()) / gap)
    found = {one.label: one for one in arena.standings(0.2)}
    assert (found["C"].low, found["C"].high) == pytest.approx(np.quantile(shares, (0.025, 0.975)), abs=0.02)
    mean, *ends = found["B"].less["C"]
    assert mean == pytest.approx(0.3) and ends == pytest.approx(np.quantile(differences, (0.025, 0.975)), abs=0.03)
    assert found["C"].less.keys() == {"M"}


def test_without_both_models_there_is_no_gap():
    assert arena_of(made([*ALONE[:1], (line("citer", "C", 2.0, 0.1), [right(14)]), ALONE[1]]), "math") is not None
    assert arena_of(made([(line("always-llm", "LLM", 10.0, 1.0), [right(30)])]), "math") is None


def test_what_is_stored_has_all_its_contenders_and_look_back_first(stored):
    own, real = (
        {one.kind: one for one in arenas(regime)} for regime in stored.values() if regime.name != "one-wording"
    )
    assert own.keys() == {"math", "mc"} and real.keys() == {"GSM8K", "CommonsenseQA"}
    for one in own.values():
        assert one.n == 1000 and len(one.by_bytes) >= 20 and len(one.held_against) == 2
        first, *_ = one.standings(one.level)
        assert first.label.startswith("Look-back") and first.low > 0.9
        assert all(low > 0 for _, low, _ in first.less.values())
