"""Replaying a run at another tau, and that the browser does the same."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from citer_core.assets import ASSETS
from citer_core.cost import H100_SXM, CostModel, CostSummary
from citer_core.errors import SettingError
from citer_core.replay import replay
from citer_core.trace import RoutingTrace
from tests.traces import made_trace, random_trace

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = "tests/viewer/replay_all.mjs"
TAUS = (0.0, 0.25, 0.5, 0.6999, 0.7, 0.95, 1.0)
N_TRACES = 50


def test_at_its_own_tau_a_run_is_what_it_was() -> None:
    trace = made_trace(threshold=0.65)
    again = replay(trace, 0.65)
    assert again.first_flip is None and again.n_llm_tokens == trace.n_llm_tokens
    assert again.llm_tokens_fed == tuple(event.llm_tokens_fed for event in trace.events)
    assert again.cost == trace.cost(H100_SXM)


def test_at_another_tau_it_is_the_run_made_there_on_the_same_confidences() -> None:
    confidences = (0.9, 0.2, 0.6, 0.7)
    again = replay(made_trace(threshold=0.3, confidences=confidences), 0.65).to_dict()
    made = made_trace(threshold=0.65, confidences=confidences)
    assert again["decisions"] == [event.source for event in made.events]
    assert again["llm_tokens_fed"] == [event.llm_tokens_fed for event in made.events]
    assert again["first_flip"] == 2 and again["n_hand_offs"] == made.n_hand_offs
    model = CostModel(made.pair.slm, made.pair.llm, H100_SXM, made.router.n_params)
    assert again["cost"]["routed"]["bytes"] == CostSummary.of(model, made.events).routed.n_bytes


@pytest.mark.parametrize("tau", [-0.1, 1.1, float("nan"), "0.5", True, None])
def test_a_tau_that_is_none_is_named(tau: Any) -> None:
    with pytest.raises(SettingError, match="from 0 to 1"):
        replay(made_trace(), tau)


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not here")
def test_the_browser_replays_and_prices_fifty_different_runs_the_same() -> None:
    traces = [random_trace(seed) for seed in range(N_TRACES)]
    assert len({trace.key for trace in traces}) == N_TRACES
    assert sum(trace.n_tokens > 1 for trace in traces) > 40
    # And what real models and routers made.
    recorded = [path for path in (ASSETS / "traces").glob("*.json") if path.name != "index.json"]
    traces += [RoutingTrace.from_json(path.read_text(encoding="utf-8")) for path in recorded]
    assert len(traces) > N_TRACES
    device = {"name": H100_SXM.name, "bandwidth": H100_SXM.bandwidth, "peak_flops": H100_SXM.peak_flops}
    asked = json.dumps({"taus": TAUS, "device": device, "traces": [trace.to_dict() for trace in traces]})
    done = subprocess.run(["node", SCRIPT], input=asked, cwd=ROOT, capture_output=True, text=True, check=True)
    theirs = json.loads(done.stdout)
    for trace, answers in zip(traces, theirs, strict=True):
        for tau, answer in zip(TAUS, answers, strict=True):
            ours = replay(trace, tau).to_dict()
            ours.pop("threshold")
            assert ours == answer, f"tau {tau}"
