"""Greedy tokens against Python's own maximum."""

from __future__ import annotations

import pytest
import torch

from citer_core.models.greedy import greedy_tokens


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
