"""The most probable tokens of a distribution, and the one that is chosen from it, for a row of each position.

What the host needs to know of a position leaves the device together, so that each decision waits once. Knows nothing
about who is asked or why. Called for both models.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from citer_core.models.greedy import greedy_tokens, top_tokens
from citer_core.models.pair import ModelPair
from citer_core.models.transfer import to_host
from citer_core.routing.look_back import Span
from citer_core.routing.said import UNREAD, Said, not_a_number
from citer_core.routing.sampling import sampled_token
from citer_core.routing.sequence import RoutedSequence
from citer_core.types import Candidate, DecodeSettings

TOP_K = 5


def top_candidates(pair: ModelPair, log_probs: Tensor) -> tuple[Candidate, ...]:
    """The `TOP_K` most probable tokens of a [1, V] distribution, best first."""
    return candidates_of(pair, *to_host(*top_tokens(log_probs.view(-1), TOP_K)))


def candidates_at(pair: ModelPair, span: Span, place: int) -> tuple[Candidate, ...]:
    """The `TOP_K` most probable tokens of one place of a span, or as many as a server tells."""
    if span.logits is not None:
        return top_candidates(pair, torch.log_softmax(span.logits[place][None].float(), dim=-1))
    ids, log_probs = zip(*span.tops[place], strict=True)
    return candidates_of(pair, list(log_probs), list(ids))


def choose_rows(
    pair: ModelPair,
    which: str,
    logits: Tensor,
    log_probs: Tensor | None,
    rows: Sequence[RoutedSequence],
    *others: Tensor,
) -> tuple[list[Said], list[Any]]:
    """The next token of each row, with the `TOP_K` most probable ones where it wants them, and one wait for the device.

    Args:
        pair: whose tokens they are.
        which: `SLM` or `LLM`, for the error of a row whose logits are no numbers.
        logits: [B, V].
        log_probs: [B, V] of the same positions; None where no candidates are asked for.
        rows: whose they are: B sequences.
        others: what else the host needs to know now.

    Returns:
        What is said of each row, and the numbers of the others.
    """
    is_greedy = not any(row.settings.temperature for row in rows)
    if log_probs is None:
        chosen = greedy_tokens(logits) if is_greedy else _sampled(logits, rows)
        # Of each row a logit that is a finite number only if none of the row is NaN or infinite: the greatest.
        witness = logits.gather(-1, chosen[:, None]).view(-1) if is_greedy else logits.amax(-1)
        token_ids, values, *numbers = to_host(chosen, witness, *others)
        found = [Said(token_id) for token_id in token_ids]
    else:
        sampled = () if is_greedy else (_sampled(logits, rows),)
        log_values, top_ids, *numbers = to_host(*top_tokens(log_probs, TOP_K), *others, *sampled)
        values = [best[0] for best in log_values]  # one logit that is no number spoils all of its row
        if sampled:
            token_ids = numbers.pop()
        elif any(len(best) > 1 and best[0] == best[1] for best in log_values):  # a tie, of which the lower id is taken
            token_ids = greedy_tokens(logits).tolist()
        else:
            token_ids = [ids[0] for ids in top_ids]
        found = [
            Said(token_id, candidates_of(pair, best, ids) if row.with_candidates else ())
            for token_id, best, ids, row in zip(token_ids, log_values, top_ids, rows, strict=True)
        ]
    for said, value in zip(found, values, strict=True):
        if not math.isfinite(value):
            said.token_id, said.top, said.error = UNREAD, (), not_a_number(which)
    return found, numbers


def _sampled(logits: Tensor, rows: Sequence[RoutedSequence]) -> Tensor:
    """[B] token ids."""
    return torch.cat([chosen_tokens(logits[i : i + 1], row.settings, [row.n_written]) for i, row in enumerate(rows)])


def chosen_tokens(logits: Tensor, settings: DecodeSettings, places: Sequence[int]) -> Tensor:
    """[n] token ids that one run takes at these places of its completion, of logits [n, V]."""
    if settings.temperature == 0.0:
        return greedy_tokens(logits)
    return torch.cat([sampled_token(some, settings, place) for some, place in zip(logits, places, strict=True)])


def candidates_of(pair: ModelPair, log_values: list[float], token_ids: list[int]) -> tuple[Candidate, ...]:
    """The tokens with their texts and probabilities, in the order in which they are given."""
    texts = map(pair.token_text, token_ids)
    return tuple(map(Candidate, token_ids, texts, [round(math.exp(value), 6) for value in log_values]))
