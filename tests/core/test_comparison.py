"""Comparisons: every column is what a single run writes; what is kept, done again and refused; what is stored."""

from __future__ import annotations

import dataclasses
import json

import pytest

from citer_core.assets import ASSETS
from citer_core.comparison import COMPARISONS, Comparison, compare, record_comparisons
from citer_core.cost import H100_SXM
from citer_core.engine import Engine
from citer_core.errors import TraceError
from citer_core.models.presets import parse_pair
from citer_core.recording import RecordingPlan, read_plans
from citer_core.routing.routers.training_free import EntropyRouter, MaxProbabilityRouter
from citer_core.speculation import Drafting
from citer_core.tasks.problems import problem_from_text
from citer_core.types import DecodeSettings, writer_alone
from tests.sampling import sampled

PLANS = [
    RecordingPlan("a.json", "A", "first", "math", "1 + 1?", "2"),
    RecordingPlan("b.json", "B", "second", "open", "Once", settings={"max_new_tokens": 3}),
]
LOOKS = {"threshold": 0.0, "doubt_budget": 2.0, "take_back": 0.9}
ROUTERS = [("max-probability", {"threshold": 0.7}), ("entropy", {"threshold": 0.4}), ("max-probability", LOOKS)]
FOLDER = ASSETS / "comparisons"
STORED = {entry["file"]: entry for entry in COMPARISONS.read(FOLDER)}


@pytest.fixture
def engine(tiny_pair):
    return Engine(tiny_pair, {"max-probability": MaxProbabilityRouter(), "entropy": EntropyRouter()})


def recorded(engine, folder, plans=PLANS, **options):
    how = {"routers": ROUTERS, "max_new_tokens": 12, "drafting": Drafting(4, 0.0)} | options
    return {plan.file: comparison for plan, comparison in record_comparisons(engine, plans, folder, **how)}


def tokens_of(run):
    return [(event.token_id, event.source, event.text) for event in run.events]


def single(engine, problem, router, settings):
    run = engine.start(problem, router=router, settings=settings)
    for _ in run:
        pass
    return run.trace()


def test_each_column_is_what_a_single_run_writes(engine):
    problem = problem_from_text("1 + 1?", "math", "2")
    runs, speculative = compare(engine, problem, ROUTERS, max_new_tokens=30)
    asked = [("max-probability", {"threshold": 0.0}), *ROUTERS, ("max-probability", {"threshold": 1.0})]
    for run, (router, own) in zip(runs, asked, strict=True):
        settings = DecodeSettings(**own, max_new_tokens=30)
        assert (run.router.name, run.settings) == (router, settings)
        assert tokens_of(run) == tokens_of(single(engine, problem, router, settings))
    assert runs[3].n_discarded > 0 == sum(run.n_discarded for run in runs) - runs[3].n_discarded
    assert {event.source for event in runs[0].events} == {"slm"}
    assert {event.source for event in runs[-1].events} == {"llm"}
    assert list(speculative.token_ids) == [event.token_id for event in runs[-1].events]


def test_what_is_written_comes_back(engine, tmp_path):
    made = recorded(engine, tmp_path)
    assert [entry["file"] for entry in COMPARISONS.read(tmp_path)] == list(made)
    for file, comparison in made.items():
        back = Comparison.read(tmp_path / file)
        assert list(map(tokens_of, back.runs)) == list(map(tokens_of, comparison.runs))
        assert [run.n_discarded for run in back.runs] == [run.n_discarded for run in comparison.runs]
        assert back.speculative == comparison.speculative
        assert not any(event.slm_top or event.llm_top for run in back.runs for event in run.events)
    assert len(made["b.json"].runs[0].events) <= 3  # a plan's own limit


def test_what_is_there_is_left_alone_and_what_changed_is_not(engine, tmp_path, monkeypatch):
    recorded(engine, tmp_path)
    started = []
    start = engine.start
    monkeypatch.setattr(
        engine, "start", lambda problem, **how: started.append(problem.question) or start(problem, **how)
    )
    recorded(engine, tmp_path)
    assert started == []
    recorded(engine, tmp_path, [PLANS[0], dataclasses.replace(PLANS[1], question="Twice")])
    assert set(started) == {"Twice"}
    other = [*ROUTERS[:2], (ROUTERS[2][0], LOOKS | {"take_back": 0.8})]
    for change in ({"routers": other}, {"drafting": Drafting(5, 0.0)}, {"max_new_tokens": 11}):
        started.clear()
        recorded(engine, tmp_path, PLANS[:1], **change)
        assert set(started) == {"1 + 1?"}
    assert sorted(path.name for path in tmp_path.glob("*.json")) == ["a.json", "index.json"]
    (tmp_path / "a.json").write_text("{", encoding="utf-8")  # torn
    started.clear()
    recorded(engine, tmp_path, PLANS[:1])
    assert started


@pytest.mark.parametrize("change", [{"schema_version": 2}, {"runs": []}, {"title": None}, {"speculative": {}}])
def test_what_is_no_comparison_is_refused(tmp_path, change):
    stored, path = FOLDER / next(iter(STORED)), tmp_path / "a.json"
    path.write_text(json.dumps(json.loads(stored.read_text()) | change), encoding="utf-8")
    with pytest.raises(TraceError):
        Comparison.read(path)


# ---------------------------------------------------------------- what is stored with the project


def test_there_are_six_problems_of_each_pair_that_has_any():
    by_pair = [entry["pair"] for entry in STORED.values()]
    assert parse_pair("embedded").name in by_pair
    assert all(by_pair.count(pair) >= 6 for pair in by_pair)


@pytest.mark.parametrize("file", sampled(STORED, 6))
def test_every_stored_comparison_reads_and_holds_one_problem(file):
    there = Comparison.read(FOLDER / file)
    assert (there.title, there.subtitle) == (STORED[file]["title"], STORED[file]["subtitle"])
    assert {run.pair.name for run in there.runs} == {STORED[file]["pair"]} == {there.speculative.pair.name}
    assert len({(run.prompt.text, run.pair.revision) for run in there.runs}) == 1
    assert [writer_alone(run.settings) for run in there.runs] == ["slm", *[None] * (len(there.runs) - 2), "llm"]
    # Speculative decoding writes the LLM's own text, but for rounding, which in bfloat16 can turn a close choice.
    ours, theirs = list(there.speculative.token_ids), [event.token_id for event in there.runs[-1].events]
    assert ours == theirs if there.speculative.pair.dtype == "float32" else ours[:16] == theirs[:16]
    assert there.speculative.answer == there.runs[-1].answer


@pytest.mark.parametrize("plan", sampled(read_plans(ASSETS / "datasets" / "compared-embedded.jsonl"), every=10))
def test_the_bundled_pairs_columns_are_what_its_runs_write_today(bundled, plan):
    """`python -m citer_core compare assets/datasets/compared-embedded.jsonl` records them again."""
    there = Comparison.read(FOLDER / plan.file)
    problem = problem_from_text(plan.question, plan.data_type, plan.answer)
    for run in there.runs:
        assert run.pair.revision == bundled.pair_info.revision
        assert run.router.revision == bundled.router(run.router.name).revision
        again = single(bundled, problem, run.router.name, run.settings)
        assert tokens_of(again) == tokens_of(run)


def test_speculative_decoding_moves_less_than_citer_as_often_as_the_method_says():
    there = [Comparison.read(FOLDER / e["file"]) for e in STORED.values() if e["pair"] == parse_pair("embedded").name]
    dearer, cheaper, n_right = [], [], 0
    for one in there:
        citer = next(run for run in one.runs[1:-1] if run.router.name == "citer")
        back = next(run for run in one.runs[1:-1] if run.settings.take_back)
        drafts = one.speculative.cost(H100_SXM).n_bytes
        if citer.answer.is_correct:
            dearer.append(drafts < citer.cost(H100_SXM).routed.n_bytes)
        cheaper.append(back.cost(H100_SXM).routed.n_bytes < drafts)
        n_right += back.answer.is_correct
    assert (len(there), len(dearer), sum(dearer), n_right, sum(cheaper)) == (8, 6, 6, 8, 8)
    text = " ".join((ASSETS / "docs" / "method.md").read_text(encoding="utf-8").split())
    assert "On all 6 of the 6 that `citer` answers rightly at its tau, speculative decoding moves fewer bytes" in text
    assert "With look-back all 8 answers are right too, and 8 move fewer bytes than speculative decoding" in text
