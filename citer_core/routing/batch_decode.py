"""The decode loop for many prompts at once: the same tokens as `decode`, several sequences per forward pass.

Each sequence has its own length, its own lagging LLM cache and its own decisions. One that ends leaves its slot, and
the next prompt moves in; while some wait for the LLM, others fill the SLM's passes. So both models' passes stay full
to the end. A beginning that prompts have in common is read once (`BatchedLM`), and counted for each as if it were
alone. Knows nothing about prompts, answers or files.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from citer_core.models.batched_lm import BatchedLM
from citer_core.models.pair import ModelPair
from citer_core.models.server_client import CallCancelledError
from citer_core.models.transfer import is_away, lists_to_device
from citer_core.routing.candidates import choose_rows
from citer_core.routing.decode import check_prompt, sequence_key
from citer_core.routing.llm_writers import BatchWriter, BatchWritten, batch_writer, check_router
from citer_core.routing.router import Router, RouterFeatures
from citer_core.text import TextStream
from citer_core.types import Candidate, DecodeSettings, FinishReason, Source, TokenEvent, prefers_llm

# The LLM is called when this share of the live sequences waits for it. On the bundled pair at tau = 0.5 a quarter and
# three quarters were as fast up to noise: fewer passes of the LLM, more of an emptier SLM. Waiting for all was slower.
WAIT_SHARE = 0.5
# Sequences in progress for each one of a pass. With one, those that waited for the LLM left the SLM's passes a third
# empty and the LLM's half empty (bundled pair, 8% LLM tokens).
IN_PROGRESS = 2


@dataclass(slots=True)
class Step:
    """One token of one sequence; the numbers of a `TokenEvent` without its text and candidates."""

    token_id: int
    slm_token_id: int
    source: Source
    slm_confidence: float
    slm_tokens_fed: int
    llm_tokens_fed: int
    slm_s: float
    router_s: float
    llm_s: float
    slm_top: tuple[Candidate, ...] = ()
    llm_top: tuple[Candidate, ...] = ()


@dataclass(slots=True)
class Completion:
    """What was written after one prompt.

    Attributes:
        index: of the prompt.
        n_prompt: its tokens.
        steps: one per token, end of text included. Seconds of a shared pass are divided by the sequences in it, so
            that those of all sequences add up to what was measured.
        finish_reason: `eos`, `length` or `cancelled`; None while it is being written.
    """

    index: int
    n_prompt: int
    threshold: float
    steps: list[Step] = field(default_factory=list)
    finish_reason: FinishReason | None = None

    @property
    def token_ids(self) -> list[int]:
        """The new tokens."""
        return [step.token_id for step in self.steps]

    @property
    def n_llm_tokens(self) -> int:
        """Tokens that the LLM wrote."""
        return sum(step.source == "llm" for step in self.steps)

    def events(self, pair: ModelPair) -> list[TokenEvent]:
        """The steps as the events that `decode` would have given."""
        text = TextStream(pair.tokenizer)
        events = []
        for index, step in enumerate(self.steps):
            delta = text.push(step.token_id) + (text.flush() if index + 1 == len(self.steps) else "")
            events.append(
                TokenEvent(
                    index=index,
                    token_id=step.token_id,
                    text=delta,
                    source=step.source,
                    slm_token_id=step.slm_token_id,
                    slm_confidence=step.slm_confidence,
                    threshold=self.threshold,
                    slm_tokens_fed=step.slm_tokens_fed,
                    llm_tokens_fed=step.llm_tokens_fed,
                    context_len=self.n_prompt + index,
                    slm_s=step.slm_s,
                    router_s=step.router_s,
                    llm_s=step.llm_s,
                    slm_top=step.slm_top,
                    llm_top=step.llm_top,
                )
            )
        return events


@dataclass(slots=True)
class _Sequence:
    """A sequence in its slot: ids so far, what routers remember of it, and the step that waits for the LLM."""

    slot: int
    ids: list[int]
    n_steps: int
    key: int
    completion: Completion
    llm_entropy: float = float("nan")
    waiting: Step | None = None

    def write(self, step: Step, eos_ids: frozenset[int]) -> None:
        """Appends a finished step."""
        self.completion.steps.append(step)
        self.ids.append(step.token_id)
        if step.token_id in eos_ids:
            self.completion.finish_reason = "eos"
        elif len(self.completion.steps) == self.n_steps:
            self.completion.finish_reason = "length"


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

    Yields:
        Completions as they finish; `index` says of which prompt.

    Raises:
        PromptError: a prompt is empty or too long; before anything is decoded.
        RouterError: the router needs what an LLM on a server does not give.
        ServerError: the LLM's server was lost, after the completions that had been handed out.
    """
    rooms = [check_prompt(pair, prompt) for prompt in prompts]
    check_router(pair, router)
    n_slots = min(IN_PROGRESS * batch_size, len(prompts))
    slm = BatchedLM(pair.slm, n_slots)
    llm = batch_writer(pair, router, settings, is_cancelled, n_slots=n_slots, with_candidates=with_candidates)
    prompt_hidden = torch.zeros(n_slots, pair.hidden_size, dtype=pair.slm.model.dtype, device=pair.slm.device)
    free, live, next_prompt = list(range(n_slots))[::-1], list[_Sequence](), 0
    while live or next_prompt < len(prompts):
        if is_cancelled():
            for sequence in live:
                sequence.completion.finish_reason = "cancelled"
                yield sequence.completion
            return
        n_ready = sum(s.waiting is None for s in live)
        for _ in range(min(batch_size - n_ready, len(free), len(prompts) - next_prompt)):
            slot, prompt = free.pop(), list(prompts[next_prompt])
            slm.clear(slot)
            llm.clear(slot)
            n_steps = min(settings.max_new_tokens, rooms[next_prompt])
            completion = Completion(next_prompt, len(prompt), settings.threshold)
            live.append(_Sequence(slot, prompt, n_steps, sequence_key(prompt), completion))
            next_prompt += 1
        live.sort(key=lambda sequence: sequence.slot)  # neighbours in the cache are read where they lie, without copies

        if ready := [s for s in live if s.waiting is None][:batch_size]:
            _slm_step(pair, router, settings, slm, llm, ready, prompt_hidden, with_candidates=with_candidates)
        # A pass of the LLM costs its weights and what else it costs however few sequences are in it: those that need it
        # wait until they are many.
        waiting = [s for s in live if s.waiting is not None]
        if len(waiting) >= max(1, WAIT_SHARE * len(live)):
            waiting = waiting[:batch_size]
            try:
                texts, indices = [s.ids for s in waiting], [len(s.completion.steps) for s in waiting]
                _end_wait(waiting, llm.write(texts, [s.slot for s in waiting], indices), pair.eos_ids)
            except CallCancelledError:
                continue  # to where cancelled sequences are handed out

        ended = [s for s in live if s.completion.finish_reason is not None]
        live = [s for s in live if s.completion.finish_reason is None]
        for sequence in ended:
            free.append(sequence.slot)
            yield sequence.completion


def _slm_step(
    pair: ModelPair,
    router: Router,
    settings: DecodeSettings,
    slm: BatchedLM,
    llm: BatchWriter,
    live: Sequence[_Sequence],
    prompt_hidden: Tensor,
    *,
    with_candidates: bool,
) -> None:
    """The SLM reads and the router scores all of these sequences; each gets its token or begins to wait for the LLM."""
    device = prompt_hidden.device
    slots = [s.slot for s in live]
    texts = [s.ids for s in live]
    indices = [len(s.completion.steps) for s in live]

    slm_forward = slm.catch_up(texts, slots)
    llm_forward = llm.read(texts, slots) if router.reads_llm else None
    states: Tensor | None = None
    keys: Tensor | None = None
    positions: Tensor | None = None
    if router.uses_sequence:
        for row, index in enumerate(indices):
            if index == 0:
                prompt_hidden[slots[row]] = slm_forward.hidden[row]
        rows, keys, positions = lists_to_device((slots, [s.key for s in live], indices), device)
        states = prompt_hidden.index_select(0, rows)
    features = RouterFeatures(
        hidden=slm_forward.hidden,
        logits=slm_forward.logits,
        prompt_hidden=states,
        sequence_key=keys,
        position=positions,
        llm_entropy=torch.tensor([s.llm_entropy for s in live], device=device) if router.uses_llm_entropy else None,
        llm_logits=llm_forward.logits if llm_forward else None,
    )

    # One call of the router, one wait for its verdicts and the SLM's tokens.
    start = time.perf_counter()
    scores = router.confidence(features)
    router_s = time.perf_counter() - start
    log_probs = features.log_probs if with_candidates else None
    slm_ids, slm_tops, (confidences,) = choose_rows(pair, slm_forward.logits, log_probs, settings, indices, scores)
    if is_away(scores):  # it is only now that the router has done its work
        router_s = time.perf_counter() - start
    n_live = len(live)
    slm_s, router_s, llm_s = slm_forward.seconds / n_live, router_s / n_live, 0.0
    n_read = [0] * n_live
    if llm_forward is not None:
        n_read, llm_s = llm_forward.n_fed, llm_forward.seconds / n_live
    by_llm: list[int] = []
    for row, s in enumerate(live):
        s.llm_entropy = float("nan")
        step = Step(
            token_id=slm_ids[row],
            slm_token_id=slm_ids[row],
            source="slm",
            slm_confidence=confidences[row],
            slm_tokens_fed=slm_forward.n_fed[row],
            llm_tokens_fed=n_read[row],
            slm_s=slm_s,
            router_s=router_s,
            llm_s=llm_s,
            slm_top=slm_tops[row],
        )
        if prefers_llm(step.slm_confidence, settings.threshold):
            s.waiting = step
            by_llm.append(row)
        else:
            s.write(step, pair.eos_ids)
    if by_llm and llm_forward is not None:  # the LLM has answered already
        chosen = [live[row] for row in by_llm]
        written = llm.choose(llm_forward, by_llm, [indices[row] for row in by_llm])
        _end_wait(chosen, written, pair.eos_ids)


def _end_wait(waiting: Sequence[_Sequence], written: BatchWritten, eos_ids: frozenset[int]) -> None:
    """Ends the wait of these sequences with the LLM's tokens."""
    for row, s in enumerate(waiting):
        assert s.waiting is not None
        s.waiting.token_id, s.waiting.source, s.waiting.llm_top = written.token_ids[row], "llm", written.tops[row]
        s.waiting.llm_tokens_fed, s.waiting.llm_s = written.n_fed[row], written.seconds[row]
        s.llm_entropy = written.entropies[row]
        s.write(s.waiting, eos_ids)
        s.waiting = None
