"""Step costs, break-even shares and what bounds a step, against numbers worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citer_core.cost import LLAMA31_8B, LLAMA31_70B, QWEN2_1_5B, QWEN2_72B, ModelSpec
from citer_core.errors import SettingError
from citer_core.measuring.step_cost import (
    MAX_BATCH,
    PassTime,
    RoutedCosts,
    StepCost,
    break_even_share_of_bytes,
    fit_step_cost,
    verdict_of,
)

# An SLM of 2 ms a pass, an LLM of 10 ms a pass and 1 ms a token, a router of 0.5 ms.
COSTS = RoutedCosts(StepCost(0.0018, 0.0002, 0.0), StepCost(0.010, 0.001, 0.0), 0.0005)


def test_fit_finds_the_terms_that_made_the_times():
    truth = StepCost(3e-3, 2e-4, 5e-7)
    passes = [PassTime(k, c, truth.seconds(k, c)) for k in (1, 2, 4, 64) for c in (64, 512, 4096)]
    fit = fit_step_cost(passes)
    assert (fit.fixed_s, fit.per_token_s, fit.per_context_s) == pytest.approx((3e-3, 2e-4, 5e-7))
    assert fit.error == pytest.approx(0, abs=1e-9)


def test_fit_gives_no_negative_term():
    """Longer contexts that happened to be measured faster must not become a cost below zero."""
    passes = [PassTime(k, c, 1e-3 + 1e-4 * k - 1e-8 * c) for k in (1, 8, 64) for c in (64, 4096)]
    fit = fit_step_cost(passes)
    assert fit.per_context_s == 0 and fit.fixed_s > 0 and fit.per_token_s > 0


def test_fit_is_about_relative_errors():
    """One pass of 64 tokens that took twice as long moves what one token costs by little."""
    passes = [PassTime(k, 64, 1e-3 + 1e-4 * k) for k in (1, 2, 4, 8, 16, 32)] + [PassTime(64, 64, 2 * 7.4e-3)]
    assert fit_step_cost(passes).seconds(1, 0) == pytest.approx(1.1e-3, rel=0.15)


@pytest.mark.parametrize("passes", [[], [PassTime(1, 0, 1e-3)] * 3])
def test_fit_needs_passes(passes):
    with pytest.raises(SettingError, match="two different numbers of new tokens"):
        fit_step_cost(passes)


def test_routed_time_by_hand():
    """30%: 2 ms SLM + 0.5 ms router + 0.3 * (10 ms + 1 ms * 1/0.3) = 2.5 + 3 + 1 ms; the LLM alone takes 11."""
    assert COSTS.routed_s(0.3, 100) == pytest.approx(6.5e-3)
    assert COSTS.routed_s(0.0, 100) == pytest.approx(2.5e-3)
    assert COSTS.routed_s(1.0, 100) == pytest.approx(13.5e-3)
    assert COSTS.llm_only_s(100) == pytest.approx(11e-3)


def test_break_even_by_hand():
    """2.5 + 10 s + 1 = 11 ms where s = 0.75."""
    assert COSTS.break_even_share(100) == pytest.approx(0.75)


def test_break_even_with_context_and_hand_over_by_hand():
    """Reading 1,000 tokens costs the SLM 1 ms and the LLM 2 ms: 3.5 + s (12 + 0.5) + 1 = 13 ms where s = 0.68."""
    costs = RoutedCosts(StepCost(0.0018, 0.0002, 1e-6), StepCost(0.010, 0.001, 2e-6), 0.0005, 0.003, 0.0005)
    assert costs.break_even_share(1000) == pytest.approx(8.5 / 12.5)


def test_break_even_of_a_batch_by_hand():
    """Two in lockstep, SLM 1.8 + 2 * 0.2, router 0.5: 2.7 = (1 - s)^2 * 10 where s = 1 - sqrt(0.27)."""
    assert COSTS.break_even_share(100, 2) == pytest.approx(1 - 0.27**0.5)
    # 0.3 still pays: 2.7 < 0.7^2 * 10 = 4.9; not so with four: 3.1 > 0.7^4 * 10 = 2.4.
    assert COSTS.largest_batch(0.3, 100) == 2
    assert COSTS.largest_batch(0.9, 100) == 0


def test_a_batch_without_end():
    """Where reading the context is what an LLM step costs, sharing the weights takes nothing from routing."""
    costs = RoutedCosts(StepCost(0.001, 0, 0), StepCost(0.001, 0, 1e-4), 0)
    assert costs.largest_batch(0.5, 1000) == MAX_BATCH


def test_never_worth_it():
    """An SLM that takes as long as the LLM, or an LLM whose time is all arithmetic."""
    same = StepCost(0.010, 0.001, 0.0)
    assert RoutedCosts(same, same, 0.0001).break_even_share(100) == 0
    assert RoutedCosts(COSTS.slm, StepCost(0.0, 0.011, 0.0), 0.0005).break_even_share(100) == 0


def test_free_slm_is_worth_it_up_to_the_end():
    assert RoutedCosts(StepCost(0, 0, 0), StepCost(1, 1, 0), 0.0).break_even_share(0) == 1


cost = st.builds(StepCost, *[st.floats(1e-6, 1e-2) for _ in range(2)], st.floats(0, 1e-6))


@given(slm=cost, llm=cost, router_s=st.floats(0, 1e-3), loop_s=st.floats(0, 1e-3), n_cached=st.integers(0, 4000))
def test_below_the_break_even_routing_is_faster_above_it_slower(slm, llm, router_s, loop_s, n_cached):
    costs = RoutedCosts(slm, llm, router_s, loop_s, 0.0)
    share, alone = costs.break_even_share(n_cached), costs.llm_only_s(n_cached)
    if 0 < share < 1:
        assert costs.routed_s(share, n_cached) == pytest.approx(alone)
        assert costs.routed_s(share * 0.99, n_cached) < alone < costs.routed_s(min(1, share * 1.01), n_cached)
    elif share == 0:
        assert costs.routed_s(1e-9, n_cached) >= alone * (1 - 1e-6) or slm.seconds() + router_s >= llm.fixed_s


def test_bytes_by_hand():
    """SLM 1,000 weights and 2 * 1 * 1 * 1 = 2 numbers a token, LLM 10,000 and 20, router 50 numbers, 1 byte each.

    Over 10 tokens: 1 - (1000 + 20 + 50) / (10000 + 200).
    """
    slm = ModelSpec("s", 1000, 1, 1, 1, 1, 0, 0, True, 1)
    llm = ModelSpec("l", 10_000, 10, 1, 1, 1, 0, 0, True, 1)
    assert break_even_share_of_bytes(slm, llm, 50, 10) == pytest.approx(1 - 1070 / 10_200)
    assert break_even_share_of_bytes(llm, slm, 50, 10) == 0


@pytest.mark.parametrize(("slm", "llm", "share"), [(QWEN2_1_5B, QWEN2_72B, 0.979), (LLAMA31_8B, LLAMA31_70B, 0.892)])
def test_bytes_of_published_pairs(slm, llm, share):
    """Qwen2 at 200 tokens: 3.093 of 143.0 GB; at 100% routing costs 2.1% more, which is what is left here."""
    assert break_even_share_of_bytes(slm, llm, 0, 200) == pytest.approx(share, abs=1e-3)


@pytest.mark.parametrize(
    ("cost", "bound"),
    [
        (StepCost(0.001, 0.0001, 0), "memory"),  # 1.1 ms for 1 MB at 1 GB/s: 91%
        (StepCost(0.010, 0.0001, 0), "overhead"),  # the same bytes in 10 ms
        (StepCost(0.0001, 0.001, 0), "compute"),  # nearly all of it once more for each token
    ],
)
def test_bound(cost, bound):
    verdict = verdict_of(cost, 0, n_bytes=1e6, flops=1e6, bandwidth=1e9, peak=1e10)
    assert verdict.bound == bound and "%" in verdict.reason
    assert verdict.bandwidth_share == pytest.approx(1e-3 / cost.seconds())
    assert verdict.compute_share == pytest.approx(1e-4 / cost.seconds())
    assert verdict.growth == pytest.approx(cost.per_token_s / cost.seconds())
