"""What of the evidence ships with the bundled pair: its routers, each with its tau chosen and tested; and the problems
of the page's Lab, some of those that these are labelled from and all that they are tested on, so that a router that is
trained in the page is held to the same.
"""

from __future__ import annotations

import copy
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from citer_core.assets import ASSETS
from citer_core.embedded.publish import N_BUNDLED, N_CARD, held_out
from citer_core.engine import Engine
from citer_core.evaluation.accuracy import OperatingPoint
from citer_core.evaluation.run_book import operating_points
from citer_core.evidence.plan import FORMATS, EvidencePlan
from citer_core.evidence.routers import RouterShop, learners
from citer_core.models.pair import load_pair
from citer_core.models.presets import EMBEDDED
from citer_core.routing.router_card import read_card
from citer_core.routing.stored import StoredRouter
from citer_core.tasks.boxed import last_boxed
from citer_core.tasks.problems import Problem
from citer_core.tasks.prompts import DataType

log = logging.getLogger(__name__)
SHIPPED = (
    "citer", "citer-2", "citer-plus", "citer-s-a", "citer-s-b", "co-llm", "query-level", "citer-outcome",
    "citer-outcome-mlp",
)  # fmt: skip
# As long as there is one round, it needs no number.
LABELS = {"citer": "CITER", "citer-plus": "CITER plus"}
N_TUNING, N_TRAINING = 100, 240
SHARES = (0.05, 0.1, 0.15, 0.2, 0.25)  # of validation tokens below tau: the taus that are tried
DEFAULT_KIND = "citer"
COMMAND = "python -m citer_core embedded router"
AT_MOST_LLM = 0.40  # of the tokens: what the recommended tau must hold


def publish_routers(work_dir: Path, plan: EvidencePlan | None = None, assets: Path = ASSETS) -> None:
    """Takes every router of `SHIPPED`, picks its tau on tuning problems and measures it on the bundled ones.

    Labels and routers are those of `citer_core evidence` with the same work folder, of the first seed; what is missing
    is made. Routers whose card is finished and of the same weights are left alone.
    """
    plan = plan or EvidencePlan()
    pair = load_pair()
    shop = RouterShop(pair, work_dir, plan, log.info)
    folder = assets / "routers" / EMBEDDED
    by_name = {learner.name: learner for learner in learners(plan)}
    for name in SHIPPED:
        trained = shop.router(by_name[name], plan.seeds[0])
        path = folder / f"{name}.json"
        if path.exists() and (card := read_card(path))["revision"] == trained.revision and "test" in card:
            continue
        label = LABELS.get(name, trained.label)
        card = copy.deepcopy(trained.unsaved_card()) | {"command": COMMAND, "label": label}
        router = type(trained)(trained.network, card)
        choose_and_measure(Engine(pair, {name: router}), router, plan)
        router.save(folder)


def choose_and_measure(engine: Engine, router: StoredRouter, plan: EvidencePlan) -> None:
    """Gives the router its tau, and its card what that brings."""
    # In steps of 0.01, which is what the page's slider can be set to.
    thresholds = sorted({round(router.threshold_at(share), 2) for share in SHARES} - {0.0, 1.0})
    tuning = {t: _points(engine, router, plan.tuning(t).problems[:N_TUNING], (*thresholds, 1.0)) for t in FORMATS}
    threshold = recommend(tuning)
    # Either model alone is the same whatever the router: it is measured with the one that the page opens with.
    at = (0.0, threshold, 1.0) if router.name == DEFAULT_KIND else (threshold,)
    tested = {t: _points(engine, router, plan.test(t).problems[:N_BUNDLED], at) for t in FORMATS}
    router.card.pop("recommended_for_share")
    router.card |= {
        "data": f"{plan.n_labelled} generated problems of each format, unseen by both models, none of them tested or "
        "tuned on",
        "recommended_threshold": threshold,
        "tuning": {t: [p.to_dict() for p in points] for t, points in tuning.items()},
        "test": {t: [p.to_dict() for p in points] for t, points in tested.items()},
    }


def _points(
    engine: Engine, router: StoredRouter, problems: Sequence[Problem], thresholds: Sequence[float]
) -> list[OperatingPoint]:
    points = []
    for point in operating_points(engine, problems, router.name, thresholds):
        points.append(point)
        log.info("%s %s", router.name, point.to_dict())
    return points


def recommend(points: Mapping[DataType, Sequence[OperatingPoint]]) -> float:
    """The tau within the budget that keeps most of the LLM's accuracy in the worse format; of equal ones the lowest.

    Args:
        points: per format, the same thresholds in ascending order; the last is tau = 1, the LLM by itself.

    Raises:
        ValueError: every threshold takes more than `AT_MOST_LLM` of the tokens.
    """
    table = list(zip(*points.values(), strict=True))
    llm_only = table[-1]

    def kept(row: Sequence[OperatingPoint]) -> float:
        return min(float(p.accuracy.share / llm.accuracy.share) for p, llm in zip(row, llm_only, strict=True))

    affordable = [row for row in table if all(p.llm_token_share <= AT_MOST_LLM for p in row)]
    if not affordable:
        raise ValueError(f"Every threshold takes more than {AT_MOST_LLM:.0%} of the tokens from the LLM.")
    return float(max(affordable, key=kept)[0].threshold)


def training_rows(data_type: DataType) -> list[dict[str, Any]]:
    """The first of the labelled ones, as they are."""
    return [dict(row) for row, _ in EvidencePlan(n_labelled=N_TRAINING).labelled((data_type,))]


def unseen_rows(data_type: DataType, n: int = N_CARD) -> Iterator[dict[str, Any]]:
    """Those that are tested on, with what asks and judges and nothing else."""
    for row in held_out(data_type, "test", n):
        if data_type == "math":
            yield {"problem": row["problem"], "solution": rf"\boxed{{{last_boxed(row['solution'])}}}"}
        else:
            yield {name: row[name] for name in ("question", "choices", "answerKey")} | {"cot": ""}


def publish_lab_problems(assets: Path = ASSETS) -> None:
    """Writes them in the official formats, a file for each use and format."""
    for data_type in FORMATS:
        for use, rows in (("train", training_rows(data_type)), ("test", unseen_rows(data_type))):
            lines = [json.dumps(row, separators=(",", ":")) + "\n" for row in rows]
            (assets / "datasets" / f"lab-{use}-{data_type}.jsonl").write_text("".join(lines), encoding="utf-8")
