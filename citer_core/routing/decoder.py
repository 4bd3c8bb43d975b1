"""`Decoder`: the rule of this project, one step of it for a set of sequences.

    The SLM reads every text, the router scores the state behind its candidate, and one of the two writes the token: the
    SLM, or where the confidence is below tau the LLM, which first reads what it has not seen.

Sequences come and go, each with its own router, settings and caches, several in each pass of a model; the tokens of
one, its writers and what each model counts as read do not depend on what shares its passes. A single run is a set of
one. Who is in a pass is decided by `pace`, what a model says is computed in its side (`said`). Belongs to one thread.
Knows nothing about pages, runs or files.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import count

import torch
from torch import Tensor

from citer_core.fork import Fork
from citer_core.models.pair import ModelPair
from citer_core.models.reader import Reader
from citer_core.models.remote_lm import RemoteLM
from citer_core.routing.candidates import candidates_at
from citer_core.routing.look_back import rule_of, wants_look
from citer_core.routing.pace import Pace
from citer_core.routing.prompt import check_asked, sequence_key
from citer_core.routing.router import Router, entropy_of_logits
from citer_core.routing.said import LlmSide, Said, SlmSide
from citer_core.routing.sequence import Progress, RoutedSequence, Step, never
from citer_core.routing.sides import sides_of
from citer_core.types import DecodeSettings

POLL_S = 0.1  # how long a step waits for a server when there is nothing else to do


class Decoder:
    """A set of at most `n_slots` sequences.

    An error in a pass of a model leaves its caches unknown, so it ends all sequences and is raised: take a new decoder.
    What fails for one sequence, or for those of one router, ends these alone, with `error`.

    Args:
        pair: the two models.
        n_slots: sequences at once.
        pace: who is in a pass.
        sides: who is asked; None takes those that fit the pair (`sides_of`).

    Attributes:
        live: the sequences in it, in the order of their slots.
    """

    def __init__(self, pair: ModelPair, n_slots: int, pace: Pace, sides: tuple[SlmSide, LlmSide] | None = None) -> None:
        self.live: list[RoutedSequence] = []
        self._pair, self._pace = pair, pace
        self._slm, self._llm = sides or sides_of(pair, n_slots)
        self._free = list(range(n_slots))[::-1]
        self._numbers, self._turns = count(), count(1)
        self._without_gradients = torch.inference_mode()  # made once: a decorator makes one at every step

    @property
    def n_free(self) -> int:
        """Sequences that could be admitted now."""
        return len(self._free)

    @property
    def n_ready(self) -> int:
        """Sequences that the SLM can go on with, at once or as soon as a server has answered."""
        return sum(s.is_asked or not s.needs_llm for s in self.live)

    def admit(
        self,
        prompt_ids: Sequence[int],
        router: Router,
        settings: DecodeSettings,
        *,
        index: int = 0,
        fork: Fork | None = None,
        is_cancelled: Callable[[], bool] = never,
        with_candidates: bool = False,
    ) -> RoutedSequence:
        """Takes a sequence in; it is read in the next steps.

        Args:
            prompt_ids: at least one token.
            router: scores the SLM's state at every position, also where tau leaves no choice: the page shows it.
            settings: threshold, length, sampling.
            index: a number to know it by.
            fork: go on from these events instead of from the prompt. Both models' caches are brought to where they
                stood, so what follows is what one run with the same decisions would have written.
            is_cancelled: asked between steps.
            with_candidates: keep both models' most probable tokens.

        Raises:
            PromptError: the prompt is empty or leaves no room in the models' context.
            SettingError: nothing can follow the fork, or the LLM's server cannot do what is asked for.
            RouterError: the router needs what an LLM on a server does not give.
        """
        room = check_asked(self._pair, prompt_ids, router, settings)
        if isinstance(self._pair.llm, RemoteLM) and settings.take_back:
            room = max(1, room - 1)  # a server reads the SLM's token too
        n_steps = min(settings.max_new_tokens, room)
        shared: list[int] = []
        if fork is not None:
            fork.check(self._pair.vocab_size, self._pair.eos_ids, n_steps)
            shared = fork.token_ids
        assert self._free, "no slot is free"
        s = RoutedSequence(
            index=index,
            router=router,
            settings=settings,
            slot=self._free.pop(),
            ids=[*prompt_ids, *shared],
            n_prompt=len(prompt_ids),
            n_steps=n_steps - len(shared),
            key=sequence_key(prompt_ids),
            number=next(self._numbers),
            fork=fork,
            is_cancelled=is_cancelled,
            with_candidates=with_candidates,
            forced=fork if fork is not None and fork.source is not None else None,
            take_back=None if router.reads_llm else rule_of(settings),  # that router asks the LLM at every token
            n_judged=len(prompt_ids) + len(shared),
        )
        s.count_doubts()
        self._set_goals(s)
        self._slm.enter(s)
        self._llm.enter(s)
        self.live.append(s)
        self.live.sort(key=lambda s: s.slot)  # neighbours in the cache are read where they lie, without copies
        return s

    def _set_goals(self, s: RoutedSequence) -> None:
        """Where the models stop on their way to the first own token.

        A branch's models are brought to where its parent's stood. For a router that reads the LLM, the LLM reads a long
        prompt in parts before the SLM comes to its end.
        """
        n_before = len(s.ids) - 1
        if s.fork is not None and s.fork.events:
            s.slm.n_read, s.llm.n_read = n_before, s.fork.n_read_by_llm
            if s.router.uses_sequence:
                s.slm.goals.append(s.n_prompt)
            if n_before > s.n_prompt or not s.slm.goals:
                s.slm.goals.append(n_before)
            if s.llm.n_read:
                s.llm.goals.append(s.llm.n_read)
        is_read_in_parts = self._pace.read_tokens is not None and s.router.reads_llm
        if is_read_in_parts and n_before > max(s.llm.goals, default=0):
            s.llm.goals.append(n_before)

    def step(self) -> list[RoutedSequence]:
        """One token for every sequence, or for most: a pass of the SLM, and one of the LLM where it is time.

        Returns:
            The sequences that got a token or have ended. Those that have ended have left.
        """
        try:
            with self._without_gradients:
                return self._step()
        except Exception as error:  # what the caches hold is not known
            for s in self.live:
                s.end("error", error)
            self._retire()
            raise

    def _step(self) -> list[RoutedSequence]:
        if self._llm.n_asked:
            self._collect(0.0)
        able: list[RoutedSequence] = []
        for s in self.live:
            if s.is_cancelled is not never and s.is_cancelled():
                s.end("cancelled")
            elif not s.needs_llm and s.finish_reason is None:
                able.append(s)
        ready = self._pace.for_slm(able)
        if ready:
            if len(self.live) > len(ready):  # else none is left out
                for s in sorted(ready, key=lambda s: s.turn):
                    s.turn = next(self._turns)
            self._ask_slm(ready)
        if not self._call_llm() and not ready and self._llm.n_asked:
            self._collect(POLL_S)
        news, has_ended = [s for s in self.live if s.has_news], False
        for s in news:
            s.has_news = False
            has_ended = has_ended or s.finish_reason is not None
        if has_ended:
            self._retire()
        self._slm.ahead(news)
        return news

    def _ask_slm(self, ready: list[RoutedSequence]) -> None:
        """A pass of the SLM: each sequence gets its token, or begins to wait for the LLM."""
        rows, uptos = self._next_reads(self._slm.reader, ready, [s.slm.goal(len(s.ids)) for s in ready])
        llm_said: dict[RoutedSequence, Said] = {}
        logits: dict[RoutedSequence, Tensor] = {}
        reading = [s for row, s in enumerate(rows) if s.router.reads_llm and uptos[row] == len(s.ids)]
        if reading:
            llm_said = dict(zip(reading, self._llm.read(reading, [len(s.ids) for s in reading]), strict=True))
            logits = {s: said.logits for s, said in llm_said.items() if said.logits is not None}
        for row, said in enumerate(self._slm.read(rows, uptos, logits)):
            s, upto = rows[row], uptos[row]
            if upto == len(s.ids):
                self._decide(s, said, llm_said.get(s))
            else:
                _read_part(s, s.slm, upto, said.seconds)

    def _decide(self, s: RoutedSequence, said: Said, llm_said: Said | None) -> None:
        """Who writes the token after this text.

        Args:
            s: the sequence.
            said: by the SLM and the router.
            llm_said: by the LLM, if the router reads it.
        """
        if said.error is not None:
            s.end("error", said.error)
            return
        length = len(s.ids)
        n_fed, seconds = s.slm.told(length, said.seconds)
        # By position: names take a part of its time, and there is one for every token.
        step = Step(said.token_id, said.token_id, "slm", said.number, n_fed, 0, seconds, said.router_s, 0.0, said.top)
        s.llm_entropy = math.nan
        if s.forced:
            by_llm, is_looked_at = s.forced.source == "llm", False
        else:
            s.doubts += s.router.doubt(said.number)
            by_llm = wants_look(s.settings, said.number, s.doubts, length - max(s.n_prompt, s.llm.n_read + 1))
            is_end = said.token_id in self._pair.eos_ids or len(s.steps) + 1 == s.n_steps
            is_looked_at = is_end and s.take_back is not None and s.doubts > s.settings.final_doubt
        if by_llm or is_looked_at:
            step.source = "llm" if by_llm else "slm"
            s.waiting = step
            if llm_said is not None:
                self._hear_llm(s, llm_said)
            return
        if llm_said is not None:
            step.llm_tokens_fed, step.llm_s = s.llm.told(length, llm_said.seconds)
        s.write(step, self._pair.eos_ids)

    def _hear_llm(self, s: RoutedSequence, said: Said) -> None:
        """Ends the wait: the LLM has read all of the text. It takes tokens back, or writes the next, or has looked."""
        step = s.waiting
        if s.finish_reason is not None or step is None:
            return
        if said.error is not None:
            s.end("error", said.error)
            return
        s.hear(said.span)
        llm_fed = s.llm.told(len(s.ids), said.seconds)
        read = s.span.judged() if s.span is not None else ()
        place = _first_mistake(s)
        if place is not None:
            step = self._go_back(s, place)
        elif step.source == "llm":
            step.token_id, step.llm_top, step.llm_entropy = said.token_id, said.top, said.number
        step.llm_tokens_fed, step.llm_s = llm_fed
        step.read = read
        s.llm_entropy, s.doubts = step.llm_entropy, 0.0
        s.stop_waiting()
        s.write(step, self._pair.eos_ids)
        s.n_judged = len(s.ids)

    def _go_back(self, s: RoutedSequence, place: int) -> Step:
        """Cuts the text before one of the tokens in question; both models forget what they have read behind.

        Returns:
            The LLM's step in its place.
        """
        assert s.span is not None, "the LLM has said where"
        discarded = s.in_question()[place:]
        new = discarded[0]
        new.discarded = [(old.token_id, old.slm_confidence) for old in discarded]
        new.slm_s = sum(old.slm_s for old in discarded)
        new.router_s = sum(old.router_s for old in discarded)
        new.token_id, new.source = s.span.chosen_ids[place], "llm"
        if s.with_candidates:
            new.llm_top = candidates_at(self._pair, s.span, place)
        if s.router.uses_llm_entropy and s.span.logits is not None:
            new.llm_entropy = float(entropy_of_logits(s.span.logits[place][None]))
        s.stop_waiting()
        s.cut(s.n_judged - s.n_prompt + place)
        for side, progress in ((self._slm, s.slm), (self._llm, s.llm)):
            progress.n_read = min(progress.n_read, len(s.ids))
            side.truncate(s, progress.n_read)
        return new

    def _call_llm(self) -> bool:
        """Calls the LLM if it is time; says whether it did."""
        live = [s for s in self.live if s.finish_reason is None]
        needing = [s for s in live if s.needs_llm and not s.is_asked]
        if not needing:
            return False
        for s in needing:
            s.n_waited += 1
        called = self._pace.for_llm(needing, len(live), sum(not s.needs_llm for s in live))
        if not called:
            return False
        rows, uptos = self._next_reads(self._llm.reader, called, [s.llm.goal(len(s.ids)) for s in called])
        for s, upto, said in zip(rows, uptos, self._llm.read(rows, uptos), strict=False):  # a server says nothing yet
            if upto == len(s.ids) and not s.llm.goals:
                self._hear_llm(s, said)
                continue
            s.hear(said.span)
            s.is_partly_read = not _read_part(s, s.llm, upto, said.seconds)
            if not s.is_partly_read and s.fork is not None and upto == s.fork.n_read_by_llm:
                s.llm_entropy = said.number if s.fork.events[-1].source == "llm" else math.nan
        return True

    def _collect(self, timeout_s: float) -> None:
        for s, said in self._llm.collect(timeout_s):
            self._hear_llm(s, said)

    def _next_reads(
        self, reader: Reader | None, rows: list[RoutedSequence], goals: list[int]
    ) -> tuple[list[RoutedSequence], list[int]]:
        """Those of the rows that are in the next pass, and up to which length each is read in it; at least one.

        Args:
            reader: of the side that reads.
            rows: at least one, each behind its goal.
            goals: how far each has to be read, in this pass or a later one.
        """
        if reader is None or self._pace.read_tokens is None:
            return rows, goals
        n_behind = []
        for s, goal in zip(rows, goals, strict=True):
            reader.begin(s.ids[:goal], s.slot)
            n_behind.append(goal - reader.n_cached[s.slot])
        order = sorted(range(len(rows)), key=lambda row: rows[row].number)
        n_read = dict(zip(order, self._pace.reads([n_behind[row] for row in order]), strict=True))
        kept = [row for row in range(len(rows)) if n_read[row]]
        return [rows[row] for row in kept], [reader.n_cached[rows[row].slot] + n_read[row] for row in kept]

    def truncate(self, s: RoutedSequence, n_written: int) -> None:
        """Cuts a live sequence back to its first tokens; it goes on from there, with what it reads anew counted again.

        Args:
            s: one that no server is asked for. If it waits for the LLM, it stops.
            n_written: how many tokens after the prompt stay, a branch's shared ones at least.
        """
        s.cut(n_written)
        s.count_doubts()
        for side, progress in ((self._slm, s.slm), (self._llm, s.llm)):
            progress.n_read = min(progress.n_read, len(s.ids) - 1)  # the last token is read again for what follows it
            side.truncate(s, progress.n_read)

    def cancel(self, s: RoutedSequence) -> None:
        """Ends a sequence here and now; its slot is free at once."""
        s.end("cancelled")
        self._retire()

    def close(self) -> list[RoutedSequence]:
        """Ends all of them, which it returns, and gives up what a server is asked for."""
        ended = self.live
        for s in ended:
            s.end("cancelled")
        self._llm.close()
        self._retire()
        return ended

    def _retire(self) -> None:
        for s in self.live:
            if s.finish_reason is not None:
                self._free.append(s.slot)
                self._slm.leave(s)
                self._llm.leave(s)
        self.live = [s for s in self.live if s.finish_reason is None]


def _read_part(s: RoutedSequence, progress: Progress, upto: int, seconds: float) -> bool:
    """A model has read a part: of a long text, or of what a branch shares, whose seconds are not told.

    Returns:
        Whether it has come to a goal.
    """
    goals = progress.goals
    if not s.n_shared or not goals:
        progress.seconds += seconds
    if goals and upto == goals[0]:
        goals.pop(0)
        return True
    return False


def _first_mistake(s: RoutedSequence) -> int | None:
    """Of what the LLM has read of a sequence that waits for it; the place that it is to write at anyway is none."""
    if s.take_back is None or s.waiting is None or s.span is None:
        return None
    steps = s.in_question()
    n = len(steps) - (s.waiting.source == "llm")
    token_ids, confidences = [step.token_id for step in steps[:n]], [step.slm_confidence for step in steps[:n]]
    return s.take_back.first_mistake(token_ids, confidences, s.span)
