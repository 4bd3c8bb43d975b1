"""Accuracy and cost of a pair on problems with known answers: either model alone, what is known of a router at one tau,
and the search for a tau. Points are made in `run_book`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from citer_core.evaluation.metrics import wilson_interval
from citer_core.models.batch import greedy_completions
from citer_core.models.language_model import LanguageModel
from citer_core.models.pair import ModelPair
from citer_core.tasks.answers import check_answer
from citer_core.tasks.problems import Problem
from citer_core.workload import Workload

# Log-odds of tau: beyond the range float32 confidences are all alike; a stride is a factor of e in the odds.
LOGIT_RANGE, STRIDE = 16.0, 1.0


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How many of `n` answers were right."""

    n: int
    n_correct: int

    @classmethod
    def of(cls, right: Sequence[bool]) -> Self:
        """That of answers."""
        return cls(len(right), sum(right))

    @property
    def share(self) -> float:
        """Fraction right."""
        return self.n_correct / self.n

    def to_dict(self) -> dict[str, Any]:
        """With the share and its 95% Wilson interval, for cards and tables."""
        low, high = wilson_interval(self.n_correct, self.n)
        return {
            "n": self.n,
            "n_correct": self.n_correct,
            "share": round(self.share, 4),
            "interval_95": [round(low, 4), round(high, 4)],
        }


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """A router at one threshold on one set of problems.

    Attributes:
        llm_token_share: LLM tokens over all tokens of all runs.
        n_bytes, flops: estimated, over all runs, each as if it had run alone.
        bytes_share: estimated bytes over those of the LLM alone writing the same tokens.
        measured_s: seconds in both models and the router, over all runs, which shared passes.
        n_cut: answers that the limit of tokens ended.
        workload: of all runs.
        right: of each problem, in their order.
    """

    threshold: float
    accuracy: Accuracy
    n_tokens: int
    llm_token_share: float
    n_bytes: float
    flops: float
    bytes_share: float
    measured_s: float
    n_cut: int = 0
    workload: Workload = field(default_factory=Workload)
    right: tuple[bool, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, rounded to what they can bear, without the workload and the single problems."""
        numbers = {k: v for k, v in asdict(self).items() if k not in ("workload", "right")}
        rounded = {k: round(v, 4) if isinstance(v, float) else v for k, v in numbers.items()}
        return rounded | {"threshold": self.threshold, "accuracy": self.accuracy.to_dict()}


def right_alone(
    lm: LanguageModel, pair: ModelPair, problems: Sequence[Problem], max_new_tokens: int = 256
) -> list[bool]:
    """Which problems one model of the pair answers rightly by itself, greedily."""
    prompts = [pair.encode(problem.prompt) for problem in problems]
    right = [False] * len(problems)
    for i, ids in greedy_completions(lm, prompts, eos_ids=pair.eos_ids, max_new_tokens=max_new_tokens):
        text = pair.tokenizer.decode(ids, skip_special_tokens=True)
        right[i] = bool(check_answer(str(text), problems[i]).is_correct)
    return right


def search_threshold(
    share_at: Callable[[float], float], share: float, guess: float, *, tolerance: float = 0.01, n_steps: int = 12
) -> float:
    """The tau that comes nearest to a share of LLM tokens, of those that are tried.

    Args:
        share_at: the share at a tau strictly between 0 and 1; it grows with tau.
        share: wanted.
        guess: where to begin, 0 to 1.
        tolerance: how near is near enough.
        n_steps: taus that are tried.
    """
    # Shares change most where tau is nearly 0 or nearly 1, so the search goes by the log-odds of tau.
    low, high = -LOGIT_RANGE, LOGIT_RANGE
    best = min((abs(share - end), end) for end in (0.0, 1.0))  # no LLM token at 0, all of them at 1
    middle = min(max(math.log(guess / (1 - guess)) if 0 < guess < 1 else 0.0, low), high)
    for _ in range(n_steps):
        if best[0] <= tolerance:
            break
        threshold = 1 / (1 + math.exp(-middle))
        found = share_at(threshold)
        best = min(best, (abs(found - share), threshold))
        if found < share:
            low = middle
        else:
            high = middle
        # Near the first guess at first, which is a good one where a card gave it; then by halves.
        near = middle + (STRIDE if found < share else -STRIDE)
        middle = near if low < near < high and high - low > 2 * STRIDE else (low + high) / 2
    return best[1]
