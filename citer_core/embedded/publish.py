"""Makes what ships from what was trained: checkpoints, problem sets, the router, their cards, the recorded runs.

Every step is one function with one command (`python -m citer_core embedded ...`) and writes into `assets/`.
"""

from __future__ import annotations

import datetime
import json
import logging
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel

from citer_core.assets import ASSETS
from citer_core.embedded import multiple_choice
from citer_core.embedded.corpus import Row, held_out_rows
from citer_core.embedded.pretrain import RECIPES, pretrain, tokenizer_for
from citer_core.engine import Engine, hardware_in_words
from citer_core.evaluation.accuracy import OperatingPoint, accuracy_alone, operating_points
from citer_core.models.pair import ModelPair, load_pair
from citer_core.routing.routers.citer import CiterRouter
from citer_core.tasks.problems import Problem, problem_from_row
from citer_core.tasks.prompts import PROMPT_VERSION, DataType
from citer_core.training.labels import Labels, label_dataset
from citer_core.training.router_training import RouterRecipe, train_router

log = logging.getLogger(__name__)
FORMATS: tuple[DataType, ...] = ("math", "mc")
N_BUNDLED, N_CARD = 200, 1000
N_ROUTER_ROWS = 6000  # per format; with 1,200 the router fell far behind max-probability
TUNING, N_TUNING = "tuning2", 200  # a first stream had been looked at too often to choose anything by
THRESHOLDS = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95)
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
        "models": {},
    }
    for which, lm, spec in (("slm", pair.slm, pair.info.slm), ("llm", pair.llm, pair.info.llm)):
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


def label_router_rows(pair: ModelPair, work_dir: Path) -> Labels:
    """Iteration-1 labels of `N_ROUTER_ROWS` unseen problems per format, none of them in the test set."""
    rows: list[tuple[Mapping[str, Any], DataType]] = []
    for data_type in FORMATS:
        test = held_out(data_type, "test", N_CARD)
        rows += [(row, data_type) for row in held_out(data_type, "router", N_ROUTER_ROWS, without=test)]
    shards = []
    for shard in label_dataset(pair, rows, work_dir / "labels"):
        shards.append(shard)
        log.info("labelled %d of %d rows", min(100 * len(shards), len(rows)), len(rows))
    return Labels.concatenate(shards)


def publish_router(work_dir: Path, assets: Path = ASSETS) -> None:
    """Labels, trains the published router, picks tau on problems of their own, and measures it on the test set."""
    pair = load_pair()
    labels = label_router_rows(pair, work_dir)
    is_mc = (labels.question >= N_ROUTER_ROWS).int()
    trained = train_router(labels, RouterRecipe(learning_rates=(3e-4, 1e-3), batch_size=1024), group=is_mc)
    card = {
        "name": "citer",
        "label": "CITER (hidden-state MLP, iteration 1)",
        "hidden_size": pair.hidden_size,
        "pair_revision": pair.info.revision,
        "prompt_version": PROMPT_VERSION,
        "date": datetime.date.today().isoformat(),
        "hardware": hardware_in_words(),
        "command": "python -m citer_core embedded router",
        "data": f"{N_ROUTER_ROWS} generated problems of each format, unseen by both models and not in the test set",
        "label_shares": {str(case): round(float((labels.case == case).float().mean()), 4) for case in (1, 2, 3)}
        | {"prefer_slm": round(float(labels.label.float().mean()), 4), "n_tokens": len(labels.label)},
        "prior": "confidence is for equal priors within each format: the loss adds the format's log-odds to the logit",
        "training": trained.report,
    }
    router = CiterRouter(trained.mlp, card)
    engine = Engine(pair, {router.name: router})
    tuning = {t: _points(engine, router.name, t, TUNING, N_TUNING, (*THRESHOLDS, 1.0)) for t in FORMATS}
    threshold = recommend(tuning)
    tested = {t: _points(engine, router.name, t, "test", N_BUNDLED, (0.0, threshold, 1.0)) for t in FORMATS}
    router.card |= {
        "recommended_threshold": threshold,
        "tuning": {t: [p.to_dict() for p in points] for t, points in tuning.items()},
        "test": {t: [p.to_dict() for p in points] for t, points in tested.items()},
    }
    router.save(assets / "routers")


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
