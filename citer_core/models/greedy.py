"""The greedy token of each position: that of the greatest logit. Knows nothing about models or routing."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from citer_core.models.row_parts import row_parts
from citer_core.models.transfer import is_away


def greedy_tokens(logits: Tensor) -> Tensor:
    """[...] int64, the tokens of the greatest of [..., V] logits, the lowest id at a tie.

    On a CPU they are found through NumPy, which takes a sixteenth of torch's time for 16 rows of 1,536 in float32, and
    in bfloat16 a quarter for 32 rows of 151,936, the change to float32 included.
    """
    if is_away(logits):
        return logits.argmax(-1)
    if logits.ndim != 2:
        return torch.from_numpy(np.asarray(logits.float().numpy().argmax(-1)))
    return torch.cat([torch.from_numpy(part.float().numpy().argmax(-1)) for part in row_parts(logits)])
