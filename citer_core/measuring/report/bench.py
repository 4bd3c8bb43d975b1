"""What a measurement of the report is given: `Case`, a pair in one of the ways of decoding on the `Bench`, the device
with the one pair that is on it; and its `Turn` of the minutes that there are, shared out by weight: what a step leaves,
the later ones get.

Called by the measurements of the report.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import torch

from citer_core.measuring.device_probe import copy_bandwidth
from citer_core.measuring.report.shapes import SEED, PairShape, ReportPlan, random_pair
from citer_core.measuring.script_router import HALF, ScriptRouter, recorded_script
from citer_core.models.pair import ModelPair, load_pair
from citer_core.routing.catalog import load_routers
from citer_core.routing.router import Router
from citer_core.routing.routers.citer import CiterRouter
from citer_core.system_memory import give_back
from citer_core.types import DecodeSettings

T = TypeVar("T")
EAGER, GRAPHS = "eager", "graphs"
STAND_IN = "no graph: the same passes, computed again on the same memory"


@dataclass(frozen=True, slots=True)
class DecodePath:
    """A way in which a pair can be decoded on a device.

    Attributes:
        name: for the report.
        graphs: whether passes are replayed; else they are computed anew.
        note: what a reader has to know of it.
    """

    name: str
    graphs: bool = False
    note: str = ""


def paths_for(device: str) -> tuple[DecodePath, DecodePath]:
    """The ways that everything is measured in, the plain one first."""
    return DecodePath(EAGER), DecodePath(GRAPHS, graphs=True, note="" if device.startswith("cuda") else STAND_IN)


class Bench:
    """A device, and at most one pair on it.

    Args:
        device: as torch spells it.
        plan: how much is measured.
    """

    def __init__(self, device: str, plan: ReportPlan) -> None:
        self.device, self.plan = torch.device(device), plan
        self._pair: ModelPair | None = None
        self._shape: PairShape | None = None
        self._path: DecodePath | None = None

    @cached_property
    def bandwidth(self) -> float:
        """Bytes read and written per second by a large copy."""
        return copy_bandwidth(self.device, self.plan.copy_bytes, 5)

    @property
    def is_gpu(self) -> bool:
        """Whether the device is one that graphs, streams and waits exist for."""
        return self.device.type == "cuda"

    def clock(self) -> float:
        """Seconds of a clock, when the device has done what was started on it."""
        if self.is_gpu:
            torch.cuda.synchronize(self.device)
        return time.perf_counter()

    def held(self, shape: PairShape | None, path: DecodePath) -> ModelPair:
        """A pair with random weights that writes to the last token asked for; without a shape the bundled pair.

        That one is in float32, so that its tokens can be compared with those of any other machine.
        """
        if self._pair is None or self._shape != shape:
            self.release()
            self._pair, self._shape = self._made(shape), shape
        if self._path != path:  # the weights stay; what was made for the other way goes
            self._path, self._pair = path, self._pair.with_graphs(graphs=path.graphs)
            give_back()
        return self._pair

    def _made(self, shape: PairShape | None) -> ModelPair:
        if shape is None:
            return load_pair(device=str(self.device))
        pair = random_pair(shape, str(self.device), self.plan.dtype, seed=SEED)
        return dataclasses.replace(pair, eos_ids=frozenset())

    def release(self) -> None:
        """Frees the pair, and gives its memory back as far as nothing else holds it."""
        self._pair = self._shape = self._path = None
        give_back()


@dataclass(frozen=True)
class Case:
    """What a measurement is made on.

    Attributes:
        bench: the device.
        shape: of the pair; None for the bundled one.
        path: the way of decoding; None for the plain one, where there is no other to compare it with.
    """

    bench: Bench
    shape: PairShape | None = None
    path: DecodePath | None = None

    @property
    def about(self) -> dict[str, str]:
        """What its result says of it."""
        pair = {"pair": self.shape.name} if self.shape else {}
        return pair | ({"path": self.path.name, "note": self.path.note} if self.path else {})

    @property
    def plan(self) -> ReportPlan:
        """How much is measured."""
        return self.bench.plan

    @property
    def pair(self) -> ModelPair:
        """The pair, on the device until another one is asked for."""
        return self.bench.held(self.shape, self.path or paths_for(str(self.bench.device))[0])

    @property
    def prompt(self) -> list[int]:
        """That of the timed runs."""
        return self.prompts(1)[0]

    def prompts(self, n_prompts: int) -> list[list[int]]:
        """Different ones of one length that repeat nothing at once, the same for every pair of one vocabulary."""
        n_ids = self.pair.vocab_size - 2
        places = range(self.plan.n_prompt)
        return [[2 + (7 + 13 * place + 11 * number) % n_ids for place in places] for number in range(n_prompts)]

    @property
    def settings(self) -> DecodeSettings:
        """Of runs by a script, as long as the plan wants them."""
        n_written = self.plan.n_written if self.shape else self.plan.n_checked
        return DecodeSettings(threshold=HALF, max_new_tokens=n_written)

    @property
    def router(self) -> Router:
        """A trained one where the pair has it, else one of the same size with random weights."""
        routers, _ = load_routers(self.pair)
        first = next(iter(routers.values()))
        if first.n_params:
            return first
        torch.manual_seed(SEED)
        n_inputs = self.pair.hidden_size
        card = {"name": "citer", "label": "CITER, random weights", "hidden_size": n_inputs}
        return CiterRouter(CiterRouter.build(n_inputs).to(self.bench.device), card)

    def script(self, share: float) -> ScriptRouter:
        """A router that takes a real one's time and gives the LLM that share of the tokens of a run."""
        script = recorded_script(share, self.settings.max_new_tokens)
        return ScriptRouter(self.router, script, self.bench.device)


@dataclass(frozen=True, slots=True)
class Turn:
    """The time of one step; the step looks at it between rounds, and does one round in any case."""

    ends: float

    def is_over(self) -> bool:
        """Whether its time is used up."""
        return time.monotonic() >= self.ends

    def each(self, items: Iterable[T], least: int = 1) -> Iterator[T]:
        """One item after another: so many in any case, the others as long as there is time."""
        for number, item in enumerate(items, start=1):
            yield item
            if number >= least and self.is_over():
                return

    def part(self, share: float) -> Turn:
        """The turn of a piece that gets this share of the time that is left."""
        now = time.monotonic()
        return Turn(now + share * max(0.0, self.ends - now))
