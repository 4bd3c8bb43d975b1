"""`BatchDecoder`: sequences that come and go, several in each pass of a model, each with its own everything.

State and the order of things: who is here, what happens in one round. What is decided is in `batch_pace`, what is
computed in `batch_slm` and `batch_llm`. The tokens of a sequence, its writers and what each model counts as read are
those of `decode`, whoever shares its passes. Belongs to one thread. Knows nothing about pages, runs or files.
"""

from __future__ import annotations

from itertools import count

import torch

from citer_core.models.pair import ModelPair
from citer_core.routing.batch_llm import llm_side
from citer_core.routing.batch_pace import Pace
from citer_core.routing.batch_sequence import BatchRequest, BatchSequence, never
from citer_core.routing.batch_slm import SLMSide
from citer_core.routing.completion import Completion
from citer_core.routing.decode import check_prompt, sequence_key
from citer_core.routing.llm_writers import check_router

POLL_S = 0.1  # how long a round waits for a server when there is nothing else to do


class BatchDecoder:
    """A batch with `n_slots` slots.

    An error in a pass of a model leaves the caches as nobody knows: end everything and take a new one. What fails for
    one sequence, or for those of one router, ends these alone, with `error`.

    Attributes:
        live: the sequences in it, in the order of their slots.
        n_slots: how many there may be.
    """

    def __init__(self, pair: ModelPair, n_slots: int, pace: Pace) -> None:
        self.n_slots = n_slots
        self.live: list[BatchSequence] = []
        self._pair, self._pace = pair, pace
        self._slm = SLMSide(pair, n_slots, pace)
        self._llm = llm_side(pair, n_slots, pace)
        self._free = list(range(n_slots))[::-1]
        self._numbers, self._turns = count(), count(1)

    @property
    def n_free(self) -> int:
        """Sequences that could be admitted now."""
        return len(self._free)

    @property
    def n_ready(self) -> int:
        """Sequences that the SLM can go on with, at once or as soon as a server has answered."""
        return sum(s.is_asked or (s.waiting is None and not s.llm_goals) for s in self.live)

    def admit(self, request: BatchRequest) -> BatchSequence:
        """Takes a sequence in; it is read in the next rounds.

        Raises:
            PromptError: the prompt is empty or too long.
            SettingError: nothing can follow the fork.
            RouterError: the router needs what an LLM on a server does not give.
        """
        prompt = list(request.prompt_ids)
        n_steps = min(request.settings.max_new_tokens, check_prompt(self._pair, prompt))
        check_router(self._pair, request.router)
        shared: tuple[int, ...] = ()
        if request.fork is not None:
            request.fork.check(self._pair.vocab_size, self._pair.eos_ids, n_steps)
            shared = tuple(request.fork.token_ids)
        assert self._free, "no slot is free"
        slot = self._free.pop()
        self._slm.clear(slot)
        self._llm.clear(slot)
        sequence = BatchSequence(
            request=request,
            router=request.router,
            settings=request.settings,
            is_cancelled=request.is_cancelled,
            slot=slot,
            ids=[*prompt, *shared],
            n_steps=n_steps - len(shared),
            key=sequence_key(prompt),
            completion=Completion(request.index, len(prompt), request.settings.threshold, shared_ids=shared),
            index=len(shared),
            forced=request.fork if request.fork is not None and request.fork.source is not None else None,
            number=next(self._numbers),
        )
        self._set_goals(sequence)
        self.live.append(sequence)
        self.live.sort(key=lambda s: s.slot)  # neighbours in the cache are read where they lie, without copies
        return sequence

    def _set_goals(self, s: BatchSequence) -> None:
        """Where the models stop on their way to the first own token.

        A branch's models are brought to where its parent's stood. For a router that reads the LLM, the LLM reads a long
        prompt in parts before the SLM comes to its end.
        """
        n_prompt, n_before = s.completion.n_prompt, len(s.ids) - 1
        fork = s.request.fork
        if fork is not None and fork.events:
            s.slm_read, s.llm_read = n_before, fork.n_read_by_llm
            if s.router.uses_sequence:
                s.slm_goals.append(n_prompt)
            if n_before > n_prompt or not s.slm_goals:
                s.slm_goals.append(n_before)
            if s.llm_read:
                s.llm_goals.append(s.llm_read)
        is_read_in_parts = self._pace.read_tokens is not None and s.router.reads_llm
        if is_read_in_parts and n_before > max(s.llm_goals, default=0):
            s.llm_goals.append(n_before)

    def cancel(self, sequence: BatchSequence) -> None:
        """Ends a sequence here and now; its slot is free at once."""
        sequence.end("cancelled")
        self._retire()

    @torch.inference_mode()
    def step(self) -> list[BatchSequence]:
        """One round: a pass of the SLM, and one of the LLM where it is time.

        Returns:
            The sequences that got a token or have ended. Those that have ended have left.
        """
        live = self.live
        if self._llm.n_asked:
            self._llm.collect(0.0)
        able = list[BatchSequence]()
        for s in live:
            if s.is_cancelled is not never and s.is_cancelled():
                s.end("cancelled")
            elif s.waiting is None and not s.llm_goals and not s.has_ended:
                able.append(s)
        ready = self._pace.for_slm(able)
        if ready:
            if len(live) > len(ready):  # else nobody is left out
                for s in sorted(ready, key=lambda s: s.turn):
                    s.turn = next(self._turns)
            self._slm.step(ready, self._llm)
        if not self._call_llm() and not ready and self._llm.n_asked:
            self._llm.collect(POLL_S)
        news, has_ended = [s for s in live if s.has_news], False
        for s in news:
            s.has_news = False
            has_ended = has_ended or s.has_ended
        if has_ended:
            self._retire()
        return news

    def _call_llm(self) -> bool:
        """Calls the LLM if it is time; says whether it did."""
        needing = [s for s in self.live if (s.waiting is not None or s.llm_goals) and not (s.is_asked or s.has_ended)]
        if not needing:
            return False
        for s in needing:
            s.n_waited += 1
        n_live = sum(not s.has_ended for s in self.live)
        n_ready = sum(s.waiting is None and not s.llm_goals and not s.has_ended for s in self.live)
        called = self._pace.for_llm(needing, n_live, n_ready)
        if called:
            self._llm.call(called)
        return bool(called)

    def _retire(self) -> None:
        self._free += [s.slot for s in self.live if s.has_ended]
        self.live = [s for s in self.live if not s.has_ended]

    def close(self) -> None:
        """Gives up what a server is asked for."""
        for s in self.live:
            s.end("cancelled")
        self._llm.close()
        self._retire()
