"""The queueing formulas by hand, and against a small simulation of the server that they describe."""

from __future__ import annotations

import json
import math
import random

import pytest

from citer_core.assets import ASSETS
from citer_core.cli.load import deployment_row
from citer_core.cli.main import main
from citer_core.errors import SettingError
from citer_core.measuring.capacity import BatchServer, Demand, llm_only_deployment, routed_deployment
from citer_core.measuring.profile_numbers import read_profile
from citer_core.measuring.step_cost import RoutedCosts, StepCost

COSTS = RoutedCosts(StepCost(0.002, 0.0001, 0.0), StepCost(0.020, 0.0005, 0.0), 0.0005)


def simulate(server, n_jobs=20_000, seed=1):
    """Latencies of a server that takes all that wait, up to its batch, event by event."""
    draw, now, free_at, latencies = random.Random(seed), 0.0, 0.0, []
    arrivals = []
    for _ in range(n_jobs):
        now += draw.expovariate(server.jobs_per_s)
        arrivals.append(now)
    first = 0
    while first < n_jobs:
        start = max(free_at, arrivals[first])
        last = first
        while last < n_jobs and arrivals[last] <= start and last - first < server.max_batch:
            last += 1
        free_at = start + server.fixed_s + (last - first) * server.per_job_s
        latencies += [free_at - arrival for arrival in arrivals[first:last]]
        first = last
    return sorted(latencies[n_jobs // 10 :])


@pytest.mark.parametrize("rate", [2, 40, 400, 1600])
def test_against_a_simulation(rate):
    """20 ms and 0.5 ms a job: from idle to 80% of what it can do at most. Within a quarter everywhere."""
    server = BatchServer(0.020, 0.0005, rate)
    latencies = simulate(server)
    assert server.mean_latency_s == pytest.approx(sum(latencies) / len(latencies), rel=0.25)
    assert server.latency_s(0.95) == pytest.approx(latencies[int(0.95 * len(latencies))], rel=0.25)


def test_batch_server_by_hand():
    """1,000 a second at 20 ms + 0.5 ms each: t = 0.02 / (1 - 0.5) = 40 ms with 40 jobs; p95 after 1.95 passes."""
    server = BatchServer(0.020, 0.0005, 1000)
    assert (server.pass_s, server.batch, server.busy) == (pytest.approx(0.04), pytest.approx(40), 1)
    assert server.latency_s(0.95) == pytest.approx(0.078) and server.mean_latency_s == pytest.approx(0.06)


def test_too_much_is_infinite():
    assert math.isinf(BatchServer(0.020, 0.0005, 2000).pass_s)
    assert math.isinf(BatchServer(0.020, 0.0005, 1000, max_batch=39).latency_s(0.95))


def test_idle_server_takes_one_pass():
    server = BatchServer(0.020, 0.0005, 1e-6)
    assert server.latency_s(0.95) == server.pass_s == pytest.approx(0.0205)


def test_deployment_by_hand():
    """100 users at 20 tokens/s, 10% by the LLM: a call feeds 10 tokens, 5 ms; one LLM does 200 calls a second at most.

    With two: t = 20 / (1 - 0.5) = 40 ms, mean latency 60 ms, a tenth of it 6 ms; the SLM has 44 ms for its part.
    """
    demand = Demand(100, 20, 0.1)
    found = routed_deployment(COSTS, demand)
    assert (found.slm_replicas, found.llm_gpus) == (1, 2)
    slm = BatchServer(0.0025, 0.0001, 2000)
    assert found.token_s == pytest.approx(slm.mean_latency_s + 0.1 * 0.060)
    assert found.p95_s == pytest.approx(slm.mean_latency_s + BatchServer(0.020, 0.005, 100).latency_s(0.5))
    assert found.llm_batch == pytest.approx(4)


def test_a_device_less_would_not_do():
    for users in (1, 10, 100, 1000):
        demand = Demand(users, 15, 0.2)
        assert routed_deployment(COSTS, demand).token_s <= 1 / 15
        assert llm_only_deployment(COSTS, demand).token_s <= 1 / 15


def test_llm_alone_by_hand():
    """2,000 tokens a second at 0.5 ms: one device is at its end, two have 20 / (1 - 0.5) = 40 ms, mean 60 > 50; three
    have 20 / (1 - 1/3) = 30 ms, mean 45.
    """
    found = llm_only_deployment(COSTS, Demand(100, 20, 0.1))
    assert (found.slm_replicas, found.llm_gpus) == (0, 3)
    assert found.token_s == pytest.approx(0.045) and found.p95_s == pytest.approx(0.0585)


@pytest.mark.parametrize(("change", "words"), [({"users": 0}, "users is 0"), ({"llm_share": 1.5}, "up to 1")])
def test_bad_demands(change, words):
    with pytest.raises(SettingError, match=words):
        Demand(**({"users": 1, "tokens_per_s": 1.0, "llm_share": 0.2} | change))


def test_a_speed_that_no_number_of_devices_gives():
    with pytest.raises(SettingError, match=r"Ask for at most 2\d\d\.\d tokens/s"):
        routed_deployment(COSTS, Demand(1, 5000, 0.05))


def test_command_line(capsys, tmp_path):
    assert main(["capacity", "--users", "50", "--tokens-per-s", "10", "--llm-share", "0.2", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["routed"]["llm_gpus"] >= 1 and result["llm_only"]["slm_replicas"] == 0
    assert main(["capacity", "--users", "50", "--tokens-per-s", "10", "--llm-share", "0.2"]) == 0
    text = capsys.readouterr().out
    assert "estimate" in text and "scaling.md" in text
    assert main(["capacity", "--users", "5", "--profile", str(tmp_path / "none.json")]) == 2
    assert "cannot be read as a profile" in capsys.readouterr().err


def test_chapter_says_what_the_formulas_say():
    """The example in assets/learn/scaling.md, row by row, from the recorded profile."""
    chapter = (ASSETS / "learn" / "scaling.md").read_text(encoding="utf-8")
    costs = read_profile(ASSETS / "benchmarks" / "profile.json").costs
    for share in (0.1, 0.2, 0.4):
        cells = deployment_row(f"routed, {share:.0%} LLM", routed_deployment(costs, Demand(1000, 20, share)))
        assert f"| {' | '.join(cells)} |" in chapter
    assert f"| {' | '.join(deployment_row('LLM alone', llm_only_deployment(costs, Demand(1000, 20, 1))))} |" in chapter
    assert "Not measured: GPUs" in chapter
