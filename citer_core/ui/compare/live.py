"""A live comparison as messages: the document without its tokens, then what is new of each column, then all of it.

The ways are decoded one after another, or each gets a token (or a pass) in turn. One job for all of them, which waits
in line with the other jobs.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from citer_core.comparison import Comparison, slim_event, ways_of
from citer_core.speculation import SpeculativeTrace
from citer_core.trace import RoutingTrace
from citer_core.ui.compare.asked import AskedComparison
from citer_core.ui.pair.engine_slot import EngineSlot
from citer_core.ui.streaming import Message, notice

if TYPE_CHECKING:
    from citer_core.engine import Engine
    from citer_core.run import Run

INTERVAL_S = 0.1
WAIT_S = 0.25
LOADING = "The models are loading; the comparison starts as soon as they are ready."
_numbers = itertools.count()
_Steps = Generator[dict[str, Any], None, "RoutingTrace | SpeculativeTrace"]


def compared(slot: EngineSlot, asked: AskedComparison, is_cancelled: Callable[[], bool]) -> Iterator[Message]:
    """All messages of one comparison.

    Args:
        slot: of the engine.
        asked: what is compared.
        is_cancelled: asked between tokens.

    Raises:
        CiterError: a router is not there, the prompt is too long, a model failed.
    """
    with slot.lease() as lease:
        while (engine := lease.wait(WAIT_S)) is None:
            if is_cancelled():
                return
            yield notice(LOADING, "wait")
        yield from _columns(engine, asked, is_cancelled)


def _columns(engine: Engine, asked: AskedComparison, is_cancelled: Callable[[], bool]) -> Iterator[Message]:
    number = next(_numbers)
    begun, steps = _begun(engine, asked, is_cancelled)
    yield {"comparison": number, "document": _document(begun, asked).to_dict(), "is_done": False}
    ended: list[RoutingTrace | SpeculativeTrace] = list(begun)
    new: dict[int, list[dict[str, Any]]] = {}
    bases = [0] * len(steps)
    told_at = time.monotonic()

    def news() -> Message:
        columns = [{"column": k, "base": bases[k], "items": items} for k, items in new.items()]
        for k, items in new.items():
            bases[k] += len(items)
        new.clear()
        return {"comparison": number, "columns": columns}

    waiting = list(range(len(steps)))
    while waiting:
        for k in list(waiting) if asked.together else waiting[:1]:
            try:
                new.setdefault(k, []).append(next(steps[k]))
            except StopIteration as stop:
                ended[k] = stop.value
                waiting.remove(k)
        if new and time.monotonic() - told_at >= INTERVAL_S:
            told_at = time.monotonic()
            yield news()
        if is_cancelled():
            return
    yield {"comparison": number, "document": _document(ended, asked).to_dict(), "is_done": True}


def _begun(
    engine: Engine, asked: AskedComparison, is_cancelled: Callable[[], bool]
) -> tuple[list[RoutingTrace | SpeculativeTrace], list[_Steps]]:
    """What each way is before its first token, and its steps."""
    begun: list[RoutingTrace | SpeculativeTrace] = []
    steps: list[_Steps] = []
    settings = asked.settings
    for router, tau in ways_of(engine, asked.routers):
        run = engine.start(asked.problem, router=router, settings=replace(settings, threshold=tau))
        begun.append(run.trace())

        def events(run: Run = run) -> _Steps:
            for event in run:
                yield slim_event(event)
                if is_cancelled():
                    run.cancel()
            return run.trace()

        steps.append(events())
    if engine.llm_is_here and settings.temperature == 0:  # drafts are accepted greedily here, and not sampled
        begun.append(engine.begun_speculation(asked.problem, max_new_tokens=settings.max_new_tokens))

        def passes() -> _Steps:
            work = engine.speculate(asked.problem, max_new_tokens=settings.max_new_tokens, is_cancelled=is_cancelled)
            while True:
                try:
                    one = next(work)
                except StopIteration as stop:
                    trace: SpeculativeTrace = stop.value
                    return trace
                yield one.to_dict()

        steps.append(passes())
    return begun, steps


def _document(ended: list[RoutingTrace | SpeculativeTrace], asked: AskedComparison) -> Comparison:
    runs = tuple(one for one in ended if isinstance(one, RoutingTrace))
    speculative = next((one for one in ended if isinstance(one, SpeculativeTrace)), None)
    return Comparison("Live", asked.problem.data_type, runs, speculative)
