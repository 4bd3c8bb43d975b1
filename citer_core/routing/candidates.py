"""The most probable tokens of a distribution, and the one that is chosen from it; one position, or a row for each.

What the host needs to know of a position leaves the device together, so that each decision waits once. Knows nothing
about who is asked or why. Called by the decode loops for both models.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from citer_core.models.greedy import greedy_tokens
from citer_core.models.pair import ModelPair
from citer_core.models.transfer import to_host
from citer_core.routing.sampling import choose_token, sampled_token
from citer_core.routing.top_tokens import top_tokens
from citer_core.types import Candidate, DecodeSettings

TOP_K = 5


def top_candidates(pair: ModelPair, log_probs: Tensor) -> tuple[Candidate, ...]:
    """The `TOP_K` most probable tokens of a [1, V] distribution, best first."""
    return _candidates(pair, *to_host(*top_tokens(log_probs.view(-1), TOP_K)))


def choose(
    pair: ModelPair, logits: Tensor, log_probs: Tensor, settings: DecodeSettings, index: int, *others: Tensor
) -> tuple[int, tuple[Candidate, ...], list[Any]]:
    """The next token and the `TOP_K` most probable ones, with one wait for the device.

    Args:
        pair: whose tokens they are.
        logits, log_probs: [1, V] of the same position.
        settings: greedy or sampled.
        index: position in the completion.
        others: what else the host needs to know now.

    Returns:
        The token's id, the candidates, best first, and the numbers of `others`.
    """
    is_greedy = settings.temperature == 0.0
    sampled = () if is_greedy else (sampled_token(logits[0], settings, index),)
    log_values, token_ids, *numbers = to_host(*top_tokens(log_probs.view(-1), TOP_K), *others, *sampled)
    if not is_greedy:
        (chosen,) = numbers.pop()
    elif len(log_values) > 1 and log_values[0] == log_values[1]:  # a tie, of which the lower id is taken
        chosen = choose_token(logits[0], settings, index)
    else:
        chosen = token_ids[0]
    return chosen, _candidates(pair, log_values, token_ids), numbers


def choose_rows(
    pair: ModelPair,
    logits: Tensor,
    log_probs: Tensor | None,
    settings: DecodeSettings,
    indices: Sequence[int],
    *others: Tensor,
) -> tuple[list[int], list[tuple[Candidate, ...]], list[Any]]:
    """`choose` for each row of [B, V] logits, with one wait for all; no candidates without log-probabilities."""
    if settings.temperature == 0.0:
        chosen = greedy_tokens(logits)
    else:
        chosen = torch.cat([sampled_token(row, settings, i) for row, i in zip(logits, indices, strict=True)])
    if log_probs is None:
        token_ids, *numbers = to_host(chosen, *others)
        return token_ids, [()] * len(token_ids), numbers
    values, ids = top_tokens(log_probs, TOP_K)
    token_ids, probabilities, top_ids, *numbers = to_host(chosen, values.exp(), ids, *others)
    tops = [
        tuple(Candidate(i, pair.token_text(i), round(p, 6)) for i, p in zip(row_ids, row, strict=True))
        for row_ids, row in zip(top_ids, probabilities, strict=True)
    ]
    return token_ids, tops, numbers


def _candidates(pair: ModelPair, log_values: list[float], token_ids: list[int]) -> tuple[Candidate, ...]:
    texts = map(pair.token_text, token_ids)
    return tuple(map(Candidate, token_ids, texts, [round(math.exp(value), 6) for value in log_values]))
