"""`Run`: one routed run in progress, from the request to its trace.

The decoder records its events and its end; any number of threads look at them meanwhile. A run is iterated, once, to
decode it here and now, or handed to `citer_core.serving`, which decodes many together. Knows nothing about pages,
sessions or queues. Made by `citer_core.engine`.
"""

from __future__ import annotations

import datetime
import itertools
import logging
import secrets
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace

import citer_core
from citer_core.errors import CiterError
from citer_core.fork import Fork
from citer_core.hardware import hardware_in_words
from citer_core.models.pair import ModelPair
from citer_core.routing.decode import decode
from citer_core.routing.router import Router
from citer_core.tasks.answers import check_answer
from citer_core.tasks.problems import Problem
from citer_core.tasks.prompts import PROMPT_VERSION
from citer_core.trace import PairInfo, ParentInfo, PromptInfo, RecordInfo, RouterInfo, RoutingTrace
from citer_core.types import DecodeSettings, FinishReason, TokenEvent, WithResult, settled

logger = logging.getLogger(__name__)
# Decodes elsewhere: (router, prompt, settings, fork) -> events, and as the last item why it ended. See
# `Engine.on_zero_gpu`.
RemoteDecode = Callable[[str, list[int], DecodeSettings, Fork | None], Iterator[TokenEvent | FinishReason]]


@dataclass(eq=False)
class Run:
    """One routed run. Any thread may look at it, wait for it and cancel it.

    Attributes:
        pair, router: what decodes it; None once it has ended, so that a run that is kept does not keep gigabytes.
        id: unguessable, so that a page can ask for its own run and for no other.
        finish_reason: None until it ended; set once.
        fork: for a branch, the events that it shares with its parent; they come out first, as they were.
        parent: for a branch, what the trace says about its parent.
        remote: decodes in another process; None decodes here.
        error: why it ended early, in words for a person; None where it did not, or for a reason that is only logged.
    """

    pair: ModelPair | None
    router: Router | None
    problem: Problem
    prompt_ids: list[int]
    settings: DecodeSettings
    fork: Fork | None = None
    parent: ParentInfo | None = None
    id: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    finish_reason: FinishReason | None = None
    remote: RemoteDecode | None = None
    error: str | None = None
    _events: list[TokenEvent] = field(default_factory=list)
    _cancelled: threading.Event = field(default_factory=threading.Event)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _watchers: dict[int, Callable[[], object]] = field(default_factory=dict)
    _wanted: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        assert self.pair is not None and self.router is not None, "a run begins with its models"
        self._origin = Origin.of(self.pair, self.router, self.problem)
        self._has_begun = False
        self._watcher_numbers = itertools.count()

    # ------------------------------------------------------------ decoding it

    def __iter__(self) -> Iterator[TokenEvent]:
        """Decodes; every event is kept before it is handed out. A consumer that goes away cancels the run."""
        self.begin()
        reason: FinishReason = "error"
        error: str | None = None
        try:
            yield from self._events.copy()
            steps = WithResult(self.steps())
            for event in steps:
                self.record([event])
                yield event
            reason = steps.result
        except GeneratorExit:
            reason = "cancelled"
            raise
        except CiterError as problem:
            error = str(problem)
            raise
        finally:
            self.finish(reason, error)

    def begin(self) -> None:
        """Called once by the decoder: the events that it shares with its parent are there from now on."""
        with self._changed:
            assert not self._has_begun and self.finish_reason is None, "a run decodes once"
            self._has_begun = True
        if self.fork is not None and self.fork.events:
            self.record(self.fork.events)

    def steps(self) -> Generator[TokenEvent, None, FinishReason]:
        """Its own tokens, one after another, decoded alone; records nothing. Ends as `decode` does."""
        assert self.pair is not None and self.router is not None, "only an ended run has let them go"
        if self.remote is not None:
            return (yield from self._from_elsewhere(self.remote, self.router.name))
        steps = decode(
            self.pair, self.router, self.prompt_ids, self.settings, is_cancelled=self.is_cancelled, fork=self.fork
        )
        return (yield from steps)

    def _from_elsewhere(self, remote: RemoteDecode, router: str) -> Generator[TokenEvent, None, FinishReason]:
        """Another process cannot see our flag, so it is looked at here, and the generator there is closed."""
        for item in remote(router, self.prompt_ids, self.settings, self.fork):
            if not isinstance(item, TokenEvent):
                return item
            yield item
            if self._cancelled.is_set():
                break
        return "cancelled"

    def record(self, events: Sequence[TokenEvent]) -> None:
        """Adds what was decoded, for all who look and wait; only the decoder calls this."""
        with self._changed:
            assert self.finish_reason is None, "it has ended"
            self._events.extend(events)
            # Waking a thread takes as long as a pass of a small model: only those are woken who have what they want.
            if self._wanted and len(self._events) > min(self._wanted):
                self._changed.notify_all()
        self._tell()

    def finish(self, reason: FinishReason, error: str | None = None) -> None:
        """It has ended, for this reason; the first call counts. Lets go of the models.

        Args:
            reason: why.
            error: for `error`, what a person is told.
        """
        with self._changed:
            if self.finish_reason is not None:
                return
            self.error = error
            self.finish_reason = reason
            self.pair = self.router = self.remote = None
            self._changed.notify_all()
        self._tell()
        with self._changed:
            self._watchers.clear()

    def cancel(self) -> None:
        """Ends the run before its next token; may be called from any thread."""
        self._cancelled.set()

    def is_cancelled(self) -> bool:
        """Asked between steps."""
        return self._cancelled.is_set()

    # ------------------------------------------------------------ looking at it

    @property
    def n_events(self) -> int:
        """Tokens told so far, those of a branch's parent and those that were taken back included."""
        return len(self._events)

    def events_since(self, base: int) -> list[TokenEvent]:
        """What was told from place `base` on, in order; see `settled` for what stays of it."""
        with self._changed:
            return self._events[base:]

    def wait(self, base: int, timeout_s: float) -> bool:
        """Waits until more than `base` events were told, or the run has ended; False where neither came in time."""
        with self._changed:
            self._wanted.append(base)
            try:
                return self._changed.wait_for(
                    lambda: len(self._events) > base or self.finish_reason is not None, timeout_s
                )
            finally:
                self._wanted.remove(base)

    def on_change(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Calls `callback` after new events and after the end, in the thread that decodes, which it must not hold up.

        What was there before is not told: look once after subscribing. Two changes may come as one call, and a call may
        come after the last look. One that raises is logged and not called again.

        Returns:
            Ends the calls; may be called twice.
        """
        with self._changed:
            number = next(self._watcher_numbers)
            self._watchers[number] = callback

        def unsubscribe() -> None:
            with self._changed:
                self._watchers.pop(number, None)

        return unsubscribe

    def _tell(self) -> None:
        if not self._watchers:
            return
        with self._changed:
            watchers = list(self._watchers.items())
        for number, callback in watchers:
            try:
                callback()
            except Exception:
                logger.exception("a listener of run %s failed and is told nothing more", self.id[:6])
                with self._changed:
                    self._watchers.pop(number, None)

    def trace(self) -> RoutingTrace:
        """The run so far; with the verdict on its answer once it has ended."""
        with self._changed:
            events, reason = settled(self._events), self.finish_reason
        trace = trace_of(self._origin, self.problem, self.settings, len(self.prompt_ids), events, reason)
        return trace if self.parent is None else replace(trace, parent=self.parent)


@dataclass(frozen=True, slots=True)
class Origin:
    """What a trace says of the pair and the router that wrote it, without holding either."""

    pair: PairInfo
    router: RouterInfo
    prompt_text: str

    @classmethod
    def of(cls, pair: ModelPair, router: Router, problem: Problem) -> Origin:
        """For a run of `problem`."""
        described = RouterInfo(
            router.name,
            router.revision,
            router.n_params,
            router.reads_llm,
            depends_on_writers=router.uses_llm_entropy,
            slm_prior=router.slm_prior,
        )
        return cls(pair.info, described, pair.prompt_form.text(problem.prompt))


def trace_of(
    origin: Origin,
    problem: Problem,
    settings: DecodeSettings,
    n_prompt: int,
    events: Sequence[TokenEvent],
    finish_reason: FinishReason | None,
) -> RoutingTrace:
    """What is known of a run as one trace; with the verdict on its answer once it has ended."""
    trace = RoutingTrace(
        pair=origin.pair,
        router=origin.router,
        settings=settings,
        prompt=prompt_info(problem, origin.prompt_text, n_prompt),
        events=tuple(events),
        finish_reason=finish_reason,
        record=record_info(),
    )
    if finish_reason is None or problem.data_type == "open":
        return trace
    return trace.with_answer(check_answer(trace.completion, problem))


def prompt_info(problem: Problem, prompt_text: str, n_prompt: int) -> PromptInfo:
    """What a trace says of what was asked; `prompt_text` as the models read it, in `n_prompt` tokens."""
    return PromptInfo(
        data_type=problem.data_type,
        question=problem.question,
        text=prompt_text,
        n_tokens=n_prompt,
        version=0 if problem.data_type == "open" else PROMPT_VERSION,
    )


def record_info() -> RecordInfo:
    """Today, here, with this version."""
    return RecordInfo(datetime.date.today().isoformat(), hardware_in_words(), citer_core.__version__)
