"""`ReportPlan`: how much of each part of a report is measured. Numbers alone; called by the command line."""

from __future__ import annotations

from dataclasses import dataclass

from citer_core.measuring.profile_numbers import ProfilePlan
from citer_core.measuring.report.shapes import TINY_SHAPES, PairShape

SHARES = (0.0, 0.1, 0.2, 0.3, 1.0)
SEED = 0


@dataclass(frozen=True, slots=True)
class ReportPlan:
    """How much.

    Attributes:
        shapes: pairs with random weights; the first is the one that everything is measured on.
        dtype: of those.
        n_prompts, n_checked: prompts whose tokens are compared on the bundled pair, and new tokens of each.
        n_rounds: most rounds of a measurement; a step that runs out of its time does fewer.
        n_new, contexts: of the timed passes.
        n_warm_up: rounds of passes before they count: graphs are made meanwhile.
        n_prompt, n_written: tokens of the timed runs.
        shares: of their tokens that the LLM writes.
        batches: sequences at once.
        n_at_once: runs of visitors at once.
        copy_bytes: of the copy that bandwidth is measured by.
        matrix: rows of the product that arithmetic is measured by; 0 for the device's own.
        profile: of each pair that gets one.
    """

    shapes: tuple[PairShape, ...]
    dtype: str = "bfloat16"
    n_prompts: int = 100
    n_checked: int = 48
    n_rounds: int = 5
    n_new: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    contexts: tuple[int, ...] = (64, 256, 1024, 4096)
    n_warm_up: int = 7
    n_prompt: int = 64
    n_written: int = 96
    shares: tuple[float, ...] = SHARES
    batches: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64)
    n_at_once: tuple[int, ...] = (1, 4, 16)
    copy_bytes: int = 2 << 30
    matrix: int = 0
    profile: ProfilePlan = ProfilePlan(n_rounds=7, n_runs=3)  # noqa: RUF009 - frozen


def tiny_plan() -> ReportPlan:
    """Every part on shapes that a processor computes in minutes, and none of whose numbers is worth keeping."""
    return ReportPlan(
        TINY_SHAPES,
        dtype="float32",
        n_prompts=4,
        n_checked=16,
        n_rounds=2,
        n_new=(1, 4),
        contexts=(64, 128),
        n_written=24,
        shares=(0.0, 0.3, 1.0),
        batches=(1, 4),
        n_at_once=(1, 4),
        copy_bytes=1 << 24,
        matrix=256,
        profile=ProfilePlan((1, 4), (32, 64), 2, n_problems=2, n_prompt=8, n_written=12, n_runs=1),
    )
