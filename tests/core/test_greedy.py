"""Greedy tokens against Python's own maximum, and the most probable ones against torch's own way."""

from __future__ import annotations

import math

import pytest
import torch

from citer_core.models.greedy import MANY_TOKENS, greedy_tokens, top_tokens


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("shape", [(1536,), (1, 7), (16, 1536), (2, 3, 50), (7, 400_000)])
def test_the_greatest_logit_is_found_and_the_lowest_id_at_a_tie(dtype, shape):
    logits = torch.randint(-5, 5, shape, generator=torch.Generator().manual_seed(1)).to(dtype)  # ties everywhere
    found = greedy_tokens(logits)
    assert found.dtype == torch.int64 and found.shape == shape[:-1]
    for row, token in zip(logits.reshape(-1, shape[-1]).tolist(), found.reshape(-1).tolist(), strict=True):
        assert token == row.index(max(row))


def test_rows_of_a_wider_matrix_are_read_as_they_lie():
    wide = torch.randn(4, 20, generator=torch.Generator().manual_seed(2))
    assert greedy_tokens(wide[:, :11]).tolist() == [row.index(max(row)) for row in wide[:, :11].tolist()]


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
