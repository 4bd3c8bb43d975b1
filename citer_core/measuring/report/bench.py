"""`Bench`: the device with the one pair that is on it, and its bandwidth. Called by the parts of the report."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cached_property

import torch

from citer_core.engine import Engine
from citer_core.measuring.device_probe import copy_bandwidth
from citer_core.measuring.report.paths import DecodePath
from citer_core.measuring.report.plan import SEED, ReportPlan
from citer_core.measuring.report.shapes import PairShape, random_pair
from citer_core.measuring.report.spread import SpreadRouter, script_for
from citer_core.models.pair import ModelPair, load_pair
from citer_core.models.presets import EMBEDDED
from citer_core.routing.catalog import load_routers
from citer_core.routing.router import Router
from citer_core.routing.routers.citer import CiterRouter
from citer_core.system_memory import give_back


class Bench:
    """A device, and at most one pair on it.

    Args:
        device: as torch spells it.
        plan: how much is measured.
    """

    def __init__(self, device: str, plan: ReportPlan) -> None:
        self.device, self.plan = torch.device(device), plan
        self._name: str | None = None
        self._path: DecodePath | None = None
        self._pair: ModelPair | None = None

    @cached_property
    def bandwidth(self) -> float:
        """Bytes read and written per second by a large copy."""
        return copy_bandwidth(self.device, self.plan.copy_bytes, 5)

    @property
    def is_gpu(self) -> bool:
        """Whether the device is one that graphs, streams and waits exist for."""
        return self.device.type == "cuda"

    def bundled(self, path: DecodePath) -> ModelPair:
        """The bundled pair in float32, whose tokens can be compared with anybody's."""
        return self._held(EMBEDDED, path, lambda: load_pair(device=str(self.device)))

    def shaped(self, shape: PairShape, path: DecodePath) -> ModelPair:
        """A pair with random weights that writes to the last token asked for."""

        def make() -> ModelPair:
            pair = random_pair(shape, str(self.device), self.plan.dtype, seed=SEED)
            return dataclasses.replace(pair, eos_ids=frozenset())

        return self._held(shape.name, path, make)

    def _held(self, name: str, path: DecodePath, make: Callable[[], ModelPair]) -> ModelPair:
        if self._pair is None or self._name != name:
            self.release()
            self._pair, self._name = make(), name
        if self._path != path:  # the weights stay; what was made for the other way goes
            self._path, self._pair = path, self._pair.with_graphs(graphs=path.graphs)
            give_back()
        return self._pair

    def release(self) -> None:
        """Frees the pair, and gives its memory back as far as nobody else holds it."""
        self._pair = self._name = self._path = None
        give_back()

    def router(self, pair: ModelPair) -> Router:
        """A trained router where the pair has one, else one of the same size with random weights."""
        routers, _ = load_routers(pair)
        first = next(iter(routers.values()))
        if first.n_params:
            return first
        torch.manual_seed(SEED)
        card = {"name": "citer", "label": "CITER, random weights", "hidden_size": pair.hidden_size}
        return CiterRouter(CiterRouter.build(pair.hidden_size).to(self.device), card)

    def spread(self, pair: ModelPair, share: float, n_tokens: int) -> SpreadRouter:
        """A router that takes a real one's time and gives the LLM that share of any `n_tokens` in a row."""
        return SpreadRouter(self.router(pair), script_for(share, n_tokens), self.device)

    def engine(self, pair: ModelPair, router: Router) -> Engine:
        """An engine with this router alone."""
        return Engine(pair, {router.name: router})
