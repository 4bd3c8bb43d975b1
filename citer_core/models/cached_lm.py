"""`CachedLM`: one language model, one sequence, one KV cache that may lag behind the text.

Knows nothing about routing, sampling or text. Invariant, after every call: the cache holds exactly `ids[:n_cached]`.
A token that was just chosen is not in any cache until it is fed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from citer_core.models.language_model import LanguageModel
from citer_core.models.transfer import to_device


@dataclass(frozen=True, slots=True)
class Forward:
    """What one forward pass gives for the last position.

    Attributes:
        logits: [1, V], in the model's dtype, over the shared vocabulary; [n, V] where the last n positions were asked.
        hidden: [1, H] or [n, H], last layer after the final norm: the states that these logits were read from.
        n_fed: how many tokens the pass fed.
        seconds: wall time of the pass as the host saw it.
    """

    logits: Tensor
    hidden: Tensor
    n_fed: int
    seconds: float


class CachedLM:
    """A language model with the cache of one sequence."""

    def __init__(self, lm: LanguageModel) -> None:
        self._lm = lm
        self._cache = lm.new_cache()
        self.n_cached = 0

    def catch_up(self, ids: Sequence[int], n_last: int = 1) -> Forward:
        """Feeds `ids[n_cached:]` in one pass, and so answers for the position after `ids`.

        For the SLM that is the prompt once and then one token at a time. The LLM is called rarely: one pass feeds it
        all that was written since its last call. Decoding is bound by the weights that are streamed, so a catch-up of
        a few tokens costs about what one token costs.

        Args:
            ids: the whole text so far; extends what is cached by at least one token.
            n_last: at how many of the new positions to answer, the last ones.
        """
        start = time.perf_counter()
        n_fed = len(ids) - self.n_cached
        assert n_fed >= n_last > 0, f"nothing to feed: {len(ids)} tokens, {self.n_cached} cached"
        new_ids = to_device(ids[self.n_cached :], self._lm.device)
        if n_last == 1:
            logits, hidden = self._lm.forward(new_ids, self._cache)
        else:
            logits, hidden = self._lm.forward_last(new_ids, self._cache, n_last)
        self.n_cached = len(ids)
        return Forward(logits, hidden, n_fed, time.perf_counter() - start)

    def rewind(self, n_tokens: int) -> None:
        """Forgets all but the first `n_tokens` cached tokens; does nothing where no more are cached."""
        if n_tokens < self.n_cached:
            self.n_cached = self._cache.rewind(n_tokens)


class RecomputingLM:
    """The same model without reuse: every call feeds the whole text again, as the authors' published code does.

    A reference to measure and to teach with, behind the same interface as `CachedLM`.
    """

    def __init__(self, lm: LanguageModel) -> None:
        self._lm = lm
        self.n_cached = 0

    def catch_up(self, ids: Sequence[int]) -> Forward:
        """Feeds all of `ids`, builds a cache as a prefill would, and throws it away."""
        start = time.perf_counter()
        all_ids = to_device(ids, self._lm.device)
        logits, hidden = self._lm.forward(all_ids, self._lm.new_cache())
        return Forward(logits, hidden, len(ids), time.perf_counter() - start)
