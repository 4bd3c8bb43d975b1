"""Which routers a pair has: the trained ones stored for it first, then those that need no training."""

from __future__ import annotations

from pathlib import Path

from citer_core.assets import ASSETS
from citer_core.errors import RouterError
from citer_core.models.pair import ModelPair
from citer_core.routing.mlp import MLPRouter
from citer_core.routing.router import Router
from citer_core.routing.training_free import MaxProbabilityRouter


def load_routers(pair: ModelPair, folder: Path = ASSETS / "routers") -> tuple[dict[str, Router], list[RouterError]]:
    """Every router for `pair` by name, the default first.

    Args:
        pair: the loaded pair.
        folder: holds one `NAME.json` with `NAME.safetensors` per trained router.

    Returns:
        The routers, and what is wrong with those that could not be loaded: one damaged file must not take the others,
        or the page, down with it.
    """
    routers: dict[str, Router] = {}
    problems = []
    for card in sorted(folder.glob("*.json")):
        try:
            router = load_router(card, pair)
            routers[router.name] = router
        except RouterError as error:
            problems.append(error)
    baseline = MaxProbabilityRouter()
    return {**routers, baseline.name: baseline}, problems


def load_router(card: Path, pair: ModelPair) -> MLPRouter:
    """One stored router for `pair`, from the path of its card.

    Raises:
        RouterError: it is missing, damaged, of the wrong size or for another pair.
    """
    return MLPRouter.load(card, hidden_size=pair.hidden_size, pair_revision=pair.info.revision, device=pair.info.device)
