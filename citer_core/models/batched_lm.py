"""`BatchedLM`: one language model, several sequences, one lagging cache for each. The batch form of `CachedLM`.

Knows nothing about routing, sampling or text. Invariant, after every call: slot `s` has cached exactly
`ids[:n_cached[s]]` of the sequence that lives there.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from citer_core.models.language_model import LanguageModel


@dataclass(frozen=True, slots=True)
class BatchForward:
    """What one catch-up gives for the last position of each of B sequences, in the order that was asked for.

    Attributes:
        logits: [B, V], in the model's dtype.
        hidden: [B, H].
        n_fed: of each sequence, how many tokens were fed.
        seconds: wall time of the pass as the host saw it.
    """

    logits: Tensor
    hidden: Tensor
    n_fed: list[int]
    seconds: float


class BatchedLM:
    """A language model with the caches of `n_slots` sequences."""

    def __init__(self, lm: LanguageModel, n_slots: int) -> None:
        self._lm = lm
        self._cache = lm.new_slot_cache(n_slots)
        self.n_cached = [0] * n_slots

    def clear(self, slot: int) -> None:
        """Forgets the sequence of a slot, so that another can move in."""
        self._cache.clear(slot)
        self.n_cached[slot] = 0

    def catch_up(self, texts: Sequence[Sequence[int]], slots: Sequence[int]) -> BatchForward:
        """Feeds every text's tokens that its slot has not seen, and so answers for the position after each text.

        Args:
            texts: B whole texts so far; each extends what is cached by at least one token.
            slots: where each lives, all different.
        """
        start = time.perf_counter()
        new_ids = [text[self.n_cached[slot] :] for text, slot in zip(texts, slots, strict=True)]
        n_fed = [len(ids) for ids in new_ids]
        assert min(n_fed) > 0, "nothing to feed"
        logits, hidden = self._lm.forward_slots(new_ids, slots, self._cache)
        for text, slot in zip(texts, slots, strict=True):
            self.n_cached[slot] = len(text)
        return BatchForward(logits, hidden, n_fed, time.perf_counter() - start)
