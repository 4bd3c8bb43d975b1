"""Operating points and the search for a tau, against single runs and by hand."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from citer_core.cost import H100_SXM
from citer_core.engine import Engine
from citer_core.evaluation import run_book
from citer_core.evaluation.accuracy import (
    Accuracy,
    right_alone,
    search_threshold,
)
from citer_core.evaluation.run_book import RunBook, operating_points, point_of, threshold_for
from citer_core.routing.routers import training_free_routers
from citer_core.routing.routers.citer import CiterRouter
from citer_core.tasks.datasets import bundled_rows
from citer_core.tasks.problem_set import ProblemSet
from citer_core.tasks.problems import problem_from_text
from citer_core.types import DecodeSettings
from tests.core.examples import verdict
from tests.sampling import sampled

PROBLEMS = [problem_from_text(f"What is {n} plus {n}?" + " please" * n, "math", str(2 * n)) for n in range(5)]
ASKED = ProblemSet("sums", "math", tuple(PROBLEMS))
LIMITS = {"max_new_tokens": 40, "batch_size": 2}


@pytest.fixture
def engine(tiny_pair, monkeypatch):
    monkeypatch.setattr("citer_core.run.check_answer", verdict)
    return Engine(tiny_pair, training_free_routers())


def test_a_point_adds_up_what_single_runs_say(engine):
    thresholds = [0.0, 0.4, 1.0]
    points = list(operating_points(engine, PROBLEMS, "random", thresholds, max_new_tokens=20, batch_size=2))
    assert [point.threshold for point in points] == thresholds
    for point in points:
        traces = []
        for problem in PROBLEMS:
            run = engine.start(problem, router="random", settings=DecodeSettings(point.threshold, 20))
            for _ in run:
                pass
            traces.append(run.trace())
        costs = [trace.cost(H100_SXM) for trace in traces]
        assert point.right == tuple(trace.answer.is_correct for trace in traces)
        assert point.accuracy == Accuracy(5, sum(point.right))
        assert point.n_tokens == sum(trace.n_tokens for trace in traces)
        assert point.llm_token_share == sum(t.n_llm_tokens for t in traces) / point.n_tokens
        assert point.n_bytes == pytest.approx(sum(cost.routed.n_bytes for cost in costs))
        assert point.flops == pytest.approx(sum(cost.routed.flops for cost in costs))
        assert point.bytes_share == pytest.approx(point.n_bytes / sum(cost.llm_only.n_bytes for cost in costs))
        assert point.measured_s > 0
    assert (points[0].llm_token_share, points[2].llm_token_share) == (0.0, 1.0)
    assert points[0].bytes_share < points[1].bytes_share < points[2].bytes_share and points[2].bytes_share > 1.0


@pytest.mark.parametrize("which", sampled(["slm", "llm"], 2))
def test_a_model_alone_is_as_right_as_the_end_of_tau(bundled, which):
    """Through `generate` and through the decode loop: two ways to one number, under one limit of tokens."""
    problems = [row.problem for kind in ("math", "mc") for row in bundled_rows(kind)[:6]]
    alone = Accuracy.of(right_alone(getattr(bundled.pair, which), bundled.pair, problems, max_new_tokens=60))
    threshold = {"slm": 0.0, "llm": 1.0}[which]
    (point,) = operating_points(bundled, problems, "max-probability", [threshold], max_new_tokens=60)
    assert point.accuracy == alone and 0 < alone.n_correct < 12


@pytest.mark.parametrize("share", [0.0, 0.35, 1.0])
def test_tau_is_found_where_the_share_is(share):
    """A router that gives the LLM tau squared of the tokens, so that tau should be the root of the share."""
    asked = []

    def squared(tau):
        asked.append(tau)
        return tau * tau

    tau = search_threshold(squared, share, 0.5)
    assert tau * tau == pytest.approx(share, abs=0.01)
    assert len(asked) <= 12 and (asked == []) == (share in (0.0, 1.0))  # the ends are known without decoding


def test_a_router_of_two_scores_gets_the_nearest_share_it_has():
    assert search_threshold(lambda tau: 0.1 if tau < 0.7 else 0.6, 0.5, 0.5) >= 0.7
    assert search_threshold(lambda tau: 0.1 if tau < 0.7 else 0.6, 0.2, 0.5) < 0.7


def test_a_trained_router_is_first_asked_where_its_card_says(tiny_pair, tmp_path, monkeypatch):
    torch.manual_seed(0)
    training = {"confidence_quantiles": [0.0, 0.62, 0.64, 0.66, 1.0]}
    card = {"name": "c", "label": "C", "hidden_size": tiny_pair.hidden_size, "training": training}
    engine = Engine(tiny_pair, {"c": CiterRouter(CiterRouter.build(tiny_pair.hidden_size), card)})
    asked = []
    monkeypatch.setattr(RunBook, "runs", lambda book, router, tuning, tau: asked.append(tau) or [])
    monkeypatch.setattr(run_book, "share_of", lambda runs: 0.5)
    with RunBook(engine, tmp_path / "runs.jsonl", **LIMITS) as book:
        assert threshold_for(book, "c", ASKED, 0.5) == 0.64 and asked == [0.64]


def test_tau_is_found_by_decoding(engine, tmp_path):
    with RunBook(engine, tmp_path / "runs.jsonl", **LIMITS) as book:
        tau = threshold_for(book, "random", ASKED, 0.3, tolerance=0.03)
    (point,) = operating_points(engine, PROBLEMS, "random", [tau], max_new_tokens=40)
    assert point.llm_token_share == pytest.approx(0.3, abs=0.03)


@pytest.mark.parametrize("shares_texts", sampled([True, False], 2))
def test_a_point_of_kept_runs_is_the_point(engine, tmp_path, shares_texts):
    with RunBook(engine, tmp_path / "runs.jsonl", **LIMITS, shares_texts=shares_texts) as book:
        for tau in (0.0, 0.4, 1.0):
            (point,) = operating_points(engine, PROBLEMS, "random", [tau], max_new_tokens=40)
            ours = point_of(book.engine, "random", tau, book.runs("random", ASKED, tau))
            assert ours.measured_s > 0
            assert (ours.n_bytes, ours.flops) == pytest.approx((point.n_bytes, point.flops), rel=1e-12)
            assert ours.bytes_share == pytest.approx(point.bytes_share, rel=1e-12)
            same = dict.fromkeys(("measured_s", "n_bytes", "flops", "bytes_share"), 0.0)
            assert dataclasses.replace(ours, **same) == dataclasses.replace(point, **same)
