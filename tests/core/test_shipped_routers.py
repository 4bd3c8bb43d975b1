"""Which labels each shipped router of the bundled pair learns; stubs label and train, and say what was asked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from citer_core.embedded import shipped_routers
from citer_core.routing.routers.constant import AlwaysLLMRouter, AlwaysSLMRouter
from citer_core.training.objectives import OBJECTIVES


@dataclass
class Header:
    labels: str
    iteration: int


@pytest.fixture
def recipe(tmp_path, monkeypatch):
    """The recipe without models: `asked` has the settings of each labelling, `trained` what each router learnt."""
    asked, trained = {}, {}
    info = SimpleNamespace(revision="r", prompt_form="bare")
    monkeypatch.setattr(shipped_routers, "load_pair", lambda: SimpleNamespace(info=info))
    monkeypatch.setattr(shipped_routers, "router_rows", lambda: [("row", "math")])
    monkeypatch.setattr(shipped_routers, "Engine", lambda *_: None)
    monkeypatch.setattr(shipped_routers, "_choose_and_measure", lambda _, router: router.card.update(test={}))
    monkeypatch.setattr(shipped_routers, "read_card", lambda path: json.loads(path.read_text()))

    def label_dataset(pair, rows, folder, settings):
        asked[folder.name] = settings
        yield len(rows)

    def load_labels(folder, **_):
        settings = asked[folder.name]
        return Header(settings.labels, settings.iteration), folder.name, [{}]

    def train_and_describe(headers, labels, rows, kind, recipe, share, *, command, name):
        trained[name] = (kind, labels)
        header = headers[0].__dict__

        def save(folder):
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{name}.json").write_text(json.dumps(router.card))

        router = SimpleNamespace(name=name, card={"label": "of the kind", "labels": [header]}, save=save)
        return router

    for function in (label_dataset, load_labels, train_and_describe):
        monkeypatch.setattr(shipped_routers, function.__name__, function)
    monkeypatch.setattr(shipped_routers, "load_router", lambda path, pair: path.stem)
    monkeypatch.setattr(
        shipped_routers.Policy, "routed", lambda router, share, **limits: SimpleNamespace(router=router, share=share)
    )
    return lambda: shipped_routers.publish_routers(tmp_path / "work", tmp_path / "assets"), asked, trained, tmp_path


def test_each_router_learns_its_own_labels_and_the_second_round_goes_on_under_the_first(recipe):
    publish, asked, trained, _ = recipe
    publish()
    first, second, outcome = (asked[name] for name in ("published-1", "published-2", "outcome"))
    assert isinstance(first.policy.router, AlwaysSLMRouter) and first.ask_slm and first.iteration == 1
    assert (second.policy.router, second.policy.share, second.iteration) == ("citer", 0.2, 2)
    assert isinstance(outcome.policy.router, AlwaysLLMRouter) and outcome.labels == "outcome"
    assert {settings.n_rollouts for settings in asked.values()} == {None}, "every open token is rolled out"
    assert trained["citer"] == ("citer", "published-1") and trained["citer-2"] == ("citer", "published-2")
    assert set(trained) == {*OBJECTIVES, "citer-2"}
    for name, (kind, labels) in trained.items():
        assert (labels == "outcome") == (OBJECTIVES[kind].labels == "outcome"), name


def test_finished_routers_are_left_alone_and_others_made_again(recipe):
    publish, _, trained, folder = recipe
    publish()
    cards = folder / "assets" / "routers" / "embedded"
    assert json.loads((cards / "citer-2.json").read_text())["label"] == "CITER, second round"
    unfinished = json.loads((cards / "co-llm.json").read_text())
    del unfinished["test"]
    (cards / "co-llm.json").write_text(json.dumps(unfinished))
    trained.clear()
    publish()
    assert trained == {"co-llm": ("co-llm", "published-1")}
