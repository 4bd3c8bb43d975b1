"""`BatchedLM`: one language model, several sequences, one lagging cache for each. The batch form of `CachedLM`.

A text that begins as one that a slot still holds takes the keys and values of that beginning from there: prompts with
the same instructions or examples in front, and rollouts of one answer. Knows nothing about routing, sampling or text.
Invariant, after every call: slot `s` has cached exactly `ids[:n_cached[s]]` of the sequence that lives there.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from citer_core.models.language_model import LanguageModel
from citer_core.models.slot_cache import SlotCache

LEAST_SHARED = 4  # tokens from which a beginning is copied instead of read


@dataclass(frozen=True, slots=True)
class BatchForward:
    """What one catch-up gives for the last position of each of B sequences, in the order that was asked for.

    Attributes:
        logits: [B, V], in the model's dtype.
        hidden: [B, H].
        n_fed: of each sequence, how many tokens it had not seen: what would be fed if it were alone, a shared
            beginning included.
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
        # Of each slot, the tokens whose keys and values lie there: also those of a sequence that has gone.
        self._held: list[list[int]] = [[] for _ in range(n_slots)]

    def clear(self, slot: int) -> None:
        """Forgets the sequence of a slot, so that another can move in."""
        self._cache.clear(slot)
        self.n_cached[slot] = 0

    def begin(self, text: Sequence[int], slot: int) -> None:
        """Takes over what the slots hold of the beginning of a text that is then read in parts.

        Does nothing where the slot has begun with it. What is taken over counts as cached, unlike in `catch_up`.
        """
        if self.n_cached[slot] == 0:
            self.n_cached[slot] = self._share_beginning(text, slot)

    def catch_up(self, texts: Sequence[Sequence[int]], slots: Sequence[int]) -> BatchForward:
        """Feeds every text's tokens that its slot has not seen, and so answers for the position after each text.

        Args:
            texts: B whole texts so far; each extends what is cached by at least one token.
            slots: where each lives, all different.
        """
        start = time.perf_counter()
        n_fed = [len(text) - self.n_cached[slot] for text, slot in zip(texts, slots, strict=True)]
        assert min(n_fed) > 0, "nothing to feed"
        n_seen = [
            self.n_cached[slot] or self._share_beginning(text, slot) for text, slot in zip(texts, slots, strict=True)
        ]
        new_ids = [text[n:] for text, n in zip(texts, n_seen, strict=True)]
        logits, hidden = self._lm.forward_slots(new_ids, slots, self._cache)
        for ids, text, slot, n in zip(new_ids, texts, slots, n_seen, strict=True):
            self._held[slot][n:] = ids
            self.n_cached[slot] = len(text)
        return BatchForward(logits, hidden, n_fed, time.perf_counter() - start)

    def _share_beginning(self, text: Sequence[int], slot: int) -> int:
        """Copies into an empty slot what another one, or its own last sequence, has of the beginning of a text.

        Returns:
            How many tokens; one less than the text has at most, because what comes after the last is asked for.
        """
        if not isinstance(self._cache, SlotCache):
            return 0
        source, n_shared, most = slot, 0, len(text) - 1
        for other, held in enumerate(self._held):
            if held[: n_shared + 1] == text[: n_shared + 1]:  # longer than the longest so far, or as long
                n = _n_common(held, text, n_shared, min(len(held), most))
                if n > n_shared:
                    source, n_shared = other, n
        if n_shared < LEAST_SHARED:
            return 0
        self._cache.copy_beginning(source, slot, n_shared)
        self._held[slot] = list(text[:n_shared])
        return n_shared


def _n_common(one: Sequence[int], other: Sequence[int], n_known: int, most: int) -> int:
    """How many tokens two texts begin with in common, `most` at most; `n_known` of them are known to be."""
    for n in range(n_known, most):
        if one[n] != other[n]:
            return n
    return most
