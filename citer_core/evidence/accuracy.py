"""Routers at the same shares of LLM tokens, and the oracles: the parts `accuracy` and `length`.

Each tau is found on tuning problems by the share of LLM tokens that it gives, never by right answers, and then tried on
the problems of the test. Knows nothing about training.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from citer_core.engine import Engine
from citer_core.evaluation.metrics import pack
from citer_core.evaluation.run_book import KeptRun, RunBook, threshold_for
from citer_core.evidence.decisive import decisive_runs
from citer_core.evidence.part_tables import N_LENGTHS
from citer_core.evidence.plan import EvidencePlan
from citer_core.routing.stored import StoredRouter
from citer_core.tasks.problem_set import ProblemSet
from citer_core.tasks.prompts import DataType
from citer_core.workload import Workload

ALONE = {"always-slm": 0.0, "always-llm": 1.0}  # router and tau
ORACLE = "disagreement"
DECISIVE, DECISIVE_LABEL = "decisive", "Oracle of decisive tokens"
WHOLE = ("right", "n_tokens", "n_cut", "seconds", "llm_seconds", "work")  # what most stored rows say of their answers


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


class Tried(NamedTuple):
    """A router at the share that was wanted, None for one without, and its tau; and its run of every problem."""

    named: Named
    share: float | None
    tau: float
    runs: Sequence[KeptRun]

    @property
    def about(self) -> dict[str, Any]:
        """What a stored point says of it, and which answers are right."""
        return {
            "router": self.named.router,
            "label": self.named.label,
            "seed": self.named.seed,
            "share_wanted": self.share,
            "threshold": self.tau,
            "right": pack([run.is_right for run in self.runs]),
        }

    def tokens(self, of: Iterable[int]) -> list[list[int]]:
        """(tokens, LLM tokens) of each quarter, `of` of each problem."""
        found = [[0, 0] for _ in range(N_LENGTHS)]
        for k, run in zip(of, self.runs, strict=True):
            found[k][0] += run.n_tokens
            found[k][1] += run.n_llm_tokens
        return found


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


def run_book(engine: Engine, work: Path, data_type: DataType, plan: EvidencePlan) -> RunBook:
    """The runs of one format in the folder of the work.

    Raises:
        DatasetError: they are another pair's or cannot be written.
    """
    path = work / f"runs-{data_type}.jsonl"
    return RunBook(engine, path, max_new_tokens=plan.max_new_tokens, batch_size=plan.batch_size)


def alone(book: RunBook, test: ProblemSet, taus: Mapping[str, float] = ALONE) -> list[Tried]:
    """Routers whose tau is known."""
    return [
        Tried(Named(name, name, book.engine.router(name).label, is_shipped=True), None, tau, book.runs(name, test, tau))
        for name, tau in taus.items()
    ]


def tried(
    book: RunBook,
    test: ProblemSet,
    tuning: ProblemSet,
    asked: Sequence[tuple[Named, float]],
    say: Callable[[str], None] = lambda _: None,
) -> list[Tried]:
    """Routers, each at a share of LLM tokens.

    Args:
        book: of an engine that has all routers.
        test, tuning: problems.
        asked: routers, and the share of each.
        say: told about progress.
    """
    taus = []
    for named, share in asked:
        taus.append((named.key, threshold_for(book, named.key, tuning, share)))
        say(f"{test.data_type} {named.key}: tau for {share:.0%} is {taus[-1][1]:.4f}")

    def tell(numbers: range, n_known: int) -> None:
        if n_known == len(taus):
            say(f"{test.data_type}: {numbers.stop} of {len(test.problems)} problems at {n_known} points")

    book.fill(test, taus, tell)
    found = zip(asked, taus, strict=True)
    return [Tried(named, share, tau, book.runs(key, test, tau)) for (named, share), (key, tau) in found]


def by_share(
    book: RunBook, data_type: DataType, plan: EvidencePlan, routers: Sequence[Named], say: Callable[[str], None]
) -> dict[str, Any]:
    """The entry of one format in the part `accuracy`: all of its points."""
    test, tuning = plan.test(data_type), plan.tuning(data_type)
    points = alone(book, test, {**ALONE, ORACLE: 0.5})
    of, bounds = length_classes([run.n_tokens for run in points[1].runs])
    say(f"{data_type}: looking for the decisive tokens")
    decisive = Named("always-slm", DECISIVE, DECISIVE_LABEL)
    points.append(Tried(decisive, None, 0.0, decisive_runs(book.engine.pair, test.problems, plan)))
    asked = [(named, share) for named in routers for share in plan.shares_at(is_main=named.is_main)]
    for one in tried(book, test, tuning, asked, say):
        points.append(one)
        right = sum(run.is_right for run in one.runs) / len(one.runs)
        say(f"{data_type} {one.named.key} at {one.share:.0%}: {right:.1%} right")
    return {
        "n": len(test.problems),
        "n_tuning": len(tuning.problems),
        "length_of": "".join(map(str, of)),
        "length_bounds": bounds,
        "points": [stored_point(book.engine, one, of) for one in points],
    }


def stored_point(engine: Engine, one: Tried, of: Iterable[int]) -> dict[str, Any]:
    """A router at a share as the part `accuracy` keeps it; `of` is the length class of each problem."""
    router = engine.router(one.named.key)
    return one.about | {
        "revision": router.revision,
        "is_shipped": one.named.is_shipped,
        "n_params": router.n_params,
        **tally(one.runs, ("n_llm_tokens", *WHOLE)),
        "by_length": one.tokens(of),
    }


def by_length(
    book: RunBook, test: ProblemSet, tuning: ProblemSet, routers: Sequence[Named], share: float
) -> dict[str, Any]:
    """The entry of one format in the part `length`, of runs that `accuracy` has made where it has.

    Args:
        book: of an engine that has all routers.
        test, tuning: problems.
        routers: that are looked at, beside either model alone.
        share: of LLM tokens, at which they are.

    Returns:
        Quarters by the tokens of the prompt and of the LLM's own answer, and one point per router with its right
        answers and, for each quarter, its tokens and its LLM tokens.
    """
    points = alone(book, test)
    kinds = {
        "question": length_classes([len(book.engine.pair.encode(problem.prompt)) for problem in test.problems]),
        "answer": length_classes([run.n_tokens for run in points[1].runs]),
    }
    points += tried(book, test, tuning, [(named, share) for named in routers])
    return {
        "n": len(test.problems),
        **{f"{kind}_of": "".join(map(str, of)) for kind, (of, _) in kinds.items()},
        **{f"{kind}_bounds": bounds for kind, (_, bounds) in kinds.items()},
        "points": [one.about | {f"by_{kind}": one.tokens(of) for kind, (of, _) in kinds.items()} for one in points],
    }


def tally(runs: Sequence[KeptRun], names: Sequence[str] = WHOLE) -> dict[str, Any]:
    """What the stored parts say of a set of answers: which are right, tokens, cut ones, measured seconds, passes."""
    known = {
        "n": len(runs),
        "right": pack([run.is_right for run in runs]),
        "n_right": sum(run.is_right for run in runs),
        "n_tokens": sum(run.n_tokens for run in runs),
        "n_llm_tokens": sum(run.n_llm_tokens for run in runs),
        "n_cut": sum(run.is_cut for run in runs),
        "seconds": round(sum(run.seconds for run in runs), 4),
        "llm_seconds": round(sum(run.llm_seconds for run in runs), 4),
        "work": asdict(sum((run.work for run in runs), Workload())),
    }
    return {name: known[name] for name in names}


def length_classes(lengths: Sequence[int]) -> tuple[NDArray[np.int64], list[int]]:
    """The quarter of each length, 0 for the shortest; and where the quarters begin that are not the first."""
    bounds = [int(np.quantile(lengths, k / N_LENGTHS, method="higher")) for k in range(1, N_LENGTHS)]
    return np.searchsorted(bounds, lengths, side="right"), bounds
