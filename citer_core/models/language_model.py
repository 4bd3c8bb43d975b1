"""`LanguageModel`: a transformers model seen as one function, ids in, logits and the state behind them out.

Stateless and shared by all runs; caches belong to `CachedLM`. Knows nothing about routing.
"""

from __future__ import annotations

import torch
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel


class LanguageModel:
    """Wraps a decoder-only model.

    Nearly every architecture is body plus head, and then calling the two is the cheapest way to both logits and
    hidden state: the model's own forward gives the hidden state only together with those of all layers. Some scale or
    cap their logits behind the head, so this is checked once, on one token, and such a model is called as a whole.

    Args:
        model: in eval mode.
        vocab_size: tokens of the shared tokenizer; the padding rows of the head are cut off.
    """

    def __init__(self, model: PreTrainedModel, vocab_size: int) -> None:
        self.model = model
        self.vocab_size = vocab_size
        self._head = model.get_output_embeddings()
        self._is_body_plus_head = self._head is not None and self._check_body_plus_head()

    @torch.inference_mode()
    def _check_body_plus_head(self) -> bool:
        ids = torch.zeros(1, 1, dtype=torch.long, device=self.model.device)
        whole = self.model(input_ids=ids, use_cache=False).logits
        body = self.model.base_model(input_ids=ids, use_cache=False).last_hidden_state
        return torch.equal(whole, self._head(body))

    def forward(self, ids: Tensor, cache: DynamicCache | None = None, *, last_only: bool = True) -> tuple[Tensor, Tensor]:
        """One forward pass.

        Args:
            ids: [B, T] int64, on the model's device.
            cache: of the T_cached tokens before `ids`, or None for none; extended in place.
            last_only: give only the last position (T' = 1), else all (T' = T).

        Returns:
            logits [B, T', V] and hidden states [B, T', H] (last layer, after the final norm), in the model's dtype.
        """
        use_cache = cache is not None
        if self._is_body_plus_head:
            output = self.model.base_model(input_ids=ids, past_key_values=cache, use_cache=use_cache)
            hidden = output.last_hidden_state[:, -1:] if last_only else output.last_hidden_state
            return self._head(hidden)[..., : self.vocab_size], hidden
        output = self.model(
            input_ids=ids,
            past_key_values=cache,
            use_cache=use_cache,
            output_hidden_states=True,
            logits_to_keep=1 if last_only else 0,
        )
        hidden = output.hidden_states[-1]
        return output.logits[..., : self.vocab_size], hidden[:, -1:] if last_only else hidden

    @property
    def device(self) -> torch.device:
        """Where the model's inputs go."""
        return self.model.device
