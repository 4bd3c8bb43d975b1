"""`LanguageModel`: a transformers model seen as one function, ids in, logits and the state behind them out.

Shared by all runs; a cache belongs to its caller, and what is kept here for one goes when it goes. Knows
nothing about routing.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import accumulate
from typing import Protocol, Self

import torch
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel

from citer_core.errors import ModelFileError
from citer_core.gate.excerpt import clean, first_line
from citer_core.models.fused_decoder import FusedDecoder
from citer_core.models.kv_cache import KVCache
from citer_core.models.products import Products
from citer_core.models.seat import WIDTHS, Seat, Seats
from citer_core.models.transfer import to_device

N_COMPARED = 256  # tokens, at most, on which replayed passes are compared
log = logging.getLogger(__name__)


class Cache(Protocol):
    """What a run may do to a cache between two forward passes."""

    @property
    def lengths(self) -> Sequence[int]:
        """Cached positions of each of its sequences."""

    def truncate(self, slot: int, n_tokens: int) -> int:
        """Forgets all but the first `n_tokens` positions of a sequence, or more where it cannot go back to them.

        Returns:
            How many positions are left: what is behind them has to be fed again.
        """


class TransformersCache:
    """A transformers cache behind our interface.

    What a window or a recurrent state has let go of cannot be gone back to: then all is forgotten. With `longrope`,
    positions are turned otherwise once a text is longer than `switch` tokens. What comes behind is never read in one
    pass with what comes before; and where the family says so (Phi-3), the whole text is then read again, as
    transformers' `generate` does.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        self._config = model.config
        self.inner = DynamicCache(config=model.config)
        rope = getattr(model.config, "rope_parameters", None) or {}
        self._switch = rope["original_max_position_embeddings"] if rope.get("rope_type") == "longrope" else None
        self._reads_again = hasattr(model.config, "original_max_position_embeddings")
        self._ids: Tensor | None = None

    @property
    def length(self) -> int:
        """Cached positions."""
        return int(self.inner.get_seq_length())

    def n_before_switch(self, n_new: int) -> int:
        """How many of `n_new` more tokens are read as a short text's."""
        return n_new if self._switch is None else min(n_new, max(0, self._switch - self.length))

    def to_feed(self, ids: Tensor) -> Tensor:
        """What has to be read so that `ids` are: these, or the whole text."""
        if self._switch is None or not self._reads_again:
            return ids
        before = self.length
        self._ids = ids if self._ids is None else torch.cat([self._ids[:before], ids])
        if not before <= self._switch < before + len(ids):
            return ids
        self.inner = DynamicCache(config=self._config)
        return self._ids

    def truncate(self, n_tokens: int) -> int:
        """See `Cache`."""
        length = self.length
        if n_tokens >= length:
            return length
        try:
            if n_tokens == 0 or (self._switch is not None and self._reads_again and n_tokens <= self._switch < length):
                raise RuntimeError
            self.inner.crop(n_tokens - length)
        except RuntimeError:  # transformers' word for a state that it did not keep
            self.inner = DynamicCache(config=self._config)
            return 0
        return n_tokens


class TransformersCaches:
    """One for each of several sequences, for models without a fused pass. For any family."""

    def __init__(self, model: PreTrainedModel, n_slots: int) -> None:
        self.caches = [TransformersCache(model) for _ in range(n_slots)]

    @property
    def lengths(self) -> list[int]:
        """See `Cache`."""
        return [cache.length for cache in self.caches]

    def truncate(self, slot: int, n_tokens: int) -> int:
        """See `Cache`."""
        return self.caches[slot].truncate(n_tokens)


class LanguageModel:
    """Wraps a decoder-only model.

    Two ways lead to the same numbers: the fused pass where it fits, and the model's own forward everywhere. Which one
    is taken is settled once, when the model is loaded, by comparing them on a few tokens.

    Args:
        model: in eval mode, on its device, in its final dtype.
        vocab_size: tokens of the shared tokenizer; the padding rows of the head are cut off.
        fused: False keeps to the model's own forward, as a reference.
        graphs: replay the passes of single runs (`seat`), where the fused pass is used; else they are computed anew.

    Attributes:
        device: where the model's inputs go.
        hidden_size: H, of the states that logits are read from; some families project them, so a state is asked.
    """

    def __init__(self, model: PreTrainedModel, vocab_size: int, *, fused: bool = True, graphs: bool = False) -> None:
        self.model = model
        self.vocab_size = vocab_size
        # Kept: transformers looks for it among the parameters each time, which takes as long as a small layer.
        self.device: torch.device = model.device
        self._seats: Seats | None = None
        self._fused = FusedDecoder(model, vocab_size) if fused and FusedDecoder.supports(model) else None
        if self._fused is not None and not self._agrees([4, 3]):
            log.warning("%s: the fused pass disagrees with transformers and is not used", type(model).__name__)
            self._fused = None
        if self._fused is None:
            self._check_family()
        self.hidden_size = int(self.forward([self._any_ids(1)], self.new_cache())[1].shape[-1])
        self._seats = self._make_seats() if graphs else None

    def with_graphs(self, *, graphs: bool = True) -> Self:
        """The same model, its weights shared, whose runs are replayed or not."""
        other = copy.copy(self)
        other._seats = other._make_seats() if graphs else None
        return other

    def _make_seats(self) -> Seats | None:
        decoder = self._fused
        if decoder is None:
            return None
        if not self._agrees_replayed(Seat(decoder, N_COMPARED)):
            log.warning("%s: replayed passes disagree with transformers: not replayed", type(self.model).__name__)
            return None
        return Seats(lambda n_positions: Seat(decoder, n_positions))

    def _check_family(self) -> None:
        """Whether the model's own forward does what runs need.

        Raises:
            ModelFileError: it does not, or not with a cache.
        """
        try:
            _, states = self.forward([self._any_ids(2)], self.new_cache(), n_last=[2])
            if states.ndim != 2 or len(states) != 2:
                reason = "its last state is not one vector a token"
            else:
                reason = "" if self._agrees([4, 3]) else "the parts compute something else than the whole"
        except Exception as error:  # a family may want a cache of its own, or none
            reason = first_line(error)
        if reason:
            raise ModelFileError(
                f"Models of the family {clean(self.model.config.model_type)} cannot be used here: a text is read in "
                f"parts, beside other texts, and here that fails ({reason}). Choose a pair of another family."
            )

    def _agrees(self, chunks: Sequence[int]) -> bool:
        """Feeds a few tokens in chunks to our way, another text in between, and at once to the model's own."""
        ids, start = self._any_ids(sum(chunks)), 0
        cache, other = self.new_cache(), self.new_cache()
        ours = []
        for n in chunks:
            chunk = ids[start : start + n]
            ours.append(self.forward([chunk], cache, n_last=[n])[0])
            self.forward([chunk[::-1]], other)
            start += n
        theirs = self._own_logits(to_device(ids, self.device))
        # Where there are no numbers, nothing is compared: a run says so at its first token.
        return not theirs.isfinite().all() or self._is_near(torch.cat(ours), theirs)

    @torch.inference_mode()
    def _agrees_replayed(self, seat: Seat) -> bool:
        """The same for replayed passes: each width once full and, where it can be, once padded."""
        chunks = [4, *WIDTHS, *[width - 1 for width in WIDTHS if width - 1 not in (0, *WIDTHS)]]
        ids = self._any_ids(sum(chunks))
        ends = list(accumulate(chunks))
        ours = []
        for n, end in zip(chunks, ends, strict=True):
            if n == end:
                seat.read(ids[:end])
            else:
                seat.feed(ids[end - n : end])
            ours.append(seat.logits.clone())
        theirs = self._own_logits(to_device(ids, self.device))
        return self._is_near(torch.cat(ours), theirs[to_device(ends, self.device) - 1])

    def _any_ids(self, n: int) -> list[int]:
        return [i * 31 % self.vocab_size for i in range(n)]

    @torch.inference_mode()
    def _own_logits(self, ids: Tensor) -> Tensor:
        """[T, V] by the model's own forward."""
        logits: Tensor = self.model(input_ids=ids[None], use_cache=False).logits[0, :, : self.vocab_size]
        return logits

    def _is_near(self, ours: Tensor, theirs: Tensor) -> bool:
        """Whether logits are equal up to the dtype's rounding.

        In half precision that rounding is large on meaningless text (a tenth of the logits' spread was seen with
        Qwen2.5-0.5B, where the same weights agree to 1e-5 in float32), while a wrong pass is off by the spread itself.
        """
        ours, theirs = ours.float(), theirs.float()
        if self.model.dtype == torch.float32:
            return bool((ours - theirs).abs().max() <= 1e-3 * theirs.abs().max().clamp_min(1e-6))
        return bool((ours - theirs).square().mean().sqrt() <= 0.3 * theirs.std().clamp_min(1e-6))

    @property
    def is_replayed(self) -> bool:
        """Whether the passes of single runs are replayed."""
        return self._seats is not None

    def seat(self, n_positions: int) -> AbstractContextManager[Seat | None]:
        """What replays the passes of one run of so many tokens; None where they are not replayed."""
        return nullcontext() if self._seats is None else self._seats.lend(n_positions)

    @property
    def is_fused(self) -> bool:
        """Whether the fused pass is in use."""
        return self._fused is not None

    @property
    def products(self) -> Products:
        """How few rows are multiplied here."""
        return Products() if self._fused is None else self._fused.products

    def new_cache(self, n_slots: int = 1) -> Cache:
        """An empty cache for so many sequences, each of its own length."""
        return TransformersCaches(self.model, n_slots) if self._fused is None else self._fused.new_cache(n_slots)

    def forward(
        self,
        new_ids: Sequence[Sequence[int]],
        cache: Cache,
        slots: Sequence[int] = (0,),
        n_last: Sequence[int] | None = None,
    ) -> tuple[Tensor, Tensor]:
        """One forward pass of one sequence, or of several that each add their own number of tokens.

        Args:
            new_ids: B times one token or more.
            cache: from `new_cache`, of the tokens before them; extended in place.
            slots: where each sequence lives in the cache, all different.
            n_last: of each sequence, at how many of its last tokens to answer, at least one; None for the last alone.
                Only their logits are computed: those of a long prompt would take more memory than the model.

        Returns:
            Logits [N, V] and hidden states [N, H] (last layer, after the final norm), in the model's dtype, one
            sequence after another. Without a fused pass the sequences are fed one after another, which gives the same
            numbers and saves nothing.
        """
        n_last = n_last or [1] * len(slots)
        # Who decodes is in this mode already; to begin it anew takes as long as a small tensor operation.
        with nullcontext() if torch.is_inference_mode_enabled() else torch.inference_mode():
            if self._fused is not None:
                assert isinstance(cache, KVCache)
                hidden = self._fused.hidden_states(new_ids, cache, slots, n_last)
                return self._fused.logits(hidden), hidden
            assert isinstance(cache, TransformersCaches)
            answers = [
                self._own_answers(to_device(ids, self.device), cache.caches[slot], n)
                for ids, slot, n in zip(new_ids, slots, n_last, strict=True)
            ]
        if len(answers) == 1:
            return answers[0]
        return torch.cat([logits for logits, _ in answers]), torch.cat([hidden for _, hidden in answers])

    def _own_answers(self, ids: Tensor, cache: TransformersCache, n_last: int) -> tuple[Tensor, Tensor]:
        """The same of one sequence by the model's own forward."""
        n_before = cache.n_before_switch(len(ids))
        if n_before < len(ids) and (cache.length > 0 or n_before > len(ids) - n_last):  # a prompt is read as it is
            parts = [self._own_pass(ids[:n_before], cache, n_before)] if n_before else []
            parts.append(self._own_pass(ids[n_before:], cache, len(ids) - n_before))
            logits, hidden = (torch.cat(halves)[-n_last:] for halves in zip(*parts, strict=True))
            return logits, hidden
        return self._own_pass(ids, cache, n_last)

    def _own_pass(self, ids: Tensor, cache: TransformersCache, n_last: int) -> tuple[Tensor, Tensor]:
        fed = cache.to_feed(ids)
        output = self.model(
            input_ids=fed[None],
            past_key_values=cache.inner,
            use_cache=True,
            output_hidden_states=True,
            logits_to_keep=n_last,
        )
        # Not every family knows logits_to_keep.
        return output.logits[0, -n_last:, : self.vocab_size], output.hidden_states[-1][0, -n_last:]

    @torch.inference_mode()
    def read(self, texts: Sequence[Sequence[int]], n_last: Sequence[int]) -> Iterator[tuple[Tensor, Tensor]]:
        """Reads several texts in one pass and keeps no cache.

        Args:
            texts: B times one token or more.
            n_last: of each text, at how many of its last positions to answer.

        Yields:
            For each text in order: logits [n, V] and hidden states [n, H] at its last n positions. Logits are computed
            as they are asked for, because those of all texts at once may not fit into memory.
        """
        if self._fused is None:
            for ids, n in zip(texts, n_last, strict=True):
                yield self.forward([ids], self.new_cache(), n_last=[n])
            return
        states = self._fused.hidden_states(texts, self._fused.new_cache(len(texts)), range(len(texts)), n_last)
        for kept in states.split(list(n_last)):
            yield self._fused.logits(kept), kept
