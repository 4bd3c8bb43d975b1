"""The most probable tokens of a distribution, and the one that is chosen from it; one position, or a row for each.

What the host needs to know of a position leaves the device together, so that each decision waits once. Knows nothing
about who is asked or why. Called by the decode loops for both models.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from citer_core.models.greedy import greedy_tokens
from citer_core.models.pair import ModelPair
from citer_core.models.transfer import to_host
from citer_core.routing.sampling import choose_token, sampled_token
from citer_core.routing.soundness import not_a_number
from citer_core.routing.top_tokens import top_tokens
from citer_core.types import Candidate, DecodeSettings

TOP_K = 5


def top_candidates(pair: ModelPair, log_probs: Tensor) -> tuple[Candidate, ...]:
    """The `TOP_K` most probable tokens of a [1, V] distribution, best first."""
    return candidates_of(pair, *to_host(*top_tokens(log_probs.view(-1), TOP_K)))


@dataclass(slots=True)
class ChosenRows:
    """What the host knows of B positions.

    Attributes:
        token_ids: one for each.
        tops: candidates of each, best first; empty where nobody asked for them.
        are_sound: whether the logits are numbers; if not, its token means nothing.
        numbers: of the other tensors.
    """

    token_ids: list[int]
    tops: list[tuple[Candidate, ...]]
    are_sound: list[bool]
    numbers: list[Any]


def choose(
    pair: ModelPair,
    which: str,
    logits: Tensor,
    log_probs: Tensor,
    settings: DecodeSettings,
    index: int,
    *others: Tensor,
) -> tuple[int, tuple[Candidate, ...], list[Any]]:
    """The next token and the `TOP_K` most probable ones, with one wait for the device.

    Args:
        pair: whose tokens they are.
        which: `SLM` or `LLM`, for a message.
        logits, log_probs: [1, V] of the same position.
        settings: greedy or sampled.
        index: position in the completion.
        others: what else the host needs to know now.

    Returns:
        The token's id, the candidates, best first, and the numbers of `others`.

    Raises:
        NotANumberError: the logits are none.
    """
    is_greedy = settings.temperature == 0.0
    sampled = () if is_greedy else (sampled_token(logits[0], settings, index),)
    log_values, token_ids, *numbers = to_host(*top_tokens(log_probs.view(-1), TOP_K), *others, *sampled)
    if not math.isfinite(log_values[0]):
        raise not_a_number(which)
    if not is_greedy:
        (chosen,) = numbers.pop()
    elif len(log_values) > 1 and log_values[0] == log_values[1]:  # a tie, of which the lower id is taken
        chosen = choose_token(logits[0], settings, index)
    else:
        chosen = token_ids[0]
    return chosen, candidates_of(pair, log_values, token_ids), numbers


def choose_rows(
    pair: ModelPair,
    logits: Tensor,
    log_probs: Tensor | None,
    settings: Sequence[DecodeSettings],
    indices: Sequence[int],
    *others: Tensor,
) -> ChosenRows:
    """`choose` for each row of [B, V] logits, with one wait for all; no candidates without log-probabilities.

    Args:
        pair, log_probs, others: see `choose`.
        logits: [B, V].
        settings, indices: of each row.
    """
    chosen = _chosen(logits, settings, indices)
    if log_probs is None:
        token_ids, values, *numbers = to_host(chosen, _witness(logits, chosen, settings), *others)
        return ChosenRows(token_ids, [()] * len(token_ids), list(map(math.isfinite, values)), numbers)
    token_ids, log_values, top_ids, *numbers = to_host(chosen, *top_tokens(log_probs, TOP_K), *others)
    are_sound = [math.isfinite(row[0]) for row in log_values]  # one logit that is no number spoils all of its row
    tops = [
        candidates_of(pair, row, ids) if sound else ()
        for row, ids, sound in zip(log_values, top_ids, are_sound, strict=True)
    ]
    return ChosenRows(token_ids, tops, are_sound, numbers)


def _chosen(logits: Tensor, settings: Sequence[DecodeSettings], indices: Sequence[int]) -> Tensor:
    """[B] token ids."""
    n_sampled = sum(s.temperature > 0.0 for s in settings)
    if n_sampled == 0:
        return greedy_tokens(logits)
    greedy = greedy_tokens(logits).split(1) if n_sampled < len(settings) else ()
    rows = [
        sampled_token(logits[row], s, index) if s.temperature > 0.0 else greedy[row]
        for row, (s, index) in enumerate(zip(settings, indices, strict=True))
    ]
    return torch.cat(rows)


def _witness(logits: Tensor, chosen: Tensor, settings: Sequence[DecodeSettings]) -> Tensor:
    """[B], of each row a logit that is a finite number only if none of the row is NaN or infinite: the greatest."""
    if any(s.temperature > 0.0 for s in settings):
        return logits.amax(-1)
    return logits.gather(-1, chosen[:, None]).view(-1)


def candidates_of(pair: ModelPair, log_values: list[float], token_ids: list[int]) -> tuple[Candidate, ...]:
    """The tokens with their texts and probabilities, in the order in which they are given."""
    texts = map(pair.token_text, token_ids)
    return tuple(map(Candidate, token_ids, texts, [round(math.exp(value), 6) for value in log_values]))
