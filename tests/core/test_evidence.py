"""The evidence: runs that are known for many taus, its oracle, its statistics and its stored form."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from citer_core.cli.main import main
from citer_core.embedded.publish import FORMATS
from citer_core.engine import Engine
from citer_core.errors import DatasetError, GateError
from citer_core.evaluation.metrics import paired_difference, unpack
from citer_core.evaluation.run_book import KeptRun, RunBook, share_of
from citer_core.evidence import plan as plans
from citer_core.evidence.accuracy import named_routers, tally
from citer_core.evidence.decisive import decisive_runs
from citer_core.evidence.part_tables import PARTS
from citer_core.evidence.plan import EvidencePlan
from citer_core.evidence.routers import RouterShop
from citer_core.evidence.stored import StoredPart
from citer_core.routing.catalog import load_routers
from citer_core.routing.routers.citer import CiterMLP, CiterRouter
from citer_core.tasks.datasets import bundled_rows
from citer_core.tasks.problem_set import ProblemSet
from citer_core.types import DecodeSettings
from citer_core.workload import Workload
from tests.core.stored_evidence import accuracy_part
from tests.sampling import few_or_all, sampled

LIMITS = {"max_new_tokens": 24, "batch_size": 8}
PLAN = EvidencePlan(n_test=12, n_tuning=6, n_labelled=4, **LIMITS)


@pytest.fixture
def asked():
    return ProblemSet("math test", "math", tuple(row.problem for row in bundled_rows("math")[:6]))


def trained_router(pair, seed):
    torch.manual_seed(seed)
    card = {"name": "citer", "label": "CITER", "hidden_size": pair.hidden_size, "pair_revision": pair.info.revision}
    return CiterRouter(CiterMLP(pair.hidden_size), card)


def fresh(engine, asked, router, tau, plan=PLAN):
    """The same answers, decoded anew."""
    settings = DecodeSettings(threshold=tau, max_new_tokens=plan.max_new_tokens)
    found = dict(engine.run_batch(asked.problems, router=router, settings=settings, batch_size=8))
    return [found[i] for i in range(len(asked.problems))]


@pytest.mark.parametrize("router", sampled(["citer", "random"], every=2))
@pytest.mark.parametrize("taus", few_or_all([0.9, 0.9001, 0.2], [0.9, 0.9001, 0.2, 0.905, 0.0, 1.0]))
def test_a_run_that_is_known_for_a_tau_is_the_run_at_that_tau(engine, asked, router, taus, tmp_path):
    with RunBook(engine, tmp_path / "runs.jsonl", **LIMITS) as book:
        for tau in taus:
            for run, trace in zip(book.runs(router, asked, tau), fresh(engine, asked, router, tau), strict=True):
                assert (run.n_tokens, run.n_llm_tokens) == (trace.n_tokens, trace.n_llm_tokens)
                assert run.is_right == trace.answer.is_correct
                assert run.work == Workload.of(trace.events)
        assert book.n_reused > 0 and book.n_decoded < 6 * len(taus)


def test_a_book_that_is_opened_again_decodes_nothing_twice(engine, asked, tmp_path):
    with RunBook(engine, tmp_path / "runs.jsonl", **LIMITS) as book:
        before = book.runs("citer", asked, 0.5)
    with (tmp_path / "runs.jsonl").open("ab") as file:
        file.write(b'{"id": "torn')
    with RunBook(engine, tmp_path / "runs.jsonl", **LIMITS) as book:
        assert book.runs("citer", asked, 0.5) == before
        assert (book.n_decoded, book.n_reused) == (0, 6)
        assert share_of(before) == sum(r.n_llm_tokens for r in before) / sum(r.n_tokens for r in before)
        assert tally(before)["work"]["n_tokens"] == sum(run.n_tokens for run in before)
    with pytest.raises(DatasetError, match="max_new_tokens"):
        RunBook(engine, tmp_path / "runs.jsonl", max_new_tokens=9, batch_size=8)


def test_many_points_are_those_of_one_at_a_time(engine, asked, tmp_path):
    """Problems go through all points four at a time; what was known before a kill is not decoded again."""
    points = [("citer", 0.5), ("disagreement", 0.5), ("max-probability", 0.6), ("citer", 0.2)]
    plan = replace(PLAN, max_new_tokens=12)
    told = []
    with RunBook(engine, tmp_path / "runs.jsonl", max_new_tokens=12, batch_size=2) as book:
        book.runs("citer", ProblemSet(asked.name, asked.data_type, asked.problems[:3]), 0.5)
        book.fill(asked, points, lambda numbers, n_points: told.append((numbers.stop, n_points)))
        n_decoded = book.n_decoded
        found = {point: book.runs(point[0], asked, point[1]) for point in points}
        assert told == [(stop, n) for stop in (4, 6) for n in (1, 2, 3, 4)]
        assert n_decoded == book.n_decoded <= 24  # 27 if the first three were decoded again
    for (router, tau), runs in found.items():
        for run, trace in zip(runs, fresh(engine, asked, router, tau, plan), strict=True):
            assert (run.n_tokens, run.n_llm_tokens) == (trace.n_tokens, trace.n_llm_tokens)
            assert run.is_right == trace.answer.is_correct and run.work == Workload.of(trace.events)
    with RunBook(engine, tmp_path / "runs.jsonl", max_new_tokens=12, batch_size=2) as book:
        book.fill(asked, points)
        assert book.n_decoded == 0


@pytest.mark.parametrize("n_each", few_or_all(2, 12))
def test_decisive_tokens_save_whatever_the_llm_can_solve(engine, n_each):
    problems = [row.problem for kind in FORMATS for row in bundled_rows(kind)[:n_each]]
    both, plan = ProblemSet("both", "math", tuple(problems)), replace(PLAN, max_new_tokens=160)
    slm, llm = (fresh(engine, both, f"always-{name}", tau, plan) for name, tau in (("slm", 0.0), ("llm", 1.0)))
    runs = decisive_runs(engine.pair, problems, plan)
    for run, by_slm, by_llm in zip(runs, slm, llm, strict=True):
        assert run.is_right == (by_slm.answer.is_correct or by_llm.answer.is_correct)
        if by_slm.answer.is_correct or not by_llm.answer.is_correct:  # no help is needed, or the LLM could not give it
            assert run.n_llm_tokens == 0 and run.work == Workload.of(by_slm.events)
    saved = [r for r, s in zip(runs, slm, strict=True) if r.is_right and not s.answer.is_correct]
    assert saved and all(0 < run.n_llm_tokens < 0.4 * run.n_tokens for run in saved)
    assert share_of(runs) < 0.1


def test_a_paired_interval_is_that_of_problems_drawn_again():
    rng = np.random.default_rng(1)
    first, second = rng.random(400) < 0.8, rng.random(400) < 0.7
    third = rng.random(400) < 0.75
    mean, (low, high) = paired_difference([first, third], [second])
    gain = (first.astype(float) + third) / 2 - second
    drawn = [gain[rng.integers(0, 400, 400)].mean() for _ in range(4000)]
    assert mean == pytest.approx(gain.mean())
    assert (low, high) == pytest.approx(tuple(np.quantile(drawn, (0.025, 0.975))), abs=0.004)
    assert paired_difference([first], [first]) == (0.0, (0.0, 0.0))


@pytest.mark.slow
def test_problems_of_labels_tuning_and_test_are_different_ones():
    plan = EvidencePlan(n_test=60, n_tuning=60, n_labelled=60)
    for kind in FORMATS:
        prompts = [{p.prompt for p in some(kind).problems} for some in (plan.test, plan.tuning)]
        rows = plan.labelled((kind,))
        assert len(rows) == 60 and {data_type for _, data_type in rows} == {kind}
        labelled = {plans.problems_of([row], kind)[0].prompt for row, _ in rows}
        assert not prompts[0] & prompts[1] and not labelled & (prompts[0] | prompts[1])


def test_a_stored_part_is_read_as_it_was_written(tmp_path):
    part = accuracy_part()
    path = part.write(tmp_path / "some-set")
    assert StoredPart.read(path) == part and path.name == "accuracy.json"
    document = json.loads(path.read_text())
    for change, word in (
        (lambda d: d.update(schema_version=9), "another version"),
        (lambda d: d["content"]["math"]["points"][0].update(right="ff"), "bit for each problem"),
        (lambda d: d["content"]["math"]["points"][0].update(threshold=2), "threshold"),
        (lambda d: d.update(part="weather"), "part"),
        (lambda d: d["content"].update(poems=d["content"]["math"]), "content"),
    ):
        damaged = json.loads(json.dumps(document))
        change(damaged)
        with pytest.raises(GateError, match=word):
            StoredPart.of(damaged)
    path.write_text("{")
    with pytest.raises(DatasetError, match="Measure it again"):
        StoredPart.read(path)


def test_a_kept_run_there_and_back():
    run = KeptRun(0.25, 0.75, True, 3, 1, False, 0.5, 0.25, Workload.of([]))
    assert KeptRun.of_row(json.loads(json.dumps(run.to_row()))) == KeptRun(
        0.25, 0.75, True, 3, 1, False, 0.5, 0.25, Workload(3)
    )
    assert [run.is_of(tau) for tau in (0.25, math.nextafter(0.25, 1), 0.75, 0.76, 1.0)] == [
        False, True, True, False, False,
    ]  # fmt: skip


def test_what_is_compared_and_what_of_it_the_page_has(tiny_pair):
    """Two seeds of the first router, one of which the page has; one variation; and those that need no training."""
    first, second, other = (trained_router(tiny_pair, seed) for seed in range(3))
    of_page = {"citer": first, "co-llm": other, **load_routers(tiny_pair)[0]}
    own = {"citer@0": first, "citer@1": second, "co-llm@0": second, "varied@0": other}
    everything, pages = Engine(tiny_pair, of_page | own), Engine(tiny_pair, of_page)
    found = {named.key: named for named in named_routers(everything, pages, {"varied"})}
    trained = {key: named for key, named in found.items() if "@" in key}
    assert {key: (n.router, n.seed, n.is_shipped, n.is_main) for key, n in trained.items()} == {
        "citer@0": ("citer", 0, True, True),
        "citer@1": ("citer", 1, True, False),
        "co-llm@0": ("co-llm", 0, False, True),
        "varied@0": ("varied", 0, False, False),
    }
    untrained = found.keys() - trained.keys()
    assert {"random", "max-probability"} <= untrained
    assert not untrained & {"citer", "co-llm", "always-slm", "always-llm", "disagreement"}


@pytest.mark.slow
def test_the_command_measures_every_part_and_resumes(tmp_path, monkeypatch):
    words = "--n-test 8 --n-tuning 6 --n-labelled 40 --n-rounds 2 --n-branches 6 --n-branch-problems 8 --n-flipped 4"
    words += " --n-timed 3 --n-setup 5 --n-grid 2"
    command = ["evidence", "--work-dir", str(tmp_path / "w"), "--output-dir", str(tmp_path / "o"), "--seeds", "0"]
    command += ["--shares", "0.1"]
    assert main([*command, *words.split()]) == 0
    parts = {part: StoredPart.read(tmp_path / "o" / f"{part}.json") for part in PARTS}
    for kind in FORMATS:
        entry = parts["accuracy"].content[kind]
        named = {point["router"]: point for point in entry["points"]}
        assert named["always-slm"]["n_llm_tokens"] == 0
        assert named["always-llm"]["n_llm_tokens"] == named["always-llm"]["n_tokens"]
        assert {"citer-2", "citer-outcome", "co-llm", "decisive", "disagreement", "entropy"} <= named.keys()
        flips = parts["misjudged"].content[kind]
        assert flips["n_problems"] == 4 and flips["to_llm"]["n_lost"] + flips["to_llm"]["n_won"] <= flips["to_llm"]["n"]
        cases = parts["shortcut"].content[kind]["llm"]["cases"]
        assert cases["1"]["n"] == 6 and cases["1"]["n_decided"] + cases["1"]["n_undecided"] == 6
    assert len(parts["transfer"].content) == 2 * 3 * 2
    assert [row["labels"] for row in parts["routers"].content["rounds"]] == ["published-1", "published-2"]
    assert all(row["again_ms"] > 0 for row in parts["overhead"].content["switch"])
    for kind in FORMATS:
        named = {(point["router"], point["seed"]): point for point in parts["accuracy"].content[kind]["points"]}
        drafted, own = parts["speculative"].content[kind], named["always-llm", None]
        assert (drafted["right"], drafted["n_tokens"]) == (own["right"], own["n_tokens"])
        looked = parts["look_back"].content[kind]
        for point in (*looked["points"], *looked["grid"]):
            settings, work = DecodeSettings(0.0, **point["settings"]), point["work"]
            n, alone = (8 if point in looked["points"] else 2), (own if settings.take_back == 1 else None)
            assert alone is None or unpack(point["right"], n).tolist() == unpack(own["right"], 8).tolist()[:n]
            assert work["llm"]["n_passes"] > 0 or settings.take_back == 0, "the end of every answer is read"
        for point in parts["length"].content[kind]["points"]:
            same = named[point["router"], point["seed"]]
            assert (point["right"], point["threshold"]) == (same["right"], same["threshold"])
    setup = parts["setup"].content
    assert setup["n_labelled"] == 80 and [row["n_problems"] for row in setup["labels"]] == [10, 10, 10]
    assert list(setup["roads"]) == [row["router"] for row in setup["tuning"]]
    assert all(row["slm"]["n_new"] > 0 and row["llm"]["n_new"] > 0 for row in setup["labels"] + setup["tuning"])
    assert all(row["seconds"] > 0 and row["n_bytes"] > 0 for row in setup["training"])
    monkeypatch.setattr(RunBook, "_decoded", lambda *_: pytest.fail("what is known was decoded again"))
    assert main([*command, *words.split(), "--parts", "accuracy", "transfer"]) == 0
    again = StoredPart.read(tmp_path / "o" / "accuracy.json")
    assert again.content == parts["accuracy"].content


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--n-test", "0"], "--n-test is 0: give a whole number from 1 to 1,000"),
        (["--shares", "1.5"], "--shares: give numbers between 0 and 1"),
        (["--seeds", "1", "1"], "--seeds: give different"),
        (["--workers", "3"], "--workers is 3: give 1 or 2"),
    ],
)
def test_wrong_sizes_are_refused_before_anything_is_loaded(tmp_path, capsys, words, said):
    assert main(["evidence", "--work-dir", str(tmp_path), "--output-dir", str(tmp_path), *words]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.slow
def test_routers_that_ship_are_taken_where_they_are_of_the_same_problems(engine, tmp_path):
    ours = [engine.router(name) for name in ("citer", "citer-outcome")]
    shop = RouterShop(engine.pair, tmp_path / "w", EvidencePlan())
    assert shop.take(ours) == ["citer", "citer-outcome"]
    for mine in ours:
        taken = shop.trained_router(mine.name, 0)  # would be hours of labelling, were it not there
        assert taken.revision == mine.revision and taken.card["training"] == mine.card["training"]
    assert taken.label == "Outcome labels"
    assert RouterShop(engine.pair, tmp_path / "x", EvidencePlan(n_labelled=20)).take(ours) == []
    assert RouterShop(engine.pair, tmp_path / "x", EvidencePlan(seeds=(1,))).take(ours) == []
    assert not (tmp_path / "x").exists()
