"""Labels without answers: routers that learn from a few problems of one format, by whose text is labelled.

The data set's solutions and labels by outcome are held against the LLM's own answers with the same labels, and against
the search of AutoJudge, whose labels are the cases of its text. Part `truths`. Knows nothing about the page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from citer_core.engine import Engine
from citer_core.evidence.accuracy import Named, run_book, tally, tried
from citer_core.evidence.plan import EvidencePlan
from citer_core.evidence.routers import Learner, RouterShop
from citer_core.labelling.labels import LabelMode, LabelSettings
from citer_core.labelling.rollouts import Policy
from citer_core.labelling.truth import Truth
from citer_core.models.pair import ModelPair
from citer_core.tasks.prompts import DataType


class Way(NamedTuple):
    """How labels are made, and the kind of router that learns them; all have one architecture."""

    labels: LabelMode
    kind: str


WAYS: Mapping[Truth, Way] = {
    "gold": Way("outcome", "citer-outcome"),
    "llm": Way("outcome", "citer-outcome"),
    "walk": Way("published", "citer-plus"),
}


class TruthShop(RouterShop):
    """Labels a few problems by each truth, and trains routers of every size as `truth-size`."""

    batch_size, command = 512, "python -m citer_core evidence --parts truths"

    def __init__(
        self, pair: ModelPair, folder: Path, plan: EvidencePlan, data_type: DataType, say: Callable[[str], None]
    ) -> None:
        super().__init__(pair, folder, plan, lambda text: say(f"{data_type}, {text}"))
        self.rows = plan.labelled((data_type,))[: max(plan.truth_sizes)]
        self._learners = [
            Learner(f"{truth}-{size}", f"{truth}-{size}", way.kind, truth, n_problems=size)
            for truth, way in WAYS.items()
            for size in plan.truth_sizes
        ]

    def settings(self, name: str) -> LabelSettings:
        """How a truth's labels are made."""
        (truth,) = (one for one in WAYS if one == name)
        limits = {"max_new_tokens": self._plan.max_new_tokens, "batch_size": self._plan.batch_size}
        return LabelSettings(Policy.llm_alone(**limits), labels=WAYS[truth].labels, truth=truth)

    def costs(self) -> list[dict[str, Any]]:
        """What the labels of each truth took."""
        n, seconds = len(self.rows), self.seconds()
        return [
            {"truth": truth, "n_problems": n, "n_tokens": len(self.labels(truth)[1])}
            | {"seconds": round(seconds[f"label {truth}"], 3)}
            for truth in WAYS
        ]


def of_truths(
    engine: Engine, work: Path, data_type: DataType, plan: EvidencePlan, say: Callable[[str], None]
) -> dict[str, Any]:
    """The entry of one format in the part `truths`: labels and what they cost, and every router at every share."""
    folder = work / "truths" / data_type
    shop = TruthShop(engine.pair, folder, plan, data_type, say)
    everything = Engine(engine.pair, shop.trained())
    asked = [
        (Named(f"{learner.name}@{seed}", learner.labels, "", seed), learner.n_problems, share)
        for learner, seed in shop.all()
        for share in plan.truth_shares
    ]
    with run_book(everything, folder, data_type, plan) as book:
        found = tried(book, plan.test(data_type), plan.tuning(data_type), [(named, at) for named, _, at in asked], say)
    points = [
        {
            "truth": one.named.router,
            "n_labelled": size,
            **{name: one.about[name] for name in ("seed", "share_wanted", "threshold", "right")},
            **tally(one.runs, ("n_tokens", "n_llm_tokens")),
        }
        for one, (_, size, _) in zip(found, asked, strict=True)
    ]
    return {"n": plan.n_test, "labels": shop.costs(), "points": points}
