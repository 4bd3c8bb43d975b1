"""A prompt as token ids: whether a pair can go on from it, and the number that it is known by."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from citer_core.errors import PromptError
from citer_core.models.pair import ModelPair


def check_prompt(pair: ModelPair, prompt_ids: Sequence[int]) -> int:
    """How many tokens may follow the prompt in the models' context.

    Raises:
        PromptError: none, or there is no prompt.
    """
    if not prompt_ids:
        raise PromptError("The prompt is empty. Write a question.")
    room = pair.max_context - len(prompt_ids)
    if room < 1:
        raise PromptError(
            f"The prompt has {len(prompt_ids):,} tokens; this pair reads at most {pair.max_context - 1:,}. Shorten it."
        )
    return room


def sequence_key(prompt_ids: Sequence[int]) -> int:
    """A 63-bit hash of a prompt, the same in every process: what a router may draw random numbers from."""
    digest = hashlib.sha256(b",".join(str(i).encode() for i in prompt_ids)).digest()
    return int.from_bytes(digest[:8], "big") >> 1
