"""Labels the bundled pair's router problems, trains every router that ships, chooses and measures their taus."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from citer_core.assets import ASSETS
from citer_core.embedded.publish import FORMATS, N_BUNDLED, N_CARD, held_out, problems_of
from citer_core.engine import Engine
from citer_core.evaluation.accuracy import OperatingPoint, operating_points
from citer_core.labelling.label_files import LabelHeader, Rows, label_dataset, load_labels
from citer_core.labelling.labels import LabelMode, Labels, LabelSettings
from citer_core.labelling.rollouts import Policy
from citer_core.models.pair import ModelPair, load_pair
from citer_core.models.presets import EMBEDDED
from citer_core.routing.catalog import load_router
from citer_core.routing.router_card import read_card
from citer_core.routing.stored import StoredRouter
from citer_core.tasks.prompts import DataType
from citer_core.training.publish_router import train_and_describe
from citer_core.training.router_training import RouterRecipe

log = logging.getLogger(__name__)
N_ROUTER_ROWS = 3200  # per format; 800 cost 3 to 4 points at 5 and 10% LLM tokens
TUNING, N_TUNING = "tuning", 100
ROLLOUT_SHARE = 0.2  # of LLM tokens in the second round's rollouts
LIMITS = {"max_new_tokens": 192, "batch_size": 128}  # of rollouts; no solution is longer
SHARES = (0.05, 0.1, 0.15, 0.2, 0.25)  # of validation tokens below tau: the taus that are tried
DEFAULT_KIND = "citer"
COMMAND = "python -m citer_core embedded router"
AT_MOST_LLM = 0.40  # of the tokens: what the recommended tau must hold


def router_rows() -> Rows:
    """`N_ROUTER_ROWS` unseen problems per format, none of them in the test set."""
    rows: list[tuple[Mapping[str, Any], DataType]] = []
    for data_type in FORMATS:
        test = held_out(data_type, "test", N_CARD)
        rows += [(row, data_type) for row in held_out(data_type, "router", N_ROUTER_ROWS, without=test)]
    return rows


@dataclass(frozen=True, slots=True)
class ShippedRouter:
    """A router of the bundled pair.

    Attributes:
        kind: what it learns, of `OBJECTIVES`.
        labels: which folder of labels, of `LABELLINGS`.
        label: for people; None takes the kind's.
    """

    kind: str
    labels: str
    label: str | None = None


# Whose rollouts each folder of labels has, beside its mode and round; the second round is under the first one's router.
LABELLINGS: Mapping[str, tuple[LabelMode, int]] = {
    "published-1": ("published", 1),
    "published-2": ("published", 2),
    "outcome": ("outcome", 1),
}
SHIPPED: Mapping[str, ShippedRouter] = {
    "citer": ShippedRouter("citer", "published-1"),
    "citer-2": ShippedRouter("citer", "published-2", "CITER, second round"),
    **{
        kind: ShippedRouter(kind, "published-1")
        for kind in ("citer-plus", "citer-s-a", "citer-s-b", "co-llm", "query-level")
    },
    "citer-outcome": ShippedRouter("citer-outcome", "outcome"),
    "citer-outcome-mlp": ShippedRouter("citer-outcome-mlp", "outcome"),
}


def label_router_rows(
    pair: ModelPair, work_dir: Path, labelling: str, first_router: StoredRouter | None = None
) -> tuple[LabelHeader, Labels, list[dict[str, Any]]]:
    """Labels of `router_rows` with all rollouts, kept in `work_dir/labels`.

    Args:
        pair: the two models.
        work_dir: of the recipe; a stopped labelling goes on there.
        labelling: of `LABELLINGS`. The first round of published labels also asks the SLM every question.
        first_router: the first round's, for the second one's rollouts.
    """
    mode, iteration = LABELLINGS[labelling]
    policy = Policy.llm_alone(**LIMITS) if mode == "outcome" else Policy.slm_alone(**LIMITS)
    if iteration > 1:
        assert first_router is not None
        policy = Policy.routed(first_router, ROLLOUT_SHARE, **LIMITS)
    settings = LabelSettings(policy, iteration, ask_slm=labelling == "published-1", labels=mode)
    rows, folder = router_rows(), work_dir / "labels" / labelling
    folder.parent.mkdir(parents=True, exist_ok=True)
    for n_done in label_dataset(pair, rows, folder, settings):
        log.info("%s: labelled %d of %d rows", labelling, n_done, len(rows))
    return load_labels(folder, pair_revision=pair.info.revision, prompt_form=pair.info.prompt_form)


def publish_routers(work_dir: Path, assets: Path = ASSETS) -> None:
    """Labels, trains every router of `SHIPPED`, picks each one's tau on tuning problems, measures it on the test set.

    Routers whose card is finished and of the same labels are left alone.
    """
    pair = load_pair()
    recipe = RouterRecipe(learning_rates=(2e-3,), batch_size=4096, max_epochs=25, patience=4)
    folder = assets / "routers" / EMBEDDED
    first_router: StoredRouter | None = None
    for labelling in LABELLINGS:
        header, labels, rows = label_router_rows(pair, work_dir, labelling, first_router)
        for name, shipped in SHIPPED.items():
            path = folder / f"{name}.json"
            if shipped.labels != labelling:
                continue
            if path.exists() and (card := read_card(path)).get("labels") == [asdict(header)] and "test" in card:
                continue
            router = train_and_describe(
                [header], labels, rows, shipped.kind, recipe, AT_MOST_LLM / 2, command=COMMAND, name=name
            )
            if shipped.label is not None:
                router.card["label"] = shipped.label
            _choose_and_measure(Engine(pair, {name: router}), router)
            router.save(folder)
        if labelling == "published-1":
            first_router = load_router(folder / f"{DEFAULT_KIND}.json", pair)


def _choose_and_measure(engine: Engine, router: StoredRouter) -> None:
    """Gives the router its tau, and its card what that brings."""
    # In steps of 0.01, which is what the page's slider can be set to.
    thresholds = sorted({round(router.threshold_at(share), 2) for share in SHARES} - {0.0, 1.0})
    tuning = {t: _points(engine, router.name, t, TUNING, N_TUNING, (*thresholds, 1.0)) for t in FORMATS}
    threshold = recommend(tuning)
    # Either model alone is the same whatever the router: it is measured with the one that the page opens with.
    at = (0.0, threshold, 1.0) if router.name == DEFAULT_KIND else (threshold,)
    tested = {t: _points(engine, router.name, t, "test", N_BUNDLED, at) for t in FORMATS}
    router.card.pop("recommended_for_share")
    router.card |= {
        "data": f"{N_ROUTER_ROWS} generated problems of each format, unseen by both models and not in the test set",
        "recommended_threshold": threshold,
        "tuning": {t: [p.to_dict() for p in points] for t, points in tuning.items()},
        "test": {t: [p.to_dict() for p in points] for t, points in tested.items()},
    }


def _points(
    engine: Engine, router: str, data_type: DataType, stream: str, n: int, thresholds: Sequence[float]
) -> list[OperatingPoint]:
    test = held_out(data_type, "test", N_CARD) if stream != "test" else []
    problems = problems_of(held_out(data_type, stream, n, without=test), data_type)
    points = []
    for point in operating_points(engine, problems, router, thresholds):
        points.append(point)
        log.info("%s %s %s", stream, data_type, point.to_dict())
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
