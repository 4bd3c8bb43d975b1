"""`RoutedSequence`: one text that two models write, where it stands, and its steps as events.

State alone: nothing here computes or decides. Numbers first, texts where events are asked for. Made by `decoder`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from citer_core.fork import Fork
from citer_core.models.pair import ModelPair
from citer_core.routing.look_back import Span, TakeBack
from citer_core.routing.router import Router
from citer_core.text import TextStream
from citer_core.types import Candidate, DecodeSettings, Discarded, FinishReason, Judged, Source, TokenEvent


def never() -> bool:
    """For a sequence that is never cancelled."""
    return False


@dataclass(slots=True)
class Step:
    """One token of one sequence; the numbers of a `TokenEvent` without its text.

    Attributes:
        llm_entropy: of the LLM's distribution, in nats, where a router uses it; NaN where the SLM wrote.
        discarded: (token id, confidence) of what stood here until the LLM took it back.
        read: see `TokenEvent`.
    """

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
    forced: bool = False
    llm_entropy: float = math.nan
    discarded: Sequence[tuple[int, float]] = ()
    read: Sequence[Judged] = ()


@dataclass(slots=True)
class Progress:
    """How far one model has come with a text.

    Attributes:
        n_read: tokens that it counts as having read. A server is counted as if its prefix cache kept all that it has
            read; whole blocks are what it keeps, so it may read up to a block more.
        seconds: of passes that read a part only; the next step has them.
        goals: lengths of the text at which it has to stop on its way to the first own token.
    """

    n_read: int = 0
    seconds: float = 0.0
    goals: list[int] = field(default_factory=list)

    def goal(self, length: int) -> int:
        """Where it stops next on its way to the end of a text of that length."""
        return self.goals[0] if self.goals else length

    def told(self, length: int, seconds: float) -> tuple[int, float]:
        """Tokens and seconds of the pass that read the text up to `length` whole, with those of its parts."""
        n_fed, total = length - self.n_read, self.seconds + seconds
        self.n_read, self.seconds = length, 0.0
        return n_fed, total


@dataclass(slots=True, eq=False)
class RoutedSequence:
    """A sequence in its slot.

    Attributes:
        index: a number that the caller knows it by.
        router, settings: who decides, and how.
        slot: where both models' caches have it.
        ids: prompt and tokens so far.
        n_prompt: tokens of the prompt.
        n_steps: the most tokens of its own.
        key: what routers may draw random numbers from.
        fork: the events that it goes on from instead of from the prompt; they are not among its steps.
        forced: the fork, where a person chose who writes the next token.
        is_cancelled: asked between steps.
        with_candidates: keep both models' most probable tokens.
        slm, llm: how far each model has come.
        llm_entropy: of the LLM's distribution at the token before, in nats; NaN where it did not write it.
        waiting: the step that waits for the LLM: for its token, or at the end of the text for its look.
        take_back: what the LLM finds a mistake; None where it takes nothing back.
        n_judged: length of the text before which nothing is taken back any more.
        span: what the LLM has said of what stands behind, while it reads that in parts.
        doubts: of the router since the LLM was last called.
        is_asked: a server has been asked for it.
        n_waited: rounds since it began to wait.
        is_partly_read: by the LLM, in a pass that read as much of it as one may.
        turn: grows with every pass of the SLM that took it along while others were left out.
        number: of its admission.
        has_news: it got a token, or has ended, in this round.
        steps: one per own token, end of text included. Seconds of a shared pass are divided by the sequences in it, so
            that those of all sequences add up to what was measured.
        finish_reason: None while it is being written.
        error: why it ended with `error`.
    """

    index: int
    router: Router
    settings: DecodeSettings
    slot: int
    ids: list[int]
    n_prompt: int
    n_steps: int
    key: int
    number: int
    fork: Fork | None = None
    is_cancelled: Callable[[], bool] = never
    with_candidates: bool = False
    forced: Fork | None = None
    slm: Progress = field(default_factory=Progress)
    llm: Progress = field(default_factory=Progress)
    llm_entropy: float = math.nan
    waiting: Step | None = None
    take_back: TakeBack | None = None
    n_judged: int = 0
    span: Span | None = None
    doubts: float = 0.0
    is_asked: bool = False
    n_waited: int = 0
    is_partly_read: bool = False
    turn: int = 0
    has_news: bool = False
    steps: list[Step] = field(default_factory=list)
    finish_reason: FinishReason | None = None
    error: Exception | None = None
    _text: TextStream | None = None
    _n_told: int = 0

    @property
    def n_written(self) -> int:
        """Tokens after the prompt, a branch's shared ones included: the position of the next one."""
        return len(self.ids) - self.n_prompt

    @property
    def n_shared(self) -> int:
        """Tokens of a branch before its own."""
        return self.fork.n_shared if self.fork else 0

    @property
    def needs_llm(self) -> bool:
        """Whether the LLM has to read before the SLM goes on."""
        return self.waiting is not None or bool(self.llm.goals)

    @property
    def token_ids(self) -> list[int]:
        """Its own tokens."""
        return [step.token_id for step in self.steps]

    @property
    def n_llm_tokens(self) -> int:
        """Own tokens that the LLM wrote."""
        return sum(step.source == "llm" for step in self.steps)

    def write(self, step: Step, eos_ids: frozenset[int]) -> None:
        """Appends a finished step."""
        if self.forced is not None:
            step.forced = True
            if self.forced.token_id is not None:
                step.token_id = self.forced.token_id
            self.forced = None
            self.n_judged = len(self.ids) + 1
        self.steps.append(step)
        self.ids.append(step.token_id)
        self.has_news = True
        if step.token_id in eos_ids:
            self.end("eos")
        elif len(self.steps) == self.n_steps:
            self.end("length")

    def stop_waiting(self) -> None:
        """The LLM has written, or what it was to write behind is cut off."""
        self.waiting, self.is_asked, self.is_partly_read, self.n_waited, self.span = None, False, False, 0, None

    def cut(self, n_written: int) -> None:
        """Forgets all but the first tokens after the prompt; events of what is written instead come anew."""
        assert not self.is_asked and self.n_shared <= n_written, "what is not its own cannot be cut"
        self.stop_waiting()
        del self.ids[self.n_prompt + n_written :], self.steps[n_written - self.n_shared :]
        self.llm_entropy = self.steps[-1].llm_entropy if self.steps else math.nan
        self._text, self._n_told = None, min(self._n_told, len(self.steps))
        self.n_judged = min(self.n_judged, len(self.ids))

    def count_doubts(self) -> None:
        """Of the router since the LLM's last call, from the tokens that are there."""
        told: list[Step | TokenEvent] = [*(self.fork.events if self.fork else ()), *self.steps]
        since = itertools.takewhile(lambda step: not step.llm_tokens_fed, reversed(told))
        self.doubts = sum(self.router.doubt(step.slm_confidence) for step in reversed([*since]) if not step.forced)

    @property
    def n_heard(self) -> int:
        """Length of the text up to which the LLM has said what it would have written."""
        return self.n_judged + (len(self.span.chosen_ids) if self.span else 0)

    def hear(self, span: Span | None) -> None:
        """Puts what the LLM says behind what it said before."""
        if span is not None:
            self.span = span if self.span is None else self.span + span

    def in_question(self) -> list[Step]:
        """What the LLM may take back, the step that waits last."""
        assert self.waiting is not None, "it is asked for while it waits"
        return [*self.steps[self.n_judged - self.n_prompt - self.n_shared :], self.waiting]

    def end(self, reason: FinishReason, error: Exception | None = None) -> None:
        """Nothing follows; does nothing to one that has ended."""
        if self.finish_reason is None:
            self.has_news = True
            self.finish_reason, self.error = reason, error

    def new_events(self, pair: ModelPair) -> list[TokenEvent]:
        """The steps that were not told yet as events, each with the text that it adds.

        The last one of a text that is whole brings what text was held back.
        """
        if self._text is None:
            self._text = TextStream(pair.tokenizer)
            for token_id in self.ids[self.n_prompt :][: self.n_shared + self._n_told]:
                self._text.push(token_id)
        found, is_whole = [], self.finish_reason in ("eos", "length")
        for step in self.steps[self._n_told :]:
            index = self.n_shared + self._n_told
            self._n_told += 1
            is_last = is_whole and self._n_told == len(self.steps)
            found.append(
                TokenEvent(
                    index=index,
                    token_id=step.token_id,
                    text=self._text.push(step.token_id) + (self._text.flush() if is_last else ""),
                    source=step.source,
                    slm_token_id=step.slm_token_id,
                    slm_confidence=step.slm_confidence,
                    threshold=self.settings.threshold,
                    slm_tokens_fed=step.slm_tokens_fed,
                    llm_tokens_fed=step.llm_tokens_fed,
                    context_len=self.n_prompt + index,
                    slm_s=step.slm_s,
                    router_s=step.router_s,
                    llm_s=step.llm_s,
                    slm_top=step.slm_top,
                    llm_top=step.llm_top,
                    forced=step.forced,
                    discarded=tuple([Discarded(i, pair.token_text(i), score) for i, score in step.discarded]),
                    read=tuple(step.read),
                )
            )
        return found
