"""Accuracy and cost of every router at the same shares of LLM tokens, and the oracles: the part `accuracy`.

Each tau is found on tuning problems by the share of LLM tokens that it gives, never by right answers, and then tried on
the problems of the test. Knows nothing about training.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citer_core.engine import Engine
from citer_core.evaluation.run_book import KeptRun, RunBook, threshold_for
from citer_core.evidence.decisive import decisive_runs
from citer_core.evidence.part_tables import N_LENGTHS
from citer_core.evidence.plan import EvidencePlan
from citer_core.evidence.runs import tally
from citer_core.routing.router import Router
from citer_core.routing.stored import StoredRouter
from citer_core.tasks.prompts import DataType

ALONE = {"always-slm": 0.0, "always-llm": 1.0}  # router and tau
ORACLE = "disagreement"
DECISIVE, DECISIVE_LABEL = "decisive", "Oracle of decisive tokens"


@dataclass(frozen=True, slots=True)
class Named:
    """A router of an engine as the evidence names it.

    Attributes:
        key: its name in the engine.
        router, label: what it is called.
        seed: of its training; None where it was not trained here.
        is_shipped: whether the page has it.
        is_main: no further seed and no variation: is compared at every share.
    """

    key: str
    router: str
    label: str
    seed: int | None = None
    is_shipped: bool = False
    is_main: bool = True


def named_routers(everything: Engine, shipped: Engine, variations: Container[str] = ()) -> list[Named]:
    """What is compared: the routers that need no training, and those that were trained for this, named `router@seed`.

    Args:
        everything: all routers.
        shipped: those of the page. A trained one is there too if its first seed's weights are those of its name there.
        variations: routers that are no main ones.
    """
    found = []
    for key in everything.router_names:
        router = everything.router(key)
        name, _, seed = key.partition("@")
        if seed:
            first = next(k for k in everything.router_names if k.startswith(f"{name}@"))
            same = name in shipped.router_names and shipped.router(name).revision == everything.router(first).revision
            is_main = key == first and name not in variations
            found.append(Named(key, name, router.label, int(seed), is_shipped=same, is_main=is_main))
        elif not isinstance(router, StoredRouter) and name not in {*ALONE, ORACLE}:
            found.append(Named(name, name, router.label, None, is_shipped=True))
    return found


class Sweep:
    """All points of one format.

    Args:
        book: of an engine that has all routers.
        data_type: the format.
        plan: sizes.
        say: told about progress.
    """

    def __init__(
        self, book: RunBook, data_type: DataType, plan: EvidencePlan, say: Callable[[str], None] = lambda _: None
    ) -> None:
        self._book, self._plan, self._say = book, plan, say
        self._data_type = data_type
        self._test, self._tuning = plan.test(data_type), plan.tuning(data_type)
        alone = book.runs("always-llm", self._test, 1.0)
        self._length_of, self._bounds = length_classes([run.n_tokens for run in alone])

    def content(self, routers: Sequence[Named]) -> dict[str, Any]:
        """The entry of this format in the stored part."""
        points = [self._alone(name, tau) for name, tau in {**ALONE, ORACLE: 0.5}.items()]
        points.append(self._decisive())
        asked = [(named, share) for named in routers for share in self._plan.shares_at(is_main=named.is_main)]
        taus = []
        for named, share in asked:
            taus.append((named.key, threshold_for(self._book, named.key, self._tuning, share)))
            self._say(f"{self._data_type} {named.key}: tau for {share:.0%} is {taus[-1][1]:.4f}")
        self._book.fill(
            self._test,
            taus,
            self._tell_of(len(taus)),
        )
        for (named, share), (_, tau) in zip(asked, taus, strict=True):
            points.append(self._point(named, share, tau))
            self._say(
                f"{self._data_type} {named.key} at {share:.0%}: {share_of_right(points[-1], len(self)):.1%} right"
            )
        return {
            "n": len(self),
            "n_tuning": len(self._tuning.problems),
            "length_of": "".join(str(k) for k in self._length_of),
            "length_bounds": self._bounds,
            "points": points,
        }

    def __len__(self) -> int:
        return len(self._test.problems)

    def _tell_of(self, n_points: int) -> Callable[[range, int], None]:
        def tell(numbers: range, n_known: int) -> None:
            if n_known == n_points:
                self._say(f"{self._data_type}: {numbers.stop} of {len(self)} problems at {n_points} points")

        return tell

    def _point(self, named: Named, share: float, tau: float) -> dict[str, Any]:
        runs = self._book.runs(named.key, self._test, tau)
        return self._described(named, self._book.engine.router(named.key), tau, runs, share)

    def _alone(self, name: str, tau: float) -> dict[str, Any]:
        router = self._book.engine.router(name)
        runs = self._book.runs(name, self._test, tau)
        return self._described(Named(name, name, router.label, None, is_shipped=True), router, tau, runs, None)

    def _decisive(self) -> dict[str, Any]:
        engine, named = self._book.engine, Named(DECISIVE, DECISIVE, DECISIVE_LABEL)
        self._say(f"{self._data_type}: looking for the decisive tokens")
        runs = decisive_runs(engine.pair, self._test.problems, self._plan)
        return self._described(named, engine.router("always-slm"), 0.0, runs, None)

    def _described(
        self, named: Named, router: Router, threshold: float, runs: list[KeptRun], share: float | None
    ) -> dict[str, Any]:
        by_length = [[0, 0] for _ in range(N_LENGTHS)]
        for k, run in zip(self._length_of, runs, strict=True):
            by_length[k][0] += run.n_tokens
            by_length[k][1] += run.n_llm_tokens
        return {
            "router": named.router,
            "label": named.label,
            "revision": router.revision,
            "seed": named.seed,
            "is_shipped": named.is_shipped,
            "n_params": router.n_params,
            "share_wanted": share,
            "threshold": threshold,
            "n_llm_tokens": sum(run.n_llm_tokens for run in runs),
            **tally(runs),
            "by_length": by_length,
        }


def length_classes(lengths: Sequence[int]) -> tuple[NDArray[np.int64], list[int]]:
    """The quarter of each length, 0 for the shortest; and where the quarters begin that are not the first."""
    bounds = [int(np.quantile(lengths, k / N_LENGTHS, method="higher")) for k in range(1, N_LENGTHS)]
    return np.searchsorted(bounds, lengths, side="right"), bounds


def share_of_right(point: Mapping[str, Any], n: int) -> float:
    """Right answers of a point, as a share."""
    return int.from_bytes(bytes.fromhex(point["right"])).bit_count() / n
