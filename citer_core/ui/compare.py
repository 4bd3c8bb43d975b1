"""The view Compare: what a live comparison is asked with, and its messages: the document without its tokens, then what
is new of each column, then all of it.

    {"question": "1 + 1?", "data_type": "math", "together": true, "routers": [{"router": "citer", "threshold": 0.9}],
     "settings": {"max_new_tokens": 128, "temperature": 0}}

A router may have other settings of its own, those of `LOOKING_BACK`; `settings` are shared by all ways. These are
decoded one after another, or each gets a token (or a pass) in turn. One job for all of them, which waits in line with
the other jobs.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from citer_core.comparison import Comparison, Way, slim_event, ways_of
from citer_core.decode_settings import LOOKING_BACK, SETTINGS, DecodeSettings
from citer_core.errors import SettingError
from citer_core.gate.fields import Flag, ListOf, Record, Text
from citer_core.speculation import SpeculativeTrace
from citer_core.tasks.problems import Problem
from citer_core.trace import RoutingTrace
from citer_core.types import WithResult, when_settled, writer_alone
from citer_core.ui.asking import Answers
from citer_core.ui.jobs import IsEnded, JobLine, Steps
from citer_core.ui.messages import Message
from citer_core.ui.problems import ProblemBook
from citer_core.ui.run.asked import asked_run, object_of

if TYPE_CHECKING:
    from citer_core.engine import Engine
    from citer_core.run import Run

INTERVAL_S = 0.1
LOADING = "The models are loading; the comparison starts as soon as they are ready."
MOST_ROUTERS = 3
NAMES = ("question", "data_type", "together", "routers", "settings")
_OWN = {name: SETTINGS[name].kind for name in LOOKING_BACK}
_WAY = Record({"router": Text(200, 1), "threshold": _OWN.pop("threshold")}, _OWN)
_WAYS = Record({"routers": ListOf(_WAY, MOST_ROUTERS, 1)}, {"together": Flag()})
_numbers = itertools.count()
_Steps = Generator[dict[str, Any], None, "RoutingTrace | SpeculativeTrace"]


def about_comparing(line: JobLine, book: ProblemBook) -> Mapping[str, Answers]:
    """What may be asked, by name.

    Args:
        line: where comparisons take turns with other jobs.
        book: the bundled problems, whose answers are known.
    """
    return {"compare": line.answers(lambda body: read_comparison(book, body), compared, loading=LOADING)}


@dataclass(frozen=True, slots=True)
class AskedComparison:
    """One problem for all, and the settings that all share; `together` gives tokens in turn."""

    problem: Problem
    routers: tuple[Way, ...]
    settings: DecodeSettings
    together: bool


def read_comparison(book: ProblemBook, text: object) -> AskedComparison:
    """Reads the browser's request.

    Args:
        book: the bundled problems, whose answers are known.
        text: the object above as JSON.

    Raises:
        CiterError: it is none; it names something else; a value is of another kind or outside its range.
    """
    given = object_of(text, "a comparison", NAMES)
    ways, shared = _WAYS.read(given, ""), given.get("settings", {})
    if not isinstance(shared, Mapping) or shared.keys() & LOOKING_BACK:
        raise SettingError(f"settings holds what all ways share; each router has its own {', '.join(LOOKING_BACK)}.")
    if any(len(entry) > len(way) for entry, way in zip(given["routers"], ways["routers"], strict=True)):
        raise SettingError(f"A router to compare is an object of router, and of {', '.join(LOOKING_BACK)}.")
    problem = {name: given.get(name) for name in ("question", "data_type")}
    asked = asked_run(book, **problem, router=None, settings=shared)
    routers = tuple((way.pop("router"), way) for way in ways["routers"])
    if any(writer_alone(replace(asked.settings, **own)) for _, own in routers):
        raise SettingError("Give each router a tau above 0 and below 1, or looks: the models alone are there anyway.")
    return AskedComparison(asked.problem, routers, asked.settings, ways.get("together", False))


def compared(asked: AskedComparison, engine: Engine, is_ended: IsEnded) -> Steps:
    """All messages of one comparison.

    Args:
        asked: what is compared.
        engine: has the models.
        is_ended: asked between tokens.

    Raises:
        CiterError: a router is not there, the prompt is too long, a model failed.
    """
    number = next(_numbers)
    begun, steps = _begun(engine, asked, is_ended)
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
        if is_ended():
            return
    yield {"comparison": number, "document": _document(ended, asked).to_dict(), "is_done": True}


def _begun(
    engine: Engine, asked: AskedComparison, is_ended: IsEnded
) -> tuple[list[RoutingTrace | SpeculativeTrace], list[_Steps]]:
    """What each way is before its first token, and its steps."""
    begun: list[RoutingTrace | SpeculativeTrace] = []
    steps: list[_Steps] = []
    settings = asked.settings
    for router, own in ways_of(engine, asked.routers, settings):
        run = engine.start(asked.problem, router=router, settings=own)
        begun.append(run.trace())

        def events(run: Run = run) -> _Steps:
            for event in when_settled(run, run.settings):
                yield slim_event(event)
                if is_ended():
                    run.cancel()
            return run.trace()

        steps.append(events())
    if engine.llm_is_here and settings.temperature == 0:  # drafts are accepted greedily here, and not sampled
        begun.append(engine.begun_speculation(asked.problem, max_new_tokens=settings.max_new_tokens))

        def passes() -> _Steps:
            n_new = settings.max_new_tokens
            work = WithResult(engine.speculate(asked.problem, max_new_tokens=n_new, is_cancelled=is_ended))
            for one in work:
                yield one.to_dict()
            return work.result

        steps.append(passes())
    return begun, steps


def _document(ended: list[RoutingTrace | SpeculativeTrace], asked: AskedComparison) -> Comparison:
    runs = tuple(one for one in ended if isinstance(one, RoutingTrace))
    speculative = next((one for one in ended if isinstance(one, SpeculativeTrace)), None)
    return Comparison("Live", asked.problem.data_type, runs, speculative)
