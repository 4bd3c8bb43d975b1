"""One module per router. A class in here that derives from `Router` is found by itself: nothing else has to know it.

A class without `kind` needs no training and is made without arguments. One with a `kind` is the architecture of stored
routers, whose cards name it (`citer_core.routing.stored`).
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from functools import cache

from citer_core.routing.router import Router
from citer_core.routing.stored import StoredRouter


@cache
def _classes() -> tuple[type[Router], ...]:
    found = []
    for module in pkgutil.iter_modules(__path__):
        members = vars(importlib.import_module(f"{__name__}.{module.name}"))
        found += [c for c in members.values() if _is_router(c) and c.__module__ == f"{__name__}.{module.name}"]
    return tuple(found)


def _is_router(member: object) -> bool:
    return inspect.isclass(member) and issubclass(member, Router) and not inspect.isabstract(member)


def training_free_routers() -> dict[str, Router]:
    """A new instance of every router that needs no training, by name."""
    routers = [c() for c in _classes() if not issubclass(c, StoredRouter)]
    return {router.name: router for router in sorted(routers, key=lambda router: (router.order, router.name))}


def stored_kinds() -> dict[str, type[StoredRouter]]:
    """The architectures of stored routers, by the `kind` that their cards name."""
    return {c.kind: c for c in _classes() if issubclass(c, StoredRouter)}
