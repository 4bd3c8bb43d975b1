"""`BatchedLM`: one language model, several sequences, one lagging cache for each. The batch form of `CachedLM`.

Knows nothing about routing, sampling or text. Invariant, after every call: slot `s` has cached exactly
`ids[:n_cached[s]]` of the sequence that lives there.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from citer_core.models.language_model import LanguageModel

# Only attention pads sequences to one length, so a prompt and single tokens may share a pass up to this difference.
CHEAP_PADDING = 32


@dataclass(frozen=True, slots=True)
class BatchForward:
    """What one catch-up gives for the last position of each of B sequences, in the order that was asked for.

    Attributes:
        logits: [B, V], in the model's dtype.
        hidden: [B, H].
        n_fed: of each sequence, how many tokens were fed.
        seconds: wall time of all passes together as the host saw it.
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
        parts: list[tuple[Tensor, Tensor]] = []
        order: list[int] = []
        for rows in _similar(n_fed):
            parts.append(
                self._lm.forward_slots([new_ids[row] for row in rows], [slots[row] for row in rows], self._cache)
            )
            order += rows
        for text, slot in zip(texts, slots, strict=True):
            self.n_cached[slot] = len(text)
        if len(parts) == 1 and order == list(range(len(order))):
            logits, hidden = parts[0]
        else:
            back = torch.tensor(order, device=parts[0][0].device).argsort()
            logits, hidden = (torch.cat(tensors)[back] for tensors in zip(*parts, strict=True))
        return BatchForward(logits, hidden, n_fed, time.perf_counter() - start)


def _similar(n_new: Sequence[int]) -> Iterator[list[int]]:
    """Rows in groups of similar length: a very long prompt must not pad the attention of single tokens to its size."""
    order = sorted(range(len(n_new)), key=lambda row: n_new[row])
    if n_new[order[-1]] - n_new[order[0]] < CHEAP_PADDING:
        yield list(range(len(n_new)))
        return
    group: list[int] = []
    for row in order:
        if group and n_new[row] > max(2 * n_new[group[0]], n_new[group[0]] + CHEAP_PADDING):
            yield group
            group = []
        group.append(row)
    yield group
