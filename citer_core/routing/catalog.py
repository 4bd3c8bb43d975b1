"""Which routers a pair has: the trained ones stored for it first, then those that need no training."""

from __future__ import annotations

from pathlib import Path

from citer_core.assets import ASSETS
from citer_core.errors import RouterError
from citer_core.gate.excerpt import excerpt
from citer_core.models.pair import ModelPair
from citer_core.models.prompt_form import PLAIN
from citer_core.models.same_pair import is_same_pair
from citer_core.routing.router import Router
from citer_core.routing.router_card import IN_ONE_FILE, holds_card, read_card
from citer_core.routing.routers import stored_kinds, training_free_routers
from citer_core.routing.stored import StoredRouter


def load_routers(pair: ModelPair, folder: Path = ASSETS / "routers") -> tuple[dict[str, Router], list[RouterError]]:
    """Every router for `pair` by name, the default first.

    Args:
        pair: the loaded pair.
        folder: holds one `NAME.json` with `NAME.safetensors` per trained router, or one file with both, those of each
            pair in a folder of their own or all together; other pairs' are passed over.

    Returns:
        The routers, and what is wrong with those that could not be loaded: one damaged file must not take the others,
        or the page, down with it.
    """
    routers: dict[str, Router] = {}
    problems = []
    for path in _cards(folder):
        try:
            card = read_card(path)
            ours = is_same_pair(card.get("pair_revision", ""), pair.info.revision)
            if ours or card.get("pair") in (None, pair.info.name):
                routers[path.stem] = load_router(path, pair)
        except RouterError as error:
            problems.append(error)
    return {**routers, **training_free_routers()}, problems


def load_router(card_path: Path, pair: ModelPair) -> StoredRouter:
    """One stored router for `pair`, from the path of its card or of a router in one file.

    Raises:
        RouterError: it is missing, damaged, of an unknown kind or size, or for another pair or form of prompts.
    """
    card = read_card(card_path) | {"name": card_path.stem}  # a copied router goes by the name of its file
    kind = card.get("kind", "citer")
    kinds = stored_kinds()
    if kind not in kinds:
        raise RouterError(
            f'The router "{card_path.stem}" is of the kind {excerpt(kind)}, which this version does not know: it has '
            f"{', '.join(sorted(kinds))}."
        )
    router = kinds[kind].read(
        card,
        card_path.with_suffix(IN_ONE_FILE),
        hidden_size=pair.hidden_size,
        pair_revision=pair.info.revision,
        device=pair.info.device,
    )
    form = card.get("prompt_form", PLAIN)  # cards from before there were chat templates do not say
    if form != pair.info.prompt_form:
        raise RouterError(
            f'The router "{router.name}" was trained on prompts in the form {form}, but this pair\'s are '
            f"{pair.info.prompt_form}: it would be asked about other states. Load the pair as it was then (--no-chat "
            "makes plain prompts), or train a router for this form."
        )
    return router


def stored_router_names(pair_name: str, folder: Path = ASSETS / "routers") -> list[str]:
    """Names of the trained routers whose cards say that they are for the pair of that name; damaged cards are not."""
    names = []
    for path in _cards(folder):
        try:
            card = read_card(path)
        except RouterError:
            continue
        if card.get("pair") == pair_name:
            names.append(path.stem)
    return names


def _cards(folder: Path) -> list[Path]:
    alone = (path for path in folder.rglob(f"*{IN_ONE_FILE}") if not path.with_suffix(".json").exists())
    return sorted([*folder.rglob("*.json"), *filter(holds_card, alone)], key=lambda path: path.stem)
