"""The most probable tokens, against torch's own way."""

from __future__ import annotations

import math

import pytest
import torch

from citer_core.models.greedy import MANY_TOKENS, top_tokens


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("shape", [(900,), (20_000,), (3, 151_936), (2, MANY_TOKENS), (2, 2, MANY_TOKENS + 1)])
def test_they_are_those_of_torch(shape, k):
    log_probs = torch.log_softmax(torch.randn(shape, generator=torch.Generator().manual_seed(k)), dim=-1)
    log_probs[..., 7:9] = log_probs[..., -1:] = 0.0  # neighbours, and the last token
    log_probs[..., 300:600] = -math.inf
    values, ids = top_tokens(log_probs, k)
    assert torch.equal(values, log_probs.topk(k, dim=-1).values)
    assert torch.equal(log_probs.gather(-1, ids), values)
    assert all(len(set(row)) == k for row in ids.reshape(-1, k).tolist())
    log_probs[..., k:] = -math.inf  # no more than these are possible
    assert all(set(row) == set(range(k)) for row in top_tokens(log_probs, k)[1].reshape(-1, k).tolist())


def test_a_vocabulary_of_fewer_tokens_gives_them_all():
    values, ids = top_tokens(torch.tensor([[0.25, 0.5]]), 5)
    assert ids.tolist() == [[1, 0]] and values.tolist() == [[0.5, 0.25]]
