"""Live comparisons: what is streamed adds up to what single runs write; what may be asked; how it ends."""

from __future__ import annotations

import json

import pytest

from citer_core.comparison import compare
from citer_core.engine import Engine
from citer_core.errors import CiterError, PromptError
from citer_core.routing.routers.training_free import EntropyRouter, MaxProbabilityRouter
from citer_core.tasks.problems import problem_from_text
from citer_core.types import DecodeSettings, settled
from citer_core.ui import compare as compare_view
from citer_core.ui.compare import AskedComparison, compared, read_comparison
from citer_core.ui.problems import ProblemBook

PROBLEM = problem_from_text("1 + 1?", "math", "2")
LOOKS = {"threshold": 0.0, "doubt_budget": 2.0, "take_back": 0.9}
ROUTERS = (("max-probability", {"threshold": 0.7}), ("entropy", {"threshold": 0.4}), ("max-probability", LOOKS))
ASKED = {
    "question": "1 + 1?",
    "data_type": "math",
    "settings": {"max_new_tokens": 20},
    "together": False,
    "routers": [{"router": "max-probability", "threshold": 0.7}],
}


@pytest.fixture
def engine(tiny_pair):
    return Engine(tiny_pair, {"max-probability": MaxProbabilityRouter(), "entropy": EntropyRouter()})


def messages_of(engine, *, together, is_cancelled=lambda: False, **settings):
    asked = AskedComparison(PROBLEM, ROUTERS, DecodeSettings(max_new_tokens=30, **settings), together)
    return [json.loads(json.dumps(m)) for m in compared(asked, engine, is_cancelled)]


@pytest.mark.parametrize("together", [False, True])
def test_columns_are_those_of_single_runs_however_they_take_turns(engine, together, monkeypatch):
    monkeypatch.setattr(compare_view, "INTERVAL_S", 0.0)  # a message for every turn
    first, *news, last = messages_of(engine, together=together)
    runs, speculative = compare(engine, PROBLEM, ROUTERS, max_new_tokens=30)
    assert (first["is_done"], last["is_done"]) == (False, True)
    assert all(run["events"] == [] for run in first["document"]["runs"])
    for run, document in zip(runs, last["document"]["runs"], strict=True):
        assert [event["token_id"] for event in document["events"]] == [event.token_id for event in run.events]
        assert [event["source"] for event in document["events"]] == [event.source for event in run.events]
        assert document["answer"]["is_correct"] == run.answer.is_correct
    drafts = last["document"]["speculative"]["passes"]
    assert [one["drafted"] for one in drafts] == [[list(t) for t in one.drafted] for one in speculative.passes]
    # What was streamed is what stands in the end, each column from its first token on.
    whole = [*(run["events"] for run in last["document"]["runs"]), drafts]
    streamed = [[] for _ in whole]
    order = []
    for column in [column for message in news for column in message["columns"]]:
        assert column["base"] == len(streamed[column["column"]])
        streamed[column["column"]] += column["items"]
        order.append(column["column"])
    assert all(
        part == full[: len(part)] and len(part) >= len(full) - 1 for part, full in zip(streamed, whole, strict=True)
    )
    assert (order == sorted(order)) is not together


def test_sampled_ways_are_sampled_as_single_runs_are_and_nothing_is_drafted(engine):
    sampling = {"temperature": 1.3, "top_p": 0.9, "seed": 5}
    *_, last = messages_of(engine, together=True, **sampling)
    assert last["document"]["speculative"] is None
    own = [{"threshold": 0.0}, *(settings for _, settings in ROUTERS), {"threshold": 1.0}]
    for its, document in zip(own, last["document"]["runs"], strict=True):
        settings = DecodeSettings(**its, max_new_tokens=30, **sampling)
        run = engine.start(PROBLEM, router=document["router"]["name"], settings=settings)
        assert [event["token_id"] for event in document["events"]] == [event.token_id for event in settled(run)]
        assert document["settings"]["temperature"] == 1.3
    greedy = messages_of(engine, together=True)[-1]["document"]["runs"]
    assert [run["events"] for run in greedy] != [run["events"] for run in last["document"]["runs"]]


def test_it_ends_at_the_next_token(engine, monkeypatch):
    monkeypatch.setattr(compare_view, "INTERVAL_S", 0.0)
    flags = iter([False] * 3 + [True] * 100)
    messages = messages_of(engine, together=False, is_cancelled=lambda: next(flags))
    assert len(messages) < 6 and not messages[-1].get("is_done")


def test_what_goes_wrong_is_raised_in_words(engine):
    asked = AskedComparison(
        problem_from_text("word " * 2000, "open"), ROUTERS, DecodeSettings(max_new_tokens=30), together=False
    )
    with pytest.raises(PromptError):
        list(compared(asked, engine, lambda: False))


def test_a_request_is_read():
    asked = read_comparison(ProblemBook({}), json.dumps(ASKED))
    assert (
        asked.routers == (("max-probability", {"threshold": 0.7}),)
        and asked.settings.max_new_tokens == 20
        and not asked.together
    )
    assert asked.problem.question == "1 + 1?" and asked.settings.temperature == 0
    sampled = read_comparison(
        ProblemBook({}), json.dumps(ASKED | {"settings": {"temperature": 0.8, "top_p": 0.9, "seed": 4}})
    ).settings
    assert (sampled.temperature, sampled.top_p, sampled.seed) == (0.8, 0.9, 4)
    looking = read_comparison(ProblemBook({}), json.dumps(ASKED | {"routers": [{"router": "entropy", **LOOKS}] * 3}))
    assert looking.routers == (("entropy", LOOKS),) * 3


@pytest.mark.parametrize(
    "change",
    [
        {"question": ""}, {"data_type": "song"}, {"settings": {"max_new_tokens": 0}}, {"settings": {"take_back": 0.2}},
        {"settings": 5}, {"together": 1}, {"routers": []}, {"routers": [ASKED["routers"][0]] * 4},
        {"routers": [{"router": "citer", "threshold": 1, "take_back": 0.2}]},
        {"routers": [{"router": "citer", "threshold": 0}]}, {"routers": [{"router": 5, "threshold": 0.5}]},
        {"another": 1},
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_refused(change):
    read_comparison(ProblemBook({}), json.dumps(ASKED))
    for given in (json.dumps(ASKED | change), None):
        with pytest.raises(CiterError):
            read_comparison(ProblemBook({}), given)
