"""The parts that price: a pair that counts its passes, speculative decoding, and right answers by length."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import pytest

from citer_core.cost import H100_SXM
from citer_core.engine import Engine
from citer_core.evaluation.metrics import unpack
from citer_core.evaluation.run_book import RunBook
from citer_core.evidence.accuracy import Named, by_length
from citer_core.evidence.plan import EvidencePlan
from citer_core.evidence.setup_cost import Meter
from citer_core.evidence.speculation import described, one_by_one, speculated, workload_of
from citer_core.labelling.rollouts import Policy, Start, roll_out
from citer_core.labelling.teacher_forcing import example_of, teacher_force
from citer_core.models.language_model import LanguageModel
from citer_core.tasks.datasets import bundled_rows
from citer_core.tasks.problem_set import ProblemSet
from citer_core.types import DecodeSettings
from citer_core.workload import Passes, Workload
from tests.core.examples import exhausted
from tests.sampling import sampled

PLAN = EvidencePlan(n_test=4, max_new_tokens=16, batch_size=4)
SETTINGS = DecodeSettings(threshold=0.9, max_new_tokens=PLAN.max_new_tokens)


@pytest.fixture(scope="module")
def asked():
    return ProblemSet("math test", "math", tuple(row.problem for row in bundled_rows("math")[:4]))


def routed(engine, problem, router="max-probability", settings=SETTINGS):
    run = engine.start(problem, router=router, settings=settings)
    for _ in run:
        pass
    return run.trace()


@pytest.mark.parametrize("fused", sampled([True, False], 2))
def test_a_metered_pair_counts_what_the_run_says_it_read(engine, asked, fused):
    pair = engine.pair
    if not fused:
        slow = [LanguageModel(lm.model, lm.vocab_size, fused=False) for lm in (pair.slm, pair.llm)]
        pair = replace(pair, slm=slow[0], llm=slow[1])
    meter = Meter(pair)
    counting = Engine(meter.pair, {"max-probability": engine.router("max-probability")})
    with meter.reading() as spent:
        trace = routed(counting, asked.problems[0])
    work = Workload.of(trace.events)
    assert 0 < work.llm.n_passes < work.slm.n_passes
    assert (spent["slm"], spent["llm"]) == (asdict(work.slm), asdict(work.llm)) and spent["seconds"] > 0
    assert trace.completion == routed(engine, asked.problems[0]).completion
    with meter.reading() as nothing:
        pass
    assert nothing["slm"] == nothing["llm"] == asdict(Passes())


def test_a_pass_that_texts_share_counts_once(engine):
    meter = Meter(engine.pair)
    row = {"problem": "What is 1 + 2?", "answer": "3", "solution": "It is 1 + 2 = \\boxed{3}."}
    example = example_of(row, "math", meter.pair)
    with meter.reading() as spent:
        list(teacher_force(meter.pair, [example, example]))
    n = len(example.prompt_ids) + len(example.truth_ids) - 1
    assert spent["slm"] == spent["llm"] == asdict(replace(Passes.of([(n, n), (n, n)]), n_passes=1))
    starts = [Start(0, 1), Start(0, 2), Start(0, 3)]
    with meter.reading() as alone:
        outcomes = dict(roll_out(meter.pair, [example], starts, Policy.llm_alone(max_new_tokens=9)))
    n_written = [len(outcomes[k].token_ids) - start.position for k, start in enumerate(starts)]
    assert alone["slm"] == asdict(Passes()) and alone["llm"]["n_passes"] == max(n_written)


def test_the_passes_of_speculative_decoding_cost_what_its_trace_says(engine, asked):
    trace = exhausted(engine.speculate(asked.problems[1], max_new_tokens=PLAN.max_new_tokens))[1]
    work, cost = workload_of(trace.passes, trace.prompt.n_tokens), trace.cost(H100_SXM)
    price = work.price(trace.pair.slm, trace.pair.llm, 0)
    assert price.n_bytes == pytest.approx(cost.n_bytes) and price.flops == pytest.approx(cost.flops)
    assert work.llm.n_passes == len(trace.passes) and work.slm.n_passes == trace.n_drafted
    alone = routed(engine, asked.problems[1], "always-llm", replace(SETTINGS, threshold=1.0))
    assert work.alone == Workload.of(alone.events).alone


def test_speculative_answers_are_the_llms_own_and_are_written_once(engine, asked, tmp_path):
    path = tmp_path / "speculative.jsonl"
    runs = speculated(engine, ProblemSet(asked.name, "math", asked.problems[:2]), path, PLAN)
    before = path.read_bytes()
    again = speculated(engine, asked, path, PLAN)
    assert path.read_bytes().startswith(before) and again[:2] == runs and len(again) == 4
    stored = described(again)
    own = [routed(engine, problem, "always-llm", replace(SETTINGS, threshold=1.0)) for problem in asked.problems]
    assert unpack(stored["right"], 4).tolist() == [trace.answer.is_correct for trace in own]
    assert stored["n_tokens"] == sum(trace.n_tokens for trace in own)
    assert 0 < stored["n_accepted"] <= stored["n_drafted"] and stored["work"]["llm"]["n_passes"] < stored["n_tokens"]

    looks = {"take_back": 1.0, "look_every": 4}
    ways = [("always-slm", 0.0, ()), ("always-llm", 1.0, ()), ("max-probability", 0.0, tuple(looks.items()))]
    rows = {row["router"]: row for row in one_by_one(engine, asked.problems[:3], ways, PLAN)}
    assert list(rows) == ["speculative", *(name for name, *_ in ways)] and rows["always-slm"]["llm_seconds"] == 0
    assert rows["max-probability"]["settings"] == looks, "at strictness 1 the text is the LLM's own"
    assert rows["max-probability"]["n_tokens"] == rows["always-llm"]["n_tokens"]
    assert rows["max-probability"]["n_right"] == rows["always-llm"]["n_right"]
    assert rows["speculative"]["n_tokens"] == rows["always-llm"]["n_tokens"] == sum(t.n_tokens for t in own[:3])
    assert all(0 < row["seconds"] >= row["llm_seconds"] for row in rows.values())


def test_quarters_of_questions_and_answers_hold_every_token(engine, asked, tmp_path):
    with RunBook(engine, tmp_path / "runs.jsonl", max_new_tokens=32, batch_size=8) as book:
        entry = by_length(book, asked, asked, [Named("margin", "margin", "Margin")], 0.2)
        points = {point["router"]: point for point in entry["points"]}
        assert list(points) == ["always-slm", "always-llm", "margin"]
        runs = book.runs("margin", asked, points["margin"]["threshold"])
    for kind in ("question", "answer"):
        of = np.array([int(digit) for digit in entry[f"{kind}_of"]])
        for k, (n_tokens, n_llm) in enumerate(points["margin"][f"by_{kind}"]):
            mine = [run for run, its in zip(runs, of, strict=True) if its == k]
            assert (n_tokens, n_llm) == (sum(r.n_tokens for r in mine), sum(r.n_llm_tokens for r in mine))
    assert unpack(points["margin"]["right"], 4).tolist() == [run.is_right for run in runs]
    lengths = [len(engine.pair.encode(problem.prompt)) for problem in asked.problems]
    assert max(n for n, k in zip(lengths, entry["question_of"], strict=True) if k == "0") < entry["question_bounds"][0]
