"""`Workload` against the cost of every event, added up one by one."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citer_core.cost import H100_SXM, LLAMA31_8B, LLAMA31_70B, QWEN2_1_5B, QWEN2_72B, Cost, CostModel
from citer_core.errors import GateError
from citer_core.models.presets import PRESETS
from citer_core.types import TokenEvent
from citer_core.workload import Workload

CODER = PRESETS["qwen2.5-coder-0.5b-1.5b"]
PAIRS = [(QWEN2_1_5B, QWEN2_72B, 9_000_000), (LLAMA31_8B, LLAMA31_70B, 0), (CODER.slm.spec, CODER.llm.spec, 7)]


def run_of(n_prompt, pattern):
    """Events of one run in which L marks the LLM's tokens."""
    events, n_llm = [], 0
    for index, writer in enumerate(pattern):
        length = n_prompt + index
        fed = length - n_llm if writer == "L" else 0
        n_llm = length if writer == "L" else n_llm
        events.append(
            TokenEvent(
                index=index, token_id=1, text="x", source="llm" if fed else "slm", slm_token_id=1, slm_confidence=0.5,
                threshold=0.5, slm_s=0.0, router_s=0.0, llm_s=0.0, context_len=length,
                slm_tokens_fed=n_prompt if index == 0 else 1, llm_tokens_fed=fed,
            )
        )  # fmt: skip
    return events


@given(runs=st.lists(st.tuples(st.integers(1, 600), st.text("SL", min_size=1, max_size=40)), min_size=1, max_size=4))
def test_a_workload_costs_what_its_steps_cost(runs):
    total = Workload()
    for n_prompt, pattern in runs:
        total += Workload.of(run_of(n_prompt, pattern))
    assert total.n_tokens == sum(len(pattern) for _, pattern in runs)
    for slm, llm, n_params in PAIRS:
        model = CostModel(slm, llm, H100_SXM, n_params)
        routed, alone = Cost(), Cost()
        for run in runs:
            for event in run_of(*run):
                routed += model.step(event)
                alone += model.alone(llm, event)
        price = total.price(slm, llm, n_params)
        assert price.n_bytes == pytest.approx(routed.n_bytes, rel=1e-12)
        assert price.flops == pytest.approx(routed.flops, rel=1e-12)
        assert price.llm_only_bytes == pytest.approx(alone.n_bytes, rel=1e-12)


def test_it_survives_json_and_refuses_what_is_none():
    workload = Workload.of(run_of(50, "SSLSL"))
    document = json.loads(json.dumps(workload.to_dict()))
    assert Workload.read(document) == workload
    for broken in (None, {}, document | {"n_tokens": -1}, document | {"slm": {"n_passes": "many"}}):
        with pytest.raises(GateError, match="workload"):
            Workload.read(broken)
