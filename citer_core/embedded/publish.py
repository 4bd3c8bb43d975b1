"""Makes what ships from what was trained: checkpoints, problem sets, the router, their cards, the recorded runs.

Every step is one function with one command (`python -m citer_core embedded ...`) and writes into `assets/`.
"""

from __future__ import annotations

import datetime
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel

from citer_core.assets import ASSETS
from citer_core.embedded import multiple_choice
from citer_core.embedded.corpus import Row, held_out_rows
from citer_core.embedded.names import publish_model_hashes
from citer_core.embedded.pretrain import RECIPES, pretrain, tokenizer_for
from citer_core.engine import Engine
from citer_core.evaluation.accuracy import OperatingPoint, accuracy_alone, operating_points
from citer_core.hardware import hardware_in_words
from citer_core.labelling.label_files import LabelHeader, Rows, label_dataset, load_labels
from citer_core.labelling.labels import Labels, LabelSettings
from citer_core.labelling.rollouts import Policy
from citer_core.models.expected_files import FILES, bundled_files, sums_of
from citer_core.models.pair import ModelPair, load_pair
from citer_core.models.presets import EMBEDDED
from citer_core.routing.router_card import read_card
from citer_core.tasks.problems import Problem, problem_from_row
from citer_core.tasks.prompts import PROMPT_VERSION, DataType
from citer_core.training.objectives import OBJECTIVES
from citer_core.training.publish_router import train_and_describe
from citer_core.training.router_training import RouterRecipe

log = logging.getLogger(__name__)
FORMATS: tuple[DataType, ...] = ("math", "mc")
N_BUNDLED, N_CARD = 200, 1000
N_ROUTER_ROWS = 6000  # per format; with 1,200 the router fell far behind max-probability
TUNING, N_TUNING = "tuning2", 200  # a first stream had been looked at too often to choose anything by
SHARES = (0.05, 0.1, 0.15, 0.2, 0.25)  # of validation tokens below tau: the taus that are tried
DEFAULT_KIND = "citer"
COMMAND = "python -m citer_core embedded router"
AT_MOST_LLM = 0.40  # of the tokens: what the recommended tau must hold


def held_out(data_type: DataType, name: str, n: int, without: Sequence[Row] = ()) -> list[Row]:
    """The first `n` rows of a held-out stream that are not in `without`."""
    taken = {row["id"] for row in without}
    return list(islice((row for row in held_out_rows(data_type, name) if row["id"] not in taken), n))


def problems_of(rows: Sequence[Row], data_type: DataType) -> list[Problem]:
    """Rows as problems."""
    return [problem_from_row(row, data_type) for row in rows]


def publish_model(which: str, work_dir: Path, assets: Path = ASSETS) -> None:
    """Trains (or finishes) one model and writes it as a bfloat16 checkpoint into `models/`."""
    tokenizer = tokenizer_for(assets / "models" / "tokenizer")
    save_checkpoint(pretrain(RECIPES[which], tokenizer, work_dir / which), assets / "models" / which)
    publish_model_hashes(assets)


def save_checkpoint(model: PreTrainedModel, folder: Path) -> None:
    """Writes the model in bfloat16: half the file, and the rounding is far below what training left open."""
    model.to(torch.bfloat16).save_pretrained(folder)


def publish_problems(assets: Path = ASSETS) -> None:
    """Writes the bundled held-out problems in the official formats."""
    for data_type in FORMATS:
        path = assets / "datasets" / f"{data_type}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = held_out(data_type, "test", N_BUNDLED)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def publish_pair_card(work_dir: Path, assets: Path = ASSETS) -> dict[str, Any]:
    """Measures both models alone on unseen problems of each format and writes `models/card.json`."""
    pair = load_pair()
    card: dict[str, Any] = {
        "date": datetime.date.today().isoformat(),
        "hardware": hardware_in_words(),
        "command": "python -m citer_core embedded card",
        "pair_revision": pair.info.revision,
        "prompt_version": PROMPT_VERSION,
        "n_facts": multiple_choice.n_facts(),
        FILES: sums_of(assets / "models", bundled_files(assets / "models")),
        "models": {},
    }
    for which, lm, spec in (("slm", pair.slm, pair.info.slm), ("llm", pair.local_llm, pair.info.llm)):
        state = json.loads((work_dir / which / "state.json").read_text())
        card["models"][which] = {
            "n_params": spec.n_params,
            "n_layers": spec.n_layers,
            "hidden_size": spec.hidden_size,
            "training_tokens": state["tokens"],
            "training_steps": state["step"],
            "accuracy": {
                data_type: accuracy_alone(
                    lm, pair, problems_of(held_out(data_type, "test", N_CARD), data_type)
                ).to_dict()
                for data_type in FORMATS
            },
        }
        log.info("%s %s", which, card["models"][which]["accuracy"])
    (assets / "models" / "card.json").write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
    return card


def router_rows() -> Rows:
    """`N_ROUTER_ROWS` unseen problems per format, none of them in the test set."""
    rows: list[tuple[Mapping[str, Any], DataType]] = []
    for data_type in FORMATS:
        test = held_out(data_type, "test", N_CARD)
        rows += [(row, data_type) for row in held_out(data_type, "router", N_ROUTER_ROWS, without=test)]
    return rows


def label_router_rows(pair: ModelPair, work_dir: Path) -> tuple[LabelHeader, Labels, list[dict[str, Any]]]:
    """Iteration-1 labels of `router_rows`, with all rollouts and every question asked of the SLM alone."""
    rows, folder = router_rows(), work_dir / "router-labels"
    for n_done in label_dataset(pair, rows, folder, LabelSettings(Policy.slm_alone(), ask_slm=True)):
        log.info("labelled %d of %d rows", n_done, len(rows))
    return load_labels(folder, pair_revision=pair.info.revision, prompt_form=pair.info.prompt_form)


def publish_routers(work_dir: Path, assets: Path = ASSETS) -> None:
    """Labels, trains every kind of router, picks each one's tau on tuning problems, measures it on the test set.

    Kinds whose card is finished and of the same labels are left alone.
    """
    pair = load_pair()
    header, labels, rows = label_router_rows(pair, work_dir)
    recipe = RouterRecipe(learning_rates=(2e-3,), batch_size=4096, max_epochs=25, patience=4)
    for kind in (name for name, objective in OBJECTIVES.items() if objective.labels in (None, header.labels)):
        path = assets / "routers" / EMBEDDED / f"{kind}.json"
        if path.exists() and (card := read_card(path)).get("labels") == [asdict(header)] and "test" in card:
            continue
        router = train_and_describe([header], labels, rows, kind, recipe, AT_MOST_LLM / 2, command=COMMAND)
        engine = Engine(pair, {kind: router})
        # In steps of 0.01, which is what the page's slider can be set to.
        thresholds = sorted({round(router.threshold_at(share), 2) for share in SHARES} - {0.0, 1.0})
        tuning = {t: _points(engine, kind, t, TUNING, N_TUNING, (*thresholds, 1.0)) for t in FORMATS}
        threshold = recommend(tuning)
        # Either model alone is the same whatever the router: it is measured with the one that the page opens with.
        at = (0.0, threshold, 1.0) if kind == DEFAULT_KIND else (threshold,)
        tested = {t: _points(engine, kind, t, "test", N_BUNDLED, at) for t in FORMATS}
        router.card.pop("recommended_for_share")
        router.card |= {
            "data": f"{N_ROUTER_ROWS} generated problems of each format, unseen by both models and not in the test set",
            "recommended_threshold": threshold,
            "tuning": {t: [p.to_dict() for p in points] for t, points in tuning.items()},
            "test": {t: [p.to_dict() for p in points] for t, points in tested.items()},
        }
        router.save(assets / "routers" / EMBEDDED)


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
