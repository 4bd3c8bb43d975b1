"""What a checkpoint's tensors must be: all there, none besides, of the right shapes, finite. Called by `checkpoint`.

transformers fills a missing tensor with random numbers and says so in its log only; a model like that runs.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, PreTrainedModel

from citer_core.errors import ModelFileError
from citer_core.gate.excerpt import clean

# What old versions of a family saved along and none reads: the mask's value.
UNREAD = "masked_bias"
AGAIN = "The file is damaged or belongs to another model: fetch or train it again. Nothing was loaded."


def load_tensors(folder: Path, **options: Any) -> tuple[PreTrainedModel, Mapping[str, Any]]:
    """A model from files that are here, and what transformers says of their tensors; nothing in them is run.

    Transformers' printed table of them, which `check_tensors` turns into an error, is left out.
    """
    # A filter and no level: transformers does more, and says more, for a logger whose level was set.
    logger = logging.getLogger("transformers.modeling_utils")
    logger.addFilter(_is_no_report)
    try:
        found: tuple[PreTrainedModel, Mapping[str, Any]] = AutoModelForCausalLM.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False, output_loading_info=True, **options
        )
        return found
    finally:
        logger.removeFilter(_is_no_report)


def _is_no_report(record: logging.LogRecord) -> bool:
    return "LOAD REPORT" not in str(record.msg)


def check_tensors(name: str, model: PreTrainedModel, found: Mapping[str, Any]) -> None:
    """Refuses weights that are not exactly the model's, or are NaN or infinite; one pass at the memory's speed.

    Args:
        name: of the folder or file, for the message.
        model: with its weights.
        found: what `from_pretrained(..., output_loading_info=True)` says. Tensors that transformers knows to be
            left out of checkpoints, or to be in old ones, are not in it.

    Raises:
        ModelFileError: a tensor is missing, is none of the model's, has another shape or holds such a number; it is
            named.
    """
    for which, words in (
        ("missing_keys", "lacks {n} of the model's tensors, {first} for one"),
        ("mismatched_keys", "has {n} tensors of another shape than its config.json says, {first} for one"),
        ("unexpected_keys", "has {n} tensors that the model does not have, {first} for one"),
        ("error_msgs", "could not be read ({first})"),
    ):
        keys = sorted(str(key[0] if isinstance(key, tuple) else key) for key in found.get(which, ()))
        keys = [key for key in keys if which != "unexpected_keys" or not key.endswith(UNREAD)]
        if keys:
            said = words.format(n=len(keys), first=clean(keys[0][:100]))
            raise ModelFileError(f"The checkpoint {name} {said}. {AGAIN}")
    for key, tensor in (*model.named_parameters(), *model.named_buffers()):
        if not is_finite(tensor):
            raise ModelFileError(f"The checkpoint {name} holds weights that are not finite numbers, in {key}. {AGAIN}")


def is_finite(tensor: Tensor) -> bool:
    """Whether no value is NaN or infinite; packed and meta tensors are not looked into."""
    if not tensor.is_floating_point() or tensor.is_meta or tensor.numel() == 0:
        return True
    # Twenty times as fast as `isfinite().all()`, which writes a mask: a NaN becomes both ends.
    low, high = torch.aminmax(tensor.detach())
    return math.isfinite(float(low)) and math.isfinite(float(high))
