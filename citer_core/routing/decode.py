"""The decode loop for one prompt, and for many: ids in, events or whole sequences out.

Knows nothing about prompts, answers or pages. Called by `citer_core.engine`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing

from citer_core.errors import NotANumberError
from citer_core.fork import Fork
from citer_core.models.pair import ModelPair
from citer_core.models.remote_lm import RemoteLM
from citer_core.models.threads import ROWS_FOR_THREADS, BatchThreads
from citer_core.routing.decoder import Decoder
from citer_core.routing.memory import Memory
from citer_core.routing.pace import Pace
from citer_core.routing.prompt import check_asked
from citer_core.routing.router import Router
from citer_core.routing.sequence import RoutedSequence, never
from citer_core.routing.sides import sides_of
from citer_core.types import DecodeSettings, FinishReason, TokenEvent

# Sequences in progress for each one of a pass. With one, those that waited for the LLM left the SLM's passes a third
# empty and the LLM's half empty (bundled pair, 8% LLM tokens).
IN_PROGRESS = 2


def decode(
    pair: ModelPair,
    router: Router,
    prompt_ids: Sequence[int],
    settings: DecodeSettings,
    *,
    is_cancelled: Callable[[], bool] = never,
    reuse_llm_cache: bool = True,
    fork: Fork | None = None,
) -> Generator[TokenEvent, None, FinishReason]:
    """Writes a completion token by token.

    Args:
        pair: the two models.
        router, prompt_ids, settings, fork: see `Decoder.admit`.
        is_cancelled: asked between tokens, so a run stops within one step; and while a server is waited for.
        reuse_llm_cache: False feeds the LLM the whole text at every call, as the authors' published code does.

    Yields:
        One event per token, end of text included; those of the fork are not repeated. Where the LLM takes tokens back,
        an event whose index was there takes the place of all from there on (`types.settled`).

    Returns:
        Why it ended: `eos`, `length` (of the request, or of the models' context) or `cancelled`.

    Raises:
        PromptError, SettingError, RouterError: see `Decoder.admit`.
        RouterError: the router gave something else than a confidence, after the events that were written until then.
        ServerError: the LLM's server was lost, after the events that were written until then.
        NotANumberError: the router or a model computed no number; after the events until then.
    """
    decoder = Decoder(pair, 1, Pace(batch_size=1), sides_of(pair, 1, reuses=reuse_llm_cache))
    with closing(decoder):
        s = decoder.admit(prompt_ids, router, settings, fork=fork, is_cancelled=is_cancelled, with_candidates=True)
        while s.finish_reason is None:
            decoder.step()
            yield from s.new_events(pair)
        if s.error is not None:
            raise s.error
        return s.finish_reason


def decode_batch(
    pair: ModelPair,
    router: Router,
    prompts: Sequence[Sequence[int]],
    settings: DecodeSettings,
    *,
    batch_size: int = 16,
    is_cancelled: Callable[[], bool] = never,
    with_candidates: bool = False,
    may_vary_threads: bool = False,
    memory: Memory | None = None,
) -> Iterator[RoutedSequence]:
    """Completes every prompt, up to `batch_size` of them in one pass of a model.

    One that ends leaves its slot, and the next prompt moves in; while some wait for the LLM, others fill the SLM's
    passes. So both models' passes stay full to the end.

    Args:
        pair: the two models.
        router: scores all sequences of a step in one call.
        prompts: at least one token each.
        settings: the same for all. Sampled tokens are those of `decode`: they depend on seed and position only.
        batch_size: sequences per pass. While some wait for the LLM, up to twice as many are in progress, and both
            caches have room for all of these.
        is_cancelled: asked between steps; sequences in progress are then handed out as `cancelled`.
        with_candidates: keep both models' most probable tokens, for traces.
        may_vary_threads: take more threads while their cores are free. Rounding then depends on how busy the machine is
            (confidences in the sixth digit), so what is to be repeated to the bit goes without.
        memory: of what the models are known to say; for greedy tokens, and not used by a router that reads the LLM.

    Yields:
        Sequences as they finish; `index` says of which prompt.

    Raises:
        PromptError: a prompt is empty or too long; before anything is decoded.
        RouterError: the router needs what an LLM on a server does not give; or it gave no confidence, after the
            sequences that had been handed out.
        ServerError: the LLM's server was lost, after the sequences that had been handed out.
        NotANumberError: the router or a model computed no number for one of them; after all others were handed out.
    """
    if not prompts:
        return
    for prompt in prompts:
        check_asked(pair, prompt, router, settings)
    n_slots = min(IN_PROGRESS * batch_size, len(prompts))
    can_remember = not (router.reads_llm or settings.newer() or isinstance(pair.llm, RemoteLM))
    sides = memory.sides(pair, n_slots) if memory is not None and can_remember else None
    decoder = Decoder(pair, n_slots, Pace(batch_size=batch_size), sides)
    upcoming, unsound = deque(enumerate(prompts)), list[NotANumberError]()
    most_threads = pair.batch_threads if may_vary_threads and batch_size >= ROWS_FOR_THREADS else None
    with BatchThreads(most_threads) as threads, closing(decoder):
        while decoder.live or upcoming:
            threads.refresh()
            if is_cancelled():
                yield from decoder.close()
                return
            while upcoming and decoder.n_free and decoder.n_ready < batch_size:  # passes are full and no fuller
                index, prompt = upcoming.popleft()
                decoder.admit(prompt, router, settings, index=index, with_candidates=with_candidates)
            for s in decoder.step():
                if isinstance(s.error, NotANumberError):
                    unsound.append(s.error)
                elif s.error is not None:
                    raise s.error
                elif s.finish_reason is not None:
                    yield s
        if unsound:
            raise unsound[0]
