"""The browser replays and prices runs as Python does: branches, swapped tokens, sampled runs, probes, every router."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from citer_core.assets import ASSETS
from citer_core.cost import H100_SXM
from citer_core.engine import Engine
from citer_core.fork import Fork
from citer_core.replay import replay
from citer_core.tasks.datasets import bundled_rows
from citer_core.trace import ParentInfo, RoutingTrace
from citer_core.types import DecodeSettings
from tests.fakes import PAIR
from tests.sampling import few_or_all
from tests.traces import random_trace

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = "tests/viewer/replay_all.mjs"
TAUS = (0.0, 0.25, 0.5, 0.6999, 0.93, 1.0)
KINDS = ("citer", "bidirectional-entropy", "disagreement", "random")  # that differ in what replay can know of them
Probe = list[dict[str, Any]] | None


def runs_of(engine: Engine, router: str, seed: int) -> Iterator[tuple[RoutingTrace, Probe]]:
    """A greedy run, a sampled one, and of each a branch with a flip and one with a swapped token; some are probed."""
    chance = random.Random(f"{router} {seed}")
    row = chance.choice(bundled_rows(chance.choice(["math", "mc"])))
    for temperature in (0.0, 0.8):
        tau = chance.choice([0.4, 0.7, 0.93])
        settings = DecodeSettings(threshold=tau, max_new_tokens=10, temperature=temperature, seed=seed)
        parent = engine.start(row.problem, router=router, settings=settings)
        events = list(parent)
        at = chance.randrange(len(events))
        other = "slm" if events[at].source == "llm" else "llm"
        swapped = chance.choice(events[at].slm_top).token_id
        info = ParentInfo(parent.trace().key, at)
        runs = [parent]
        for fork in (Fork(tuple(events[:at]), other), Fork(tuple(events[:at]), events[at].source, swapped)):
            branch = engine.start(row.problem, router=router, settings=settings, fork=fork, parent=info)
            list(branch)
            runs.append(branch)
        for run in runs:
            trace = run.trace()
            ids = [event.token_id for event in trace.events]
            is_probed = chance.random() < 0.5
            yield trace, [token.to_dict() for token in engine.probe(row.problem, ids)] if is_probed else None


@pytest.fixture(scope="module", params=few_or_all("few", "all"))
def runs(request: pytest.FixtureRequest, engine: Engine) -> list[tuple[RoutingTrace, Probe]]:
    """Scripted ones, such as are made here with routers of the pair, and recorded ones."""
    is_whole = request.param == "all"
    found: list[tuple[RoutingTrace, Probe]] = [(random_trace(seed), None) for seed in range(100 if is_whole else 20)]
    for name in engine.router_names if is_whole else KINDS:
        for seed in range(2 if is_whole else 1):
            found += runs_of(engine, name, seed)
    recorded = sorted(path for path in (ASSETS / "traces").glob("*.json") if path.name != "index.json")
    found += [
        (RoutingTrace.from_json(path.read_text(encoding="utf-8")), None) for path in recorded[:: 1 if is_whole else 6]
    ]
    return found


def test_at_its_own_tau_every_run_costs_what_it_cost(runs: list[tuple[RoutingTrace, Probe]]) -> None:
    real = [(trace, probe) for trace, probe in runs if trace.pair.revision != PAIR.revision]
    assert {trace.router.name for trace, _ in real} >= {*KINDS} and len(real) > 6 * len(KINDS)
    for trace, probe in real:
        again = replay(trace, trace.settings.threshold, probe=probe)
        assert again.cost == trace.cost(H100_SXM), trace.router.name
        assert again.llm_tokens_fed == tuple(event.llm_tokens_fed for event in trace.events)
        assert again.flips == () and again.is_same_text


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not here")
def test_the_browser_says_the_same_of_many_runs(runs: list[tuple[RoutingTrace, Probe]]) -> None:
    assert sum(probe is not None for _, probe in runs) > 5
    assert sum(trace.parent is not None for trace, _ in runs) > 10
    device = {"name": H100_SXM.name, "bandwidth": H100_SXM.bandwidth, "peak_flops": H100_SXM.peak_flops}
    documents = [{"trace": trace.to_dict(), "probe": probe} for trace, probe in runs]
    asked = json.dumps({"taus": TAUS, "device": device, "runs": documents})
    done = subprocess.run(["node", SCRIPT], input=asked, cwd=ROOT, capture_output=True, text=True, check=True)
    seen = set()
    for (trace, probe), answers in zip(runs, json.loads(done.stdout), strict=True):
        for tau, answer in zip((trace.settings.threshold, *TAUS), answers, strict=True):
            ours = replay(trace, tau, probe=probe).to_dict()
            ours.pop("threshold")
            assert ours == answer, f"{trace.router.name}, tau {tau}"
            seen.add(ours["doubt"])
    assert seen == {None, "other", "unknown", "confidence"}
