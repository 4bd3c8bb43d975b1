"""`Reader`: one language model and the texts of one sequence or many, each with a KV cache that may lag behind it.

A text that begins as one that a slot still holds takes the keys and values of that beginning from there: prompts with
the same instructions or examples in front, and rollouts of one answer. Knows nothing about routing, sampling or text.
Invariant, after every call: slot `s` has cached exactly `ids[:n_cached[s]]` of the sequence that lives there. A token
that was just chosen is in no cache until it is fed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from citer_core.models.kv_cache import KVCache
from citer_core.models.language_model import LanguageModel

LEAST_SHARED = 4  # tokens from which a beginning is copied instead of read


@dataclass(frozen=True, slots=True)
class Reading:
    """What one pass gives at the last positions of each of B sequences, in the order that was asked for.

    Attributes:
        logits: [N, V], in the model's dtype, over the shared vocabulary.
        hidden: [N, H], last layer after the final norm: the states that these logits were read from.
        n_fed: of each sequence, how many tokens it had not seen: what would be fed if it were alone, a shared
            beginning included.
        seconds: wall time of the pass as the host saw it.
    """

    logits: Tensor
    hidden: Tensor
    n_fed: list[int]
    seconds: float


class Reader:
    """A language model with the caches of `n_slots` sequences.

    Args:
        lm: the model.
        n_slots: sequences.
        reuses: False feeds every text whole each time, as the authors' published code does: to measure and teach with.
    """

    def __init__(self, lm: LanguageModel, n_slots: int = 1, *, reuses: bool = True) -> None:
        self.lm, self._reuses = lm, reuses
        self._cache = lm.new_cache(n_slots)
        self.n_cached = [0] * n_slots
        # Of each slot, the tokens whose keys and values lie there: also those of a sequence that has gone.
        self._held: list[list[int]] = [[] for _ in range(n_slots)]

    def truncate(self, slot: int, n_tokens: int) -> None:
        """Forgets all but the first `n_tokens` cached tokens of a sequence; 0 makes room for another one."""
        if n_tokens < self.n_cached[slot]:
            self.n_cached[slot] = self._cache.truncate(slot, n_tokens)

    def begin(self, text: Sequence[int], slot: int) -> None:
        """Takes over what the slots hold of the beginning of a text that is then read in parts.

        Does nothing where the slot has begun with it. What is taken over counts as cached, unlike in `read`.
        """
        if self.n_cached[slot] == 0:
            self.n_cached[slot] = self._share_beginning(text, slot)

    def read(
        self, texts: Sequence[Sequence[int]], slots: Sequence[int] = (0,), n_last: Sequence[int] | None = None
    ) -> Reading:
        """Feeds every text's tokens that its slot has not seen in one pass, and so answers for the position after it.

        For an SLM that is the prompt once and then one token at a time. An LLM is called rarely: one pass feeds it all
        that was written since its last call. Decoding is bound by the weights that are streamed, so a catch-up of a few
        tokens costs about what one token costs.

        Args:
            texts: B whole texts so far; each extends what is cached by at least one token.
            slots: where each lives, all different.
            n_last: of each text, at how many of its new positions to answer, the last ones; None for the last alone.
        """
        start = time.perf_counter()
        if not self._reuses:
            for slot in slots:
                self.truncate(slot, 0)
                self._held[slot].clear()
        new_ids: list[Sequence[int]] = []
        n_fed: list[int] = []
        for row, text in enumerate(texts):
            slot = slots[row]
            n_cached = self.n_cached[slot]
            n_seen = n_cached or self._share_beginning(text, slot, n_last[row] if n_last else 1)
            assert len(text) > n_cached, f"nothing to feed: {len(text)} tokens, {n_cached} cached"
            new_ids.append(text[n_seen:])
            n_fed.append(len(text) - n_cached)
        logits, hidden = self.lm.forward(new_ids, self._cache, slots, n_last)
        for row, ids in enumerate(new_ids):
            slot, n = slots[row], len(texts[row])
            self._held[slot][n - len(ids) :] = ids
            self.n_cached[slot] = n
        return Reading(logits, hidden, n_fed, time.perf_counter() - start)

    def _share_beginning(self, text: Sequence[int], slot: int, n_last: int = 1) -> int:
        """Copies into an empty slot what another one, or its own last sequence, has of the beginning of a text.

        Returns:
            How many tokens; not the last `n_last`, because what comes after these is asked for.
        """
        if not isinstance(self._cache, KVCache):
            return 0
        source, n_shared, most = slot, 0, len(text) - n_last
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
