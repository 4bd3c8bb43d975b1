"""`ProfilePlan`: how much a profile measures. No torch."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from citer_core.errors import SettingError


@dataclass(frozen=True, slots=True)
class ProfilePlan:
    """How much is measured.

    Attributes:
        n_new: tokens fed by the timed passes.
        contexts: cached tokens in front of them; those that the pair cannot hold are left out.
        n_rounds: rounds of passes; medians are kept.
        n_problems: bundled problems of each format that agreement is measured on.
        n_prompt, n_written, n_runs: prompt and completion of the runs that check the prediction, and their rounds.
        shares: LLM shares of those runs.
        seed: of tokens and of the sample of problems.
    """

    n_new: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64)
    contexts: tuple[int, ...] = (64, 128, 256, 512, 1024, 2048, 4096)
    n_rounds: int = 15
    n_problems: int = 40
    n_prompt: int = 60
    n_written: int = 120
    n_runs: int = 7
    shares: tuple[float, ...] = (0.1, 0.3, 0.5, 0.6, 0.7, 1.0)
    seed: int = 0

    @classmethod
    def quick(cls, seed: int = 0) -> ProfilePlan:
        """A few seconds for a small pair."""
        return cls((1, 2, 4, 8, 16, 32), (64, 256, 1024), 5, 8, 60, 60, 2, seed=seed)

    def fitting(self, max_context: int) -> ProfilePlan:
        """The part of the plan that a pair of that context can do; its whole length is among the contexts.

        Raises:
            SettingError: the pair's context is too short to measure anything.
        """
        room = max_context - max(self.n_new)
        contexts = sorted({min(context, room) for context in self.contexts})
        n_written = min(self.n_written, max_context - self.n_prompt)
        if contexts[0] < 1 or n_written < 2:
            raise SettingError(f"This pair reads {max_context} tokens: too few to profile it; {2 * 64} would do.")
        return dataclasses.replace(self, contexts=tuple(contexts), n_written=n_written)
