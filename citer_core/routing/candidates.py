"""The most probable tokens of a distribution, and the one that is chosen from it; one position, or a row for each.

Knows nothing about who is asked or why. Called by the decode loops for both models.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor

from citer_core.models.pair import ModelPair
from citer_core.routing.sampling import choose_token
from citer_core.types import Candidate, DecodeSettings

TOP_K = 5


def top_candidates(pair: ModelPair, log_probs: Tensor) -> tuple[tuple[Candidate, ...], int | None]:
    """The `TOP_K` most probable tokens of a [1, V] distribution, best first, and the first one's id; None at a tie."""
    values, ids = log_probs.view(-1).topk(min(TOP_K, log_probs.shape[-1]))
    log_values: list[float] = values.tolist()
    token_ids: list[int] = ids.tolist()
    texts = map(pair.token_text, token_ids)
    top = tuple(map(Candidate, token_ids, texts, [round(math.exp(value), 6) for value in log_values]))
    is_tie = len(log_values) > 1 and log_values[0] == log_values[1]
    return top, None if is_tie else token_ids[0]


def choose(logits: Tensor, first: int | None, settings: DecodeSettings, index: int) -> int:
    """`choose_token` of [1, V] logits, without looking through them once more where the greedy token is known."""
    if settings.temperature == 0.0 and first is not None:
        return first
    return choose_token(logits[0], settings, index)


def top_rows(pair: ModelPair, log_probs: Tensor) -> list[tuple[Candidate, ...]]:
    """The `TOP_K` most probable tokens of each row of [B, V] log-probabilities, best first."""
    values, ids = log_probs.topk(min(TOP_K, log_probs.shape[-1]), dim=-1)
    return [
        tuple(Candidate(i, pair.token_text(i), round(p, 6)) for i, p in zip(row_ids, row, strict=True))
        for row_ids, row in zip(ids.tolist(), values.exp().tolist(), strict=True)
    ]


def choose_rows(logits: Tensor, settings: DecodeSettings, indices: Sequence[int]) -> list[int]:
    """The next token of each row of [B, V] logits, whose position in its completion is in `indices`."""
    if settings.temperature == 0.0:
        chosen: list[int] = logits.argmax(-1).tolist()
        return chosen
    return [choose_token(row, settings, index) for row, index in zip(logits, indices, strict=True)]
