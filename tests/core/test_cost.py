"""Costs against numbers worked out by hand, and their sums."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citer_core.cost import (
    H100_SXM,
    LLAMA31_8B,
    LLAMA31_70B,
    QWEN2_1_5B,
    QWEN2_72B,
    Cost,
    CostModel,
    CostSummary,
    DeviceSpec,
    ModelSpec,
)
from citer_core.types import TokenEvent

SLM = ModelSpec("s", 1000, 2, 4, 2, 8, 10, 16, True, 2)
LLM = ModelSpec("l", 50_000, 3, 8, 2, 16, 10, 100, False, 2)
SLOW = DeviceSpec("slow", bandwidth=1000.0, peak_flops=1e12)


def event(index, context_len, slm_fed, llm_fed):
    return TokenEvent(index, 1, "x", "llm" if llm_fed else "slm", 1, 0.5, 0.5, slm_fed, llm_fed, context_len, 0, 0, 0)


def test_one_forward_by_hand():
    assert SLM.weight_bytes == 2000  # tied: every parameter is streamed
    assert LLM.weight_bytes == 2 * (50_000 - 10 * 100)  # untied: the input table is gathered from
    assert SLM.kv_bytes_per_token == 2 * 2 * 2 * 8 * 2 == 128
    assert SLM.forward_bytes(3, 7) == 2000 + 128 * 7 + 128 * 3
    assert SLM.forward_flops(3, 7) == 2 * 1000 * 3 + 4 * 2 * 4 * 8 * 3 * (7 + 1.5)


def test_one_step_by_hand():
    model = CostModel(SLM, LLM, SLOW, router_params=25)
    cost = model.step(event(index=4, context_len=14, slm_fed=1, llm_fed=5))
    slm, llm, router = 2000 + 128 * 14, 98_000 + LLM.kv_bytes_per_token * 14, 100
    assert cost.n_bytes == slm + router + llm
    assert cost.flops == SLM.forward_flops(1, 13) + 50 + LLM.forward_flops(5, 9)
    assert cost.seconds == pytest.approx(cost.n_bytes / 1000)  # this device is bound by memory everywhere
    alone = model.step(event(index=4, context_len=14, slm_fed=1, llm_fed=0))
    assert alone.n_bytes == slm + router


def test_compute_bound_forward_takes_its_flops():
    device = DeviceSpec("fast memory", bandwidth=1e18, peak_flops=1e6)
    cost = CostModel(SLM, LLM, device).model_forward(SLM, 3, 7)
    assert cost.seconds == pytest.approx(SLM.forward_flops(3, 7) / 1e6)


@pytest.mark.parametrize(
    ("spec", "gigabytes", "kv_bytes"),
    [
        (QWEN2_1_5B, 3.09, 28_672),
        (LLAMA31_8B, 15.0, 131_072),
        (LLAMA31_70B, 139.0, 327_680),
        (QWEN2_72B, 142.9, 327_680),
    ],
)
def test_reference_models(spec, gigabytes, kv_bytes):
    """The published sizes; the untied three less one embedding table, which is gathered from."""
    assert spec.weight_bytes / 1e9 == pytest.approx(gigabytes, rel=2e-3)
    assert spec.kv_bytes_per_token == kv_bytes


@pytest.mark.parametrize(("llm_every", "share"), [(10, 0.121), (10 / 3, 0.321), (1, 1.021)])
def test_paper_pair_at_context_200(llm_every, share):
    """Share of LLM-only bytes at 10, 30 and 100% LLM tokens; at tau = 1 routing costs more than not routing."""
    model = CostModel(QWEN2_1_5B, QWEN2_72B, H100_SXM)
    slm = model.model_forward(QWEN2_1_5B, 1, 199)
    llm = model.model_forward(QWEN2_72B, 1, 199)
    assert (slm.n_bytes + llm.n_bytes / llm_every) / llm.n_bytes == pytest.approx(share, abs=2e-3)


def test_nothing_fed_costs_nothing():
    assert CostModel(SLM, LLM, SLOW).model_forward(LLM, 0, 50) == Cost()
    assert CostSummary.of(CostModel(SLM, LLM, SLOW), []).bytes_share_of_llm_only == 0.0


@given(st.lists(st.booleans(), min_size=1, max_size=40), st.integers(1, 60))
def test_summary_is_the_sum_of_steps_and_llm_only_is_a_run_by_itself(writers, n_prompt):
    model = CostModel(SLM, LLM, H100_SXM, router_params=7)
    events, llm_cached = [], 0
    for i, by_llm in enumerate(writers):
        context = n_prompt + i
        fed = context - llm_cached if by_llm else 0
        llm_cached = context if by_llm else llm_cached
        events.append(event(i, context, n_prompt if i == 0 else 1, fed))
    summary = CostSummary.of(model, events)
    assert summary.routed.n_bytes == sum(model.step(e).n_bytes for e in events)
    assert summary.llm_only.flops == pytest.approx(
        LLM.forward_flops(n_prompt, 0) + sum(LLM.forward_flops(1, n_prompt + i - 1) for i in range(1, len(writers)))
    )
    if all(writers):
        assert summary.routed.n_bytes > summary.llm_only.n_bytes  # the SLM and the router come on top
