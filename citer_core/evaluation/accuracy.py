"""Accuracy and cost of a pair on problems with known answers: either model alone, what is known of a router at one tau,
and from a share of LLM tokens to the tau that gives it. Points are made in `run_book`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

from citer_core.engine import Engine
from citer_core.evaluation.metrics import wilson_interval
from citer_core.models.batch import batch_completions
from citer_core.models.language_model import LanguageModel
from citer_core.models.pair import ModelPair
from citer_core.tasks.answers import check_answer
from citer_core.tasks.problems import Problem
from citer_core.types import DecodeSettings
from citer_core.workload import Workload

# Log-odds of tau: beyond the range float32 confidences are all alike; a stride is a factor of e in the odds.
LOGIT_RANGE, STRIDE = 16.0, 1.0
TOLERANCE = 0.01  # of a share: near enough to stop
MAX_PASSES = 5


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
    for i, ids in batch_completions(lm, prompts, eos_ids=pair.eos_ids, max_new_tokens=max_new_tokens):
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


@dataclass(frozen=True, slots=True)
class FoundTau:
    """A tau, and the share of LLM tokens that it gave to the problems it was found on, in `n_passes` over them."""

    threshold: float
    share: float
    n_passes: int


def tau_for_share(
    engine: Engine,
    problems: Sequence[Problem],
    share: float,
    *,
    router: str | None,
    settings: DecodeSettings,
    batch_size: int = 16,
) -> FoundTau:
    """Decodes the problems until a tau gives about `share` of their tokens to the LLM; takes any router.

    Each pass says how the confidences are spread over the text that its tau wrote, and the next tau is the one below
    which `share` of them lie. Another text has other confidences, so the nearest of a few passes is taken. A router
    whose confidences are few different numbers may come nowhere near.

    Args:
        engine: pair and routers.
        problems: at least one, in the format that tau is wanted for.
        share: of all their tokens, 0 to 1; 0 and 1 are known without decoding.
        router: by name; None takes the default, whose tau is the first that is tried.
        settings: of decoding; their own threshold does not matter.
        batch_size: problems per forward pass.

    Raises:
        RouterError: there is no such router.
        PromptError: a prompt is too long.
    """
    if share in (0, 1):
        return FoundTau(float(share), float(share), 0)
    best: FoundTau | None = None
    threshold = engine.default_threshold(router)
    for n_passes in range(1, MAX_PASSES + 1):
        wanted = replace(settings, threshold=threshold)
        runs = engine.run_batch(problems, router=router, settings=wanted, batch_size=batch_size)
        events = [event for _, trace in runs for event in trace.events]
        found = sum(event.source == "llm" for event in events) / max(1, len(events))
        if best is None or abs(found - share) < abs(best.share - share):
            best = FoundTau(threshold, found, n_passes)
        following = _below_which(sorted(event.slm_confidence for event in events), share)
        if abs(found - share) <= TOLERANCE or following == threshold:
            break
        threshold = following
    assert best is not None
    return replace(best, n_passes=n_passes)


def _below_which(confidences: Sequence[float], share: float) -> float:
    """The tau with `share` of sorted confidences below it, as far from both its neighbours as it can be."""
    place = round(share * len(confidences))
    low = confidences[place - 1] if place else 0.0
    return (low + confidences[place]) / 2 if place < len(confidences) else 1.0
