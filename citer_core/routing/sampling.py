"""Choosing a token from logits: greedy, or sampled so that the choice at a position depends on nothing else.

Sampling inverts the cumulative distribution at a uniform number that is a function of (seed, position) alone. Both
models look at the same number, so a run can be replayed or branched at any token and the positions before it come out
the same, whichever model was asked there. Knows nothing about models or routing.
"""

from __future__ import annotations

import random

import torch
from torch import Tensor

from citer_core.models.greedy import greedy_tokens
from citer_core.types import DecodeSettings


def uniform_at(seed: int, index: int) -> float:
    """The number in [0, 1) that decides the token at `index`; the same on every platform."""
    return random.Random(f"citer:{seed}:{index}").random()


def seed_at(seed: int, index: int) -> int:
    """31 bits for a sampler elsewhere that decides the token at `index`.

    A server is asked for one token at a time and starts its random numbers anew at each call: with one seed for all
    calls it would draw the same numbers for every token.
    """
    return random.Random(f"citer:{seed}:{index}:server").getrandbits(31)


def choose_token(logits: Tensor, settings: DecodeSettings, index: int) -> int:
    """The next token's id.

    Args:
        logits: [V], any float dtype.
        settings: temperature 0 takes the greatest logit, the lower id at a tie.
        index: position in the completion.
    """
    return int(greedy_tokens(logits)) if settings.temperature == 0.0 else int(sampled_token(logits, settings, index))


def sampled_token(logits: Tensor, settings: DecodeSettings, index: int) -> Tensor:
    """`choose_token` above temperature 0 as a [1] tensor: nothing waits for the device."""
    return token_at(logits, settings.temperature, settings.top_p, uniform_at(settings.seed, index))


def token_at(logits: Tensor, temperature: float | Tensor, top_p: float | Tensor, uniform: float | Tensor) -> Tensor:
    """[1] int64, the token that the number `uniform` in [0, 1) falls on, within the nucleus of `top_p`.

    Args:
        logits: [V], any float dtype.
        temperature, top_p, uniform: numbers, or [1] float64 tensors beside the logits.
    """
    ids, cumulative, last = nucleus(logits, temperature, top_p)
    return ids.gather(0, rank_at(cumulative, last, uniform))


def nucleus(logits: Tensor, temperature: float | Tensor, top_p: float | Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """All tokens, the most probable first, and how many of them may be drawn.

    Args:
        logits, temperature, top_p: see `token_at`.

    Returns:
        ids [V] int64; their cumulative probabilities at that temperature, [V] float64; the rank of the last token that
        top-p keeps, [1] int64.
    """
    probabilities = torch.softmax(logits.double() / temperature, dim=-1)
    ordered, ids = probabilities.sort(descending=True, stable=True)
    cumulative = ordered.cumsum(-1)
    # The nucleus is the shortest prefix that holds top_p of the mass: a token is in it iff less lies before it.
    # Where the logits are no numbers none is, and the caller finds that out; an index of -1 would break a GPU.
    last = ((cumulative - ordered < top_p).sum(dim=0, keepdim=True) - 1).clamp_min(0)
    return ids, cumulative, last


def rank_at(cumulative: Tensor, last: Tensor, uniform: float | Tensor) -> Tensor:
    """[1] int64, where the number `uniform` falls among the tokens of `nucleus`."""
    target = uniform * cumulative.gather(0, last)
    return torch.minimum(torch.searchsorted(cumulative, target, right=True), last)
