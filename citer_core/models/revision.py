"""The name of a model's weights, from the weights. What it is made of, and how two are compared: `same_pair`."""

from __future__ import annotations

import hashlib
from functools import lru_cache

import torch
from torch import Tensor
from transformers import PreTrainedModel

from citer_core.models.same_pair import WHOLE

BLOCK = 2**20  # bfloat16 values that are summed at once: a copy of so many stays in the processor's cache
_WORD = 4  # bfloat16 values in 64 bits


def weights_revision(model: PreTrainedModel) -> str:
    """Sixteen hex digits of a SHA-256 over a sample of every parameter, and eight over sums of all of them.

    Every tensor contributes its name, shape and up to 64 evenly spaced values, then sums over all its values: one
    changed value always changes them. A 1.5 B model is named in about a second, at the speed of memory. Values are
    rounded to bfloat16 first: the same weights in float32 and in bfloat16 are one revision, because a router trained on
    either reads both. Float16 and packed weights cannot be rounded to the same numbers: they get the sample only.
    """
    digest, whole = hashlib.sha256(), hashlib.sha256()
    is_covered = True
    for name, parameter in sorted(model.named_parameters()):
        flat = parameter.detach().flatten()
        sample = flat[:: max(1, flat.numel() // 64)][:64].bfloat16().float().cpu()
        digest.update(f"{name}{tuple(parameter.shape)}".encode())
        digest.update(sample.contiguous().numpy().tobytes())
        is_covered = is_covered and flat.dtype in (torch.float32, torch.bfloat16)
        if is_covered:
            whole.update(f"{name}{tuple(parameter.shape)}{_sums(flat)}".encode())
    return digest.hexdigest()[:16] + (WHOLE + whole.hexdigest()[:8] if is_covered else "")


def _sums(flat: Tensor) -> list[int]:
    """One sum per block of a [N] tensor in bfloat16: 64-bit words times odd weights, modulo 2^64.

    An odd number has an inverse there, so a change of one word changes its sum for certain; a change of several leaves
    it the same by a rare chance only.
    """
    weights = _weights(flat.device)
    sums = []
    for block in flat.split(BLOCK):
        words = block
        if block.dtype != torch.bfloat16 or len(block) % _WORD or block.storage_offset() % _WORD:
            words = torch.zeros(-(-len(block) // _WORD) * _WORD, dtype=torch.bfloat16, device=flat.device)
            words[: len(block)] = block
        integers = words.view(torch.int64)
        sums.append((integers * weights[: len(integers)]).sum())
    return [int(total) for total in torch.stack(sums).tolist()] if sums else []


@lru_cache(maxsize=1)
def _weights(device: torch.device) -> Tensor:
    """1, 3, 5, ... for each word of a block: two megabytes."""
    return torch.arange(1, BLOCK // _WORD * 2, 2, device=device)
