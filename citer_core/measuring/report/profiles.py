"""The profile of pairs on the device: up to which share of LLM tokens routing pays. Called by `order`."""

from __future__ import annotations

from typing import Any

from citer_core.engine import Engine
from citer_core.measuring.profile import profile_pair
from citer_core.measuring.report.bench import Bench
from citer_core.measuring.report.budget import Turn
from citer_core.measuring.report.paths import DecodePath
from citer_core.measuring.report.shapes import PairShape
from citer_core.models.pair import ModelPair
from citer_core.routing.catalog import load_routers


def profile_bundled(bench: Bench, path: DecodePath, command: str, _turn: Turn) -> dict[str, Any]:
    """The bundled pair's, with how often its models agree."""
    pair = bench.bundled(path)
    routers, _ = load_routers(pair)
    return _profiled(bench, pair, Engine(pair, routers), path, command, with_agreement=True)


def profile_shape(bench: Bench, shape: PairShape, path: DecodePath, command: str, _turn: Turn) -> dict[str, Any]:
    """That of a pair with random weights, which says nothing of agreement."""
    pair = bench.shaped(shape, path)
    return _profiled(bench, pair, bench.engine(pair, bench.router(pair)), path, command, with_agreement=False)


def _profiled(
    bench: Bench, pair: ModelPair, engine: Engine, path: DecodePath, command: str, *, with_agreement: bool
) -> dict[str, Any]:
    steps = profile_pair(
        engine, bench.plan.profile, command=command, with_agreement=with_agreement, n_warm_up=bench.plan.n_warm_up
    )
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            return {"pair": pair.info.name, "path": path.name, "note": path.note, "profile": stop.value.as_json()}
