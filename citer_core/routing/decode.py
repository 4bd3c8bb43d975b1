"""The decode loop: one sequence, two models, one decision per token, one `TokenEvent` per step.

Knows nothing about prompts, answers or pages; ids in, events out. Called by `citer_core.engine`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack

import torch
from torch import Tensor

from citer_core.errors import PromptError
from citer_core.fork import Fork
from citer_core.models.cached_lm import Forward
from citer_core.models.pair import ModelPair
from citer_core.models.server_client import CallCancelledError
from citer_core.routing.llm_writers import LLMWriter, check_router, llm_writer
from citer_core.routing.position import Written
from citer_core.routing.router import Router
from citer_core.routing.slm_readers import SlmReader, slm_reader
from citer_core.routing.soundness import is_confidence, no_confidence
from citer_core.text import TextStream
from citer_core.types import DecodeSettings, FinishReason, Source, TokenEvent, prefers_llm


def decode(
    pair: ModelPair,
    router: Router,
    prompt_ids: Sequence[int],
    settings: DecodeSettings,
    *,
    is_cancelled: Callable[[], bool] = lambda: False,
    reuse_llm_cache: bool = True,
    fork: Fork | None = None,
) -> Generator[TokenEvent, None, FinishReason]:
    """Writes a completion token by token.

    Args:
        pair: the two models.
        router: scores the SLM's state at every position, also where tau leaves no choice: the page shows it.
        prompt_ids: at least one token.
        settings: threshold, length, sampling.
        is_cancelled: asked between tokens, so a run stops within one step; and while a server is waited for.
        reuse_llm_cache: False feeds the LLM the whole text at every call, as the authors' published code does.
        fork: go on from these events instead of from the prompt. Both caches are brought to where they stood, so what
            follows is what one run with the same decisions would have written.

    Yields:
        One event per token, end of text included; those of the fork are not repeated.

    Returns:
        Why it ended: `eos`, `length` (of the request, or of the models' context) or `cancelled`.

    Raises:
        PromptError: the prompt is empty or leaves no room in the models' context.
        SettingError: nothing can follow the fork.
        RouterError: the router needs what an LLM on a server does not give; or it gave something else than a
            confidence, after the events that were written until then.
        ServerError: the LLM's server was lost, after the events that were written until then.
        NotANumberError: the router or a model computed no number; after the events until then.
    """
    room = check_prompt(pair, prompt_ids)
    check_router(pair, router)
    n_steps = min(settings.max_new_tokens, room)
    if fork is not None:
        fork.check(pair.vocab_size, pair.eos_ids, n_steps)
    n_positions = len(prompt_ids) + n_steps
    with ExitStack() as held:
        slm = slm_reader(pair, router, settings, sequence_key(prompt_ids), n_positions, held)
        llm = llm_writer(pair, router, settings, is_cancelled, n_positions, held, reuse_cache=reuse_llm_cache)
        reason = yield from _steps(pair, router, slm, llm, prompt_ids, settings, n_steps, is_cancelled, fork)
    return reason


def _steps(
    pair: ModelPair,
    router: Router,
    slm: SlmReader,
    llm: LLMWriter,
    prompt_ids: Sequence[int],
    settings: DecodeSettings,
    n_steps: int,
    is_cancelled: Callable[[], bool],
    fork: Fork | None,
) -> Generator[TokenEvent, None, FinishReason]:
    """The loop itself; see `decode`."""
    text = TextStream(pair.tokenizer)
    ids = list(prompt_ids)
    without_gradients = torch.inference_mode()
    llm_entropy: Tensor | None = None
    early: Forward | None = None
    n_shared = 0
    if fork is not None:
        llm_entropy = _read_shared(fork, ids, slm, llm)
        ids += fork.token_ids
        n_shared = fork.n_shared
        for token_id in fork.token_ids:
            text.push(token_id)
    for index in range(n_shared, n_steps):
        if is_cancelled():
            return "cancelled"

        with without_gradients:  # not around the loop: it must not leak to whoever takes the events
            # 1. The SLM reads every position, so its cache is always current, and the router scores the state behind
            #    its candidate.
            llm_forward = llm.read(ids, index) if router.reads_llm else early
            llm_logits = llm_forward.logits if llm_forward and router.reads_llm else None
            scored = slm.read(ids, index, llm_entropy, llm_logits)
            confidence = scored.confidence
            if not is_confidence(confidence):
                raise no_confidence(router)

            # 2. One of the two writes the token. The LLM first reads what it has not seen.
            token_id = scored.token_id
            source: Source = "slm"
            written: Written | None = None
            forced = fork if fork is not None and fork.source is not None and index == n_shared else None
            if forced.source == "llm" if forced else prefers_llm(confidence, settings.threshold):
                try:
                    written = llm.write(ids, index, llm_forward)
                except CallCancelledError:
                    return "cancelled"
                token_id, source = written.token_id, "llm"
            llm_entropy = written.entropy if written else None
            if forced and forced.token_id is not None:
                token_id = forced.token_id

            # 3. The next token's work may begin while this one's is told.
            ids.append(token_id)
            is_last = token_id in pair.eos_ids or index + 1 == n_steps
            early = None
            if not is_last:
                slm.begin(ids, index + 1, llm_entropy)
                if source == "llm":  # it is likely to go on
                    early = llm.begin(ids, index + 1)

        llm_n_fed, llm_s = 0, 0.0
        if written is not None:
            llm_n_fed, llm_s = written.n_fed, written.seconds
        elif llm_forward is not None:
            llm_n_fed, llm_s = llm_forward.n_fed, llm_forward.seconds
        yield TokenEvent(
            index=index,
            token_id=token_id,
            text=text.push(token_id) + (text.flush() if is_last else ""),
            source=source,
            slm_token_id=scored.token_id,
            slm_confidence=confidence,
            threshold=settings.threshold,
            slm_tokens_fed=scored.n_fed,
            llm_tokens_fed=llm_n_fed,
            context_len=len(ids) - 1,
            slm_s=scored.slm_s,
            router_s=scored.router_s,
            llm_s=llm_s,
            slm_top=scored.top,
            llm_top=written.top if written else (),
            forced=forced is not None,
        )
        if token_id in pair.eos_ids:
            return "eos"
    return "length"


def _read_shared(fork: Fork, prompt_ids: Sequence[int], slm: SlmReader, llm: LLMWriter) -> Tensor | None:
    """Brings both models to where they stood before the fork's first own token, in a pass or two per model.

    The SLM has then read all but the last token, which the loop feeds it; the LLM what it had read at its last call.

    Returns:
        The LLM's [1] entropy at the last token, as the loop keeps it.
    """
    if not fork.events:
        return None
    entropy: Tensor | None = None
    with torch.inference_mode():
        slm.read_shared(prompt_ids, fork.token_ids)
        if fork.n_read_by_llm:
            entropy = llm.catch_up([*prompt_ids, *fork.token_ids][: fork.n_read_by_llm])
    return entropy if fork.events[-1].source == "llm" else None


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
