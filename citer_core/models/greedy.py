"""The greedy token of each position: that of the greatest logit. Knows nothing about models or routing."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from citer_core.models.transfer import is_away


def greedy_tokens(logits: Tensor) -> Tensor:
    """[...] int64, the tokens of the greatest of [..., V] logits, the lowest id at a tie.

    In float32 on a CPU they are found through NumPy, which takes a sixteenth of torch's time for 16 rows of 1,536.
    """
    if logits.dtype == torch.float32 and not is_away(logits):
        return torch.from_numpy(np.asarray(logits.numpy().argmax(-1)))
    return logits.argmax(-1)
