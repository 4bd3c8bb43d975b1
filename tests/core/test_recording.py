"""Recorded runs: what is kept, what is run again, and what the index says."""

from __future__ import annotations

import dataclasses
import json

import pytest

from citer_core.assets import ASSETS
from citer_core.engine import Engine
from citer_core.errors import DatasetError, TraceError
from citer_core.recording import RUNS, RecordingPlan, is_run_of, read_plans, read_probe, record
from citer_core.routing import probe as probing
from citer_core.routing.routers.training_free import EntropyRouter, MaxProbabilityRouter
from citer_core.trace import RoutingTrace

PLANS = [
    RecordingPlan("a.json", "A", "first", "math", "1 + 1?", "2", {"threshold": 0.0, "max_new_tokens": 4}),
    RecordingPlan("b.json", "B", "second", "open", "Once", settings={"max_new_tokens": 3}),
]


@pytest.fixture
def engine(tiny_pair):
    return Engine(tiny_pair, {"max-probability": MaxProbabilityRouter()})


def plans_file(path, *lines):
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def test_runs_are_written_with_what_their_cards_say(engine, tmp_path):
    runs = dict(record(engine, PLANS, tmp_path, settings={"threshold": 1.0}))
    index = RUNS.read(tmp_path)
    assert [entry["file"] for entry in index] == ["a.json", "b.json"]
    for entry, (plan, trace) in zip(index, runs.items(), strict=True):
        assert RoutingTrace.from_json((tmp_path / plan.file).read_text()) == trace
        assert (trace.title, entry["title"], entry["subtitle"]) == (plan.title, plan.title, plan.subtitle)
        assert entry["n_tokens"] == len(trace.events) and entry["pair"] == engine.pair_info.name
        assert entry["date"] == trace.record.date and entry["hardware"] == trace.record.hardware
    assert [entry["tau"] for entry in index] == [0.0, 1.0]  # a plan's own tau goes before that of the command
    assert [entry["llm_token_share"] for entry in index] == [0.0, 1.0]
    assert [entry["is_correct"] for entry in index] == [runs[PLANS[0]].answer.is_correct, None]


def test_what_is_there_is_not_run_again_and_what_changed_is(engine, tmp_path, monkeypatch):
    list(record(engine, PLANS, tmp_path))
    started = []
    start = engine.start
    monkeypatch.setattr(
        engine, "start", lambda problem, **how: started.append(problem.question) or start(problem, **how)
    )
    list(record(engine, PLANS, tmp_path))
    assert started == []
    list(record(engine, [PLANS[0], dataclasses.replace(PLANS[1], question="Twice")], tmp_path))
    assert started == ["Twice"]
    (tmp_path / "a.json").write_text("{", encoding="utf-8")  # torn
    list(record(engine, PLANS, tmp_path))
    assert started == ["Twice", "1 + 1?", "Once"]


def test_a_run_is_of_its_router_even_where_neither_has_a_revision(engine, tmp_path):
    [(plan, trace), *_] = record(engine, PLANS, tmp_path)
    own = engine.router("max-probability")
    assert own.revision == EntropyRouter().revision == ""
    assert is_run_of(trace, engine, own, plan, trace.settings)
    assert not is_run_of(trace, engine, EntropyRouter(), plan, trace.settings)


def test_both_models_are_asked_about_every_token_once(engine, tmp_path, monkeypatch):
    runs = {plan.file: trace for plan, trace in record(engine, PLANS, tmp_path)}
    for file, trace in runs.items():
        probed = read_probe(tmp_path, file)
        assert [token["slm_top"][0][0] for token in probed] == [event.slm_top[0].token_id for event in trace.events]
        assert all(len(token["llm_top"]) == 5 and token["kl"] >= 0 for token in probed)
    # One that is missing is made up for without a run; a new run gets a new probe.
    (tmp_path / "probes" / "b.json").unlink()
    asked = []
    monkeypatch.setattr(probing, "probe_trace", lambda pair, trace: asked.append(trace.prompt.question) or [])
    list(record(engine, PLANS, tmp_path))
    assert asked == ["Once"]
    list(record(engine, [dataclasses.replace(PLANS[0], question="1 + 2?"), PLANS[1]], tmp_path))
    assert asked == ["Once", "1 + 2?"]
    list(record(engine, PLANS[1:], tmp_path))
    assert [path.name for path in (tmp_path / "probes").iterdir()] == ["b.json"]
    (tmp_path / "probes" / "b.json").write_text("[1]", encoding="utf-8")
    with pytest.raises(TraceError, match=r"probe of the recorded run b\.json"):
        read_probe(tmp_path, "b.json")


@pytest.mark.parametrize("first", [True, False])
def test_other_pairs_keep_their_runs_and_a_dropped_one_goes(engine, tmp_path, first):
    list(record(engine, PLANS, tmp_path))
    other = Engine(
        dataclasses.replace(engine.pair, info=dataclasses.replace(engine.pair_info, name="Other")),
        {"max-probability": MaxProbabilityRouter()},
    )
    list(record(other, [dataclasses.replace(PLANS[0], file="c.json")], tmp_path, first=first))
    files = [entry["file"] for entry in RUNS.read(tmp_path)]
    assert files == (["c.json", "a.json", "b.json"] if first else ["a.json", "b.json", "c.json"])
    list(record(engine, PLANS[:1], tmp_path))
    assert sorted(path.name for path in tmp_path.glob("*.json")) == ["a.json", "c.json", "index.json"]


@pytest.mark.parametrize(
    ("lines", "part"),
    [
        (['{"file": "a.json"'], "line 1"),
        (['{"file": "../a.json", "title": "", "subtitle": "", "data_type": "math", "question": ""}'], "plain name"),
        (['{"file": "a.json", "title": "", "subtitle": "", "data_type": "mc", "question": ""}'] * 2, "line 2.*taken"),
    ],
)
def test_a_bad_line_is_named(tmp_path, lines, part):
    with pytest.raises(DatasetError, match=part):
        read_plans(plans_file(tmp_path / "plans.jsonl", *lines))


ENTRY = {
    "file": "a.json", "title": "A", "subtitle": "", "data_type": "math", "question": "1 + 1?", "true_answer": "2",
    "tau": 0.5, "n_tokens": 3, "llm_token_share": 0.5, "is_correct": True, "pair": "P", "date": "", "hardware": "",
}  # fmt: skip


@pytest.mark.parametrize("changes", [{"file": "../a.json"}, {"tau": 7}, {"llm_token_share": float("nan")}])
def test_a_damaged_entry_of_the_index_costs_the_cards_and_not_the_page(tmp_path, changes, caplog):
    from citer_core.ui.presets import presets_to_show

    (tmp_path / "index.json").write_text(json.dumps([ENTRY]))
    assert [preset.title for preset in presets_to_show(tmp_path)] == ["A"]
    (tmp_path / "index.json").write_text(json.dumps([ENTRY | changes]))
    with pytest.raises(TraceError, match="index of the recorded runs"):
        RUNS.read(tmp_path)
    assert presets_to_show(tmp_path) == [] and "index of the recorded runs" in caplog.text


@pytest.mark.parametrize("name", ["recorded-embedded", "recorded-qwen"])
def test_the_lists_that_ship_are_plans(name):
    plans = read_plans(ASSETS / "datasets" / f"{name}.jsonl")
    assert len({json.dumps([p.question, dict(p.settings)]) for p in plans}) == len(plans)
    for plan in plans:
        assert plan.data_type == "open" or plan.answer
        if plan.data_type == "mc":
            assert f"\n{plan.answer}. " in plan.question


def test_every_shipped_run_has_its_probe_and_is_of_a_router_that_is_shipped():
    cards = [json.loads(path.read_text(encoding="utf-8")) for path in (ASSETS / "routers").glob("*/*.json")]
    shipped = {(card["pair_revision"], card["revision"]) for card in cards}
    index = RUNS.read(ASSETS / "traces")
    assert sum(entry["pair"] != "Bundled pair" for entry in index) >= 24
    for entry in index:
        trace = RoutingTrace.from_json((ASSETS / "traces" / entry["file"]).read_text(encoding="utf-8"))
        assert (trace.pair.revision, trace.router.revision) in shipped, entry["file"]
        probed = read_probe(ASSETS / "traces", entry["file"])
        assert len(probed) == trace.n_tokens == entry["n_tokens"]
        for event, token in zip(trace.events, probed, strict=True):
            assert len(token["slm_top"]) == len(token["llm_top"]) == 5
            tops = [token[f"{model}_top"] for model in ("slm", "llm")]
            if all(best[2] > second[2] for best, second, *_ in tops):  # half precision has ties, and any may be first
                assert token["agree"] == (tops[0][0][0] == tops[1][0][0]), (entry["file"], event.index)
