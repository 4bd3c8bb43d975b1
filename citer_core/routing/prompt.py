"""Whether a pair can do what is asked of it: go on from a prompt, with a router and settings; and a prompt's number."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from citer_core.errors import PromptError, RouterError, SettingError
from citer_core.models.pair import ModelPair
from citer_core.models.remote_lm import RemoteLM
from citer_core.routing.router import Router
from citer_core.types import DecodeSettings


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


def check_router(pair: ModelPair, router: Router) -> None:
    """Refuses a router that needs more than a server gives.

    Raises:
        RouterError: it does.
    """
    if not isinstance(pair.llm, RemoteLM) or not (router.reads_llm or router.uses_llm_entropy):
        return
    raise RouterError(
        f'The router "{router.name}" needs the LLM\'s whole distribution, but an LLM on a server only gives its token '
        "and the most probable ones. Choose a router that looks at the SLM alone, or load the LLM here."
    )


def check_asked(pair: ModelPair, prompt_ids: Sequence[int], router: Router, settings: DecodeSettings) -> int:
    """All that can be wrong with a run; gives what `check_prompt` gives.

    Raises:
        PromptError, RouterError: see `check_prompt` and `check_router`.
        SettingError: sampled tokens are to be taken back, and the LLM is on a server.
    """
    room = check_prompt(pair, prompt_ids)
    check_router(pair, router)
    if isinstance(pair.llm, RemoteLM) and settings.take_back and settings.temperature:
        raise SettingError(
            "A server draws with random numbers of its own, so what the LLM would have drawn in place of a token is "
            "not known: set temperature or take_back to 0, or load the LLM here."
        )
    return room


def sequence_key(prompt_ids: Sequence[int]) -> int:
    """A 63-bit hash of a prompt, the same in every process: what a router may draw random numbers from."""
    digest = hashlib.sha256(b",".join(str(i).encode() for i in prompt_ids)).digest()
    return int.from_bytes(digest[:8], "big") >> 1
