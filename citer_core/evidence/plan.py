"""`EvidencePlan`: how large a measurement of the evidence is; and its problems. Knows nothing about models."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from citer_core.embedded.publish import FORMATS, held_out, problems_of, tested
from citer_core.tasks.problem_set import ProblemSet
from citer_core.tasks.problems import Problem, Rows
from citer_core.tasks.prompts import DataType

__all__ = ["FORMATS", "EvidencePlan"]
TUNING = "evidence tuning"  # a stream of its own, of which nothing is labelled or tested
TRAINING = "router"


@dataclass(frozen=True, slots=True)
class EvidencePlan:
    """Sizes and seeds. The default is the full one.

    Attributes:
        n_test: unseen problems of each format.
        n_tuning: others, on which each tau is found, by the share of LLM tokens and never by right answers.
        n_labelled: problems of each format with labels; 800 cost 3 to 4 points at 5 and 10% LLM tokens.
        n_rollouts: per labelled problem of published labels; None takes all.
        n_rounds: of published labels.
        seeds: of router training.
        shares: of LLM tokens at which routers are compared.
        other_shares: those of `shares` at which a router of a further seed is, or one that is only a variation.
        rollout_share: of LLM tokens in routed rollouts.
        n_branches: tokens of each case whose both branches are tried.
        n_branch_problems: of each format, that these tokens are drawn from.
        n_flipped: problems of each format of which every wrong decision is flipped.
        n_timed: problems of each format that are answered one at a time in every way.
        n_grid: problems of each format that are answered at every point of look-back's two dials.
        truth_sizes: problems of a format with labels, of each router that learns from few.
        truth_shares: of LLM tokens, at which those are.
        n_setup: problems of each format whose labelling is counted.
        max_new_tokens, batch_size: of decoding; no right answer is longer.
    """

    n_test: int = 1000
    n_tuning: int = 200
    n_labelled: int = 3200
    n_rollouts: int | None = None
    n_rounds: int = 4
    seeds: tuple[int, ...] = (0, 1)
    shares: tuple[float, ...] = (0.03, 0.05, 0.10, 0.15, 0.20, 0.30)
    other_shares: tuple[float, ...] = (0.05, 0.10)
    rollout_share: float = 0.2
    n_branches: int = 500
    n_branch_problems: int = 600
    n_flipped: int = 300
    n_timed: int = 100
    n_grid: int = 200
    truth_sizes: tuple[int, ...] = (50, 100, 200, 400)
    truth_shares: tuple[float, ...] = (0.02, 0.05, 0.10)
    n_setup: int = 100
    max_new_tokens: int = 192
    batch_size: int = 48

    def shares_at(self, *, is_main: bool) -> tuple[float, ...]:
        """Where a router is compared: everywhere, or at `other_shares` as far as they are asked for."""
        return self.shares if is_main else tuple(s for s in self.shares if s in self.other_shares) or self.shares

    def test(self, data_type: DataType) -> ProblemSet:
        """The problems that are answered."""
        return ProblemSet(f"{data_type} test", data_type, _problems(data_type, "test", self.n_test))

    def tuning(self, data_type: DataType) -> ProblemSet:
        """The problems that tau is found on."""
        return ProblemSet(f"{data_type} tuning", data_type, _problems(data_type, TUNING, self.n_tuning))

    def labelled(self, data_types: tuple[DataType, ...] = FORMATS) -> Rows:
        """Rows with ground truth, none of which is tested or tuned on."""
        rows = []
        for data_type in data_types:
            not_these = tested() | {row["id"] for row in held_out(data_type, TUNING, self.n_tuning)}
            rows += [(row, data_type) for row in held_out(data_type, TRAINING, self.n_labelled, without=not_these)]
        return rows


@cache
def _problems(data_type: DataType, stream: str, n: int) -> tuple[Problem, ...]:
    without = tested() if stream != "test" else ()
    return tuple(problems_of(held_out(data_type, stream, n, without), data_type))
