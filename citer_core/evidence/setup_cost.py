"""What routing costs before the first answer: the part `setup`. Labelling, training and tuning, in seconds and passes.

Labels of some problems and the search for each tau are done once more, with models that count their passes; training is
what the part `routers` has timed. Knows nothing about what an answer then saves: see `payback`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from citer_core.engine import Engine
from citer_core.evaluation.run_book import threshold_for
from citer_core.evidence.meter import Meter
from citer_core.evidence.plan import FORMATS, EvidencePlan
from citer_core.evidence.routers import OUTCOME, RouterShop, published, round_of
from citer_core.evidence.runs import run_book
from citer_core.labelling.label_files import PART_SIZE
from citer_core.labelling.labels import label_examples
from citer_core.labelling.teacher_forcing import example_of
from citer_core.routing.stored import StoredRouter

FREE = "max-probability"
BYTES_A_NUMBER = 4  # training is in float32
ARRAYS = 4  # weights, gradients, Adam's two moments: each step reads and writes all


def roads(plan: EvidencePlan) -> dict[str, tuple[str, ...]]:
    """What is priced: each router with the folders of labels that it needs; rounds before it are trained on the way."""
    rounds = {
        round_of("citer", k): tuple(published(j) for j in range(1, k + 1)) for k in range(1, min(2, plan.n_rounds) + 1)
    }
    return {FREE: (), **rounds, "citer-outcome": (OUTCOME,)}


def setup_cost(
    engine: Engine, shop: RouterShop, plan: EvidencePlan, share: float, say: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """The content of the part.

    Args:
        engine: with the pair's own routers.
        shop: with all that is trained.
        plan: sizes.
        share: of LLM tokens, for which each tau is looked for.
        say: told about progress.
    """
    meter = Meter(engine.pair)
    wanted = roads(plan)
    seed = plan.seeds[0]
    folders = sorted({folder for folders in wanted.values() for folder in folders})
    names = [name for name in wanted if name != FREE]
    routers = {name: shop.trained_router(name, seed) for name in names}
    metered = Engine(meter.pair, {FREE: engine.router(FREE), **routers})
    return {
        "n_labelled": len(plan.labelled()),
        "labels": [_labelled(meter, shop, plan, folder, say) for folder in folders],
        "training": [_trained(routers[name], shop, name) for name in names],
        "tuning": [_tuned(meter, metered, plan, name, share, say) for name in wanted],
        "roads": {name: list(folders) for name, folders in wanted.items()},
        "share_wanted": share,
    }


def _labelled(
    meter: Meter, shop: RouterShop, plan: EvidencePlan, folder: str, say: Callable[[str], None]
) -> dict[str, Any]:
    """Labels the first problems of each format as the folder's were, without what only query-level routing asks for."""
    settings = replace(shop.settings(folder), ask_slm=False)
    rows = [pair for kind in FORMATS for pair in plan.labelled((kind,))[: plan.n_setup]]
    examples = [example_of(row, data_type, meter.pair) for row, data_type in rows]
    say(f"{folder}: {len(examples)} problems labelled once more, to count what that takes")
    with meter.reading() as spent:
        for start in range(0, len(examples), PART_SIZE):
            label_examples(meter.pair, examples[start : start + PART_SIZE], settings, first_question=start)
    return {"labels": folder, "n_problems": len(examples), **spent.to_dict()}


def _trained(router: StoredRouter, shop: RouterShop, name: str) -> dict[str, Any]:
    training = router.card["training"]
    recipe, n_tokens = training["recipe"], training["n_tokens"]
    n_epochs = min(recipe["max_epochs"], training["best_epoch"] + 1 + recipe["patience"])
    n_steps = n_epochs * -(-n_tokens["train"] // recipe["batch_size"])
    n_read = n_epochs * (n_tokens["train"] + n_tokens["validation"])
    return {
        "router": name,
        "seconds": shop.seconds_of_training(name),
        "n_params": router.n_params,
        "n_epochs": n_epochs,
        # Two operations per parameter forward, four backward; validation goes forward only.
        "flops": n_epochs * router.n_params * (6 * n_tokens["train"] + 2 * n_tokens["validation"]),
        "n_bytes": BYTES_A_NUMBER * (n_read * router.card["hidden_size"] + n_steps * 2 * ARRAYS * router.n_params),
    }


def _tuned(
    meter: Meter, engine: Engine, plan: EvidencePlan, name: str, share: float, say: Callable[[str], None]
) -> dict[str, Any]:
    """Looks for a router's tau on the tuning problems of both formats, from nothing."""
    n_decoded = 0
    with TemporaryDirectory() as folder, meter.reading() as spent:
        for data_type in FORMATS:
            with run_book(engine, Path(folder), data_type, plan) as book:
                threshold_for(book, name, plan.tuning(data_type), share)
                n_decoded += book.n_decoded
    say(f"{name}: {n_decoded} answers to find tau")
    return {"router": name, "n_answers": n_decoded, **spent.to_dict()}
