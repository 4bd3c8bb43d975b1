"""The decode loop for many prompts at once: the same tokens as `decode`, several sequences per forward pass.

Each sequence has its own length, its own lagging LLM cache and its own decisions. One that ends leaves its slot, and
the next prompt moves in; while some wait for the LLM, others fill the SLM's passes. So both models' passes stay full
to the end. A beginning that prompts have in common is read once (`BatchedLM`), and counted for each as if it were
alone. Knows nothing about prompts, answers or files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing

import torch

from citer_core.errors import NotANumberError
from citer_core.models.batch_threads import ThreadWatch
from citer_core.models.pair import ModelPair
from citer_core.routing.batch_decoder import BatchDecoder
from citer_core.routing.batch_pace import Pace
from citer_core.routing.batch_sequence import BatchRequest
from citer_core.routing.completion import Completion, Step
from citer_core.routing.decode import check_prompt
from citer_core.routing.llm_writers import check_router
from citer_core.routing.router import Router
from citer_core.types import DecodeSettings

__all__ = ["Completion", "Step", "decode_batch"]

# Sequences in progress for each one of a pass. With one, those that waited for the LLM left the SLM's passes a third
# empty and the LLM's half empty (bundled pair, 8% LLM tokens).
IN_PROGRESS = 2


@torch.inference_mode()
def decode_batch(
    pair: ModelPair,
    router: Router,
    prompts: Sequence[Sequence[int]],
    settings: DecodeSettings,
    *,
    batch_size: int = 16,
    is_cancelled: Callable[[], bool] = lambda: False,
    with_candidates: bool = False,
    may_vary_threads: bool = False,
) -> Iterator[Completion]:
    """Completes every prompt, up to `batch_size` of them in one pass of a model.

    Args:
        pair: the two models.
        router: scores all sequences of a step in one call.
        prompts: at least one token each.
        settings: the same for all. Sampled tokens are those of `decode`: they depend on seed and position only.
        batch_size: sequences per pass. While some wait for the LLM, up to twice as many are in progress, and both
            caches have room for all of these.
        is_cancelled: asked between steps; sequences in progress are then handed out as `cancelled`.
        with_candidates: keep both models' most probable tokens, for traces.
        may_vary_threads: let the number of threads follow what is fastest meanwhile. Rounding then depends on how busy
            the machine is (confidences in the sixth digit), so what is to be repeated to the bit goes without.

    Yields:
        Completions as they finish; `index` says of which prompt.

    Raises:
        PromptError: a prompt is empty or too long; before anything is decoded.
        RouterError: the router needs what an LLM on a server does not give; or it gave no confidence, after the
            completions that had been handed out.
        ServerError: the LLM's server was lost, after the completions that had been handed out.
        NotANumberError: the router or a model computed no number for one of them; after all others were handed out.
    """
    for prompt in prompts:
        check_prompt(pair, prompt)
    check_router(pair, router)
    pace = Pace(batch_size=batch_size)
    decoder = BatchDecoder(pair, min(IN_PROGRESS * batch_size, len(prompts)), pace)
    next_prompt, unsound = 0, list[NotANumberError]()
    threads_to_try = pair.batch_threads if may_vary_threads else None
    with ThreadWatch(threads_to_try, batch_size) as threads, closing(decoder):
        while decoder.live or next_prompt < len(prompts):
            threads.refresh()
            if is_cancelled():
                in_progress = decoder.live
                for sequence in in_progress:
                    decoder.cancel(sequence)
                    yield sequence.completion
                return
            n_upcoming = len(prompts) - next_prompt if decoder.n_free else 0
            for _ in range(pace.n_to_admit(decoder.n_ready, decoder.n_free, n_upcoming) if n_upcoming else 0):
                decoder.admit(
                    BatchRequest(
                        prompts[next_prompt], router, settings, with_candidates=with_candidates, index=next_prompt
                    )
                )
                next_prompt += 1
            for sequence in decoder.step():
                if isinstance(sequence.error, NotANumberError):
                    unsound.append(sequence.error)
                elif sequence.error is not None:
                    raise sequence.error
                elif sequence.has_ended:
                    yield sequence.completion
        if unsound:
            raise unsound[0]
