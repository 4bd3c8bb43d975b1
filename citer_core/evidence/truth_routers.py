"""Labels without answers: routers that learn from a few problems of one format, by whose text is labelled.

The data set's solutions and labels by outcome are held against the LLM's own answers with the same labels, and against
the search of AutoJudge, whose labels are the cases of its text. Part `truths`. Knows nothing about the page.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from citer_core.engine import Engine
from citer_core.evidence.accuracy import Named, run_book, tally, tried
from citer_core.evidence.plan import EvidencePlan
from citer_core.labelling.label_files import label_dataset, load_labels
from citer_core.labelling.labels import LabelMode, LabelSettings
from citer_core.labelling.rollouts import Policy
from citer_core.labelling.truth import Truth
from citer_core.routing.catalog import load_router
from citer_core.routing.stored import StoredRouter
from citer_core.row_file import NUMBER, RowFile
from citer_core.tasks.prompts import DataType
from citer_core.training.publish_router import train_and_describe
from citer_core.training.router_training import RouterRecipe

COMMAND = "python -m citer_core evidence --parts truths"


class Way(NamedTuple):
    """How labels are made, and the kind of router that learns them; all have one architecture."""

    labels: LabelMode
    kind: str


WAYS: Mapping[Truth, Way] = {
    "gold": Way("outcome", "citer-outcome"),
    "llm": Way("outcome", "citer-outcome"),
    "walk": Way("published", "citer-plus"),
}


def of_truths(
    engine: Engine, work: Path, data_type: DataType, plan: EvidencePlan, say: Callable[[str], None]
) -> dict[str, Any]:
    """The entry of one format in the part `truths`: labels and what they cost, and every router at every share."""
    folder = work / "truths" / data_type
    found: dict[str, StoredRouter] = {}
    labelled = []
    for truth, way in WAYS.items():
        routers, cost = _of_truth(engine, folder, truth, way, data_type, plan, say)
        found |= routers
        labelled.append(cost)
    everything = Engine(engine.pair, found)
    names = {key: Named(key, key.partition("-")[0], "", int(key.rpartition("@")[2])) for key in found}
    asked = [(named, share) for named in names.values() for share in plan.truth_shares]
    with run_book(everything, folder, data_type, plan) as book:
        points = [
            {
                "truth": one.named.router,
                "n_labelled": int(one.named.key.partition("-")[2].partition("@")[0]),
                **{name: one.about[name] for name in ("seed", "share_wanted", "threshold", "right")},
                **tally(one.runs, ("n_tokens", "n_llm_tokens")),
            }
            for one in tried(book, plan.test(data_type), plan.tuning(data_type), asked, say)
        ]
    return {"n": plan.n_test, "labels": labelled, "points": points}


def _of_truth(
    engine: Engine,
    folder: Path,
    truth: Truth,
    way: Way,
    data_type: DataType,
    plan: EvidencePlan,
    say: Callable[[str], None],
) -> tuple[dict[str, StoredRouter], dict[str, Any]]:
    """Routers of every size and seed as `truth-size@seed`, and what the labels cost; what is there stays."""
    n = max(plan.truth_sizes)
    rows = plan.labelled((data_type,))[:n]
    limits = {"max_new_tokens": plan.max_new_tokens, "batch_size": plan.batch_size}
    settings = LabelSettings(Policy.llm_alone(**limits), labels=way.labels, truth=truth)
    with RowFile(folder / f"seconds-{truth}.jsonl", {"n": n}, {"seconds": NUMBER}) as seconds:
        start = time.perf_counter()
        for n_done in label_dataset(engine.pair, rows, folder / truth, settings):
            if str(n_done) not in seconds.rows:
                seconds.append({"id": str(n_done), "seconds": round(time.perf_counter() - start, 3)})
            say(f"{data_type}, {truth}: labelled {n_done} of {n} problems")
            start = time.perf_counter()
        spent = sum(row["seconds"] for row in seconds.rows.values())
    info = engine.pair_info
    header, labels, told = load_labels(folder / truth, pair_revision=info.revision, prompt_form=info.prompt_form)
    found = {}
    for size in plan.truth_sizes:
        for seed in plan.seeds:
            key = f"{truth}-{size}@{seed}"
            card = folder / "routers" / f"{key}.json"
            if not card.exists():
                recipe = RouterRecipe((2e-3,), batch_size=512, max_epochs=25, patience=4, seed=seed)
                some = labels.take(labels.question < size)
                share = plan.rollout_share
                train_and_describe(
                    [header], some, told[:size], way.kind, recipe, share, command=COMMAND, name=key
                ).save(card.parent)
            found[key] = load_router(card, engine.pair)
    return found, {"truth": truth, "n_problems": n, "n_tokens": len(labels), "seconds": round(spent, 3)}
