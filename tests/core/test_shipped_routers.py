"""The routers that ship: which of the evidence's they are, their names, their taus; a stub shop labels and trains."""

from __future__ import annotations

import dataclasses
import json

import pytest
import torch

from citer_core.evaluation.accuracy import Accuracy, OperatingPoint
from citer_core.evidence import shipped_routers
from citer_core.evidence.plan import EvidencePlan
from citer_core.evidence.routers import learners
from citer_core.evidence.shipped_routers import SHIPPED, recommend
from citer_core.training.objectives import OBJECTIVES

PLAN = EvidencePlan(n_labelled=7)


def point(threshold, right, share):
    return OperatingPoint(threshold, Accuracy(100, right), 1000, share, 1.0, 1.0, share, 1.0)


def test_the_recommended_tau_keeps_most_of_the_worse_format_within_the_budget():
    math = [point(0.5, 80, 0.1), point(0.7, 94, 0.2), point(0.8, 95, 0.3), point(0.9, 96, 0.41), point(1.0, 96, 1.0)]
    mc = [point(0.5, 95, 0.1), point(0.7, 90, 0.2), point(0.8, 93, 0.3), point(0.9, 95, 0.4), point(1.0, 95, 1.0)]
    assert recommend({"math": math, "mc": mc}) == 0.8  # 0.9 would keep all of it for one percent too much
    same = [point(0.5, 90, 0.1), point(0.7, 90, 0.2), point(1.0, 90, 1.0)]
    assert recommend({"math": same, "mc": same}) == 0.5
    with pytest.raises(ValueError, match="40%"):
        recommend({"math": math[-1:], "mc": mc[-1:]})


@pytest.fixture
def shop(tiny_pair, tmp_path, monkeypatch):
    """Publishes into `tmp_path`; says which routers were asked of the stub, and which were measured."""
    asked, measured = [], []

    class Shop:
        def __init__(self, pair, folder, plan, say):
            assert pair is tiny_pair and folder == tmp_path / "work" and plan is PLAN

        def router(self, learner, seed):
            asked.append((learner.name, seed))
            torch.manual_seed(len(learner.name))
            architecture = OBJECTIVES[learner.kind].architecture
            card = {"name": learner.name, "label": learner.label, "hidden_size": tiny_pair.hidden_size}
            card |= {"pair_revision": tiny_pair.info.revision, "recommended_for_share": 0.2}
            return architecture(architecture.build(tiny_pair.hidden_size), card)

    def choose_and_measure(engine, router, plan):
        assert engine.router(router.name) is router and plan is PLAN
        measured.append(router.name)
        router.card |= {"recommended_threshold": 0.4, "test": {}}

    monkeypatch.setattr(shipped_routers, "load_pair", lambda: tiny_pair)
    monkeypatch.setattr(shipped_routers, "RouterShop", Shop)
    monkeypatch.setattr(shipped_routers, "choose_and_measure", choose_and_measure)

    def publish():
        asked.clear(), measured.clear()
        shipped_routers.publish_routers(tmp_path / "work", PLAN, tmp_path)
        return list(asked), list(measured)

    return publish


def test_every_kind_ships_with_the_first_seed_and_finished_ones_are_left_alone(shop, tmp_path):
    asked, measured = shop()
    assert asked == [(name, 0) for name in SHIPPED] and measured == list(SHIPPED)
    kinds = {learner.name: learner.kind for learner in learners(PLAN)}
    assert {kinds[name] for name in SHIPPED} == set(OBJECTIVES)
    folder = tmp_path / "routers" / "embedded"
    cards = {path.stem: json.loads(path.read_text()) for path in folder.glob("*.json")}
    assert cards.keys() == set(SHIPPED)
    assert {name: card["kind"] for name, card in cards.items()} == {
        name: OBJECTIVES[kinds[name]].architecture.kind for name in SHIPPED
    }
    assert [cards[name]["label"] for name in ("citer", "citer-2", "citer-plus")] == [
        "CITER", "CITER, round 2", "CITER plus",
    ]  # fmt: skip
    del cards["co-llm"]["test"]
    (folder / "co-llm.json").write_text(json.dumps(cards["co-llm"]))
    cards["citer-2"]["revision"] = "0" * 16
    (folder / "citer-2.json").write_text(json.dumps(cards["citer-2"]))
    assert shop()[1] == ["citer-2", "co-llm"]


def test_tau_is_chosen_on_tuning_problems_and_tested_on_the_bundled_ones(monkeypatch):
    """Points come from a stub; what is tested is which are asked for."""
    plan, asked = EvidencePlan(n_tuning=3, n_test=5), []

    def points(engine, problems, router, thresholds):
        asked.append((problems, router, tuple(thresholds)))
        for threshold in thresholds:
            yield OperatingPoint(threshold, Accuracy(10, int(10 * threshold)), 90, 0.7 * threshold, 1.0, 1.0, 0.5, 1.0)

    class Router:
        def __init__(self, name):
            self.name, self.card = name, {"recommended_for_share": 0.2}

        def threshold_at(self, share):
            return 2 * share

    monkeypatch.setattr(shipped_routers, "operating_points", points)
    for name, tested_at in (("citer", (0.0, 0.5, 1.0)), ("co-llm", (0.5,))):
        router = Router(name)
        shipped_routers.choose_and_measure(None, router, dataclasses.replace(plan))
        assert router.card["recommended_threshold"] == 0.5
        assert [len(router.card["test"][kind]) for kind in ("math", "mc")] == [len(tested_at)] * 2
        assert [(problems, taus) for problems, _, taus in asked] == [
            *((plan.tuning(kind).problems, (0.1, 0.2, 0.3, 0.4, 0.5, 1.0)) for kind in ("math", "mc")),
            *((plan.test(kind).problems, tested_at) for kind in ("math", "mc")),
        ]
        asked.clear()
