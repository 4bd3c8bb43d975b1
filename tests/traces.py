"""Traces for tests, made by the scripted engine: the real routing rule, cache lag and JSON, no model."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from citer_core.assets import ASSETS
from citer_core.tasks.problems import problem_from_text
from citer_core.trace import RoutingTrace
from citer_core.types import Candidate, DecodeSettings
from citer_core.ui.presets import OPENING_RUN
from tests.fakes import FakeEngine


def recorded(name: str) -> RoutingTrace:
    """A run that the page plays from disk: `NAME.json` of `assets/traces`."""
    return RoutingTrace.from_json((ASSETS / "traces" / f"{name}.json").read_text(encoding="utf-8"))


def opening_run() -> RoutingTrace:
    """The run that the page opens with."""
    return recorded(OPENING_RUN.removesuffix(".json"))


def made_trace(
    question: str = "How much is it?", *, threshold: float = 0.7, confidences: Sequence[float] = (0.9, 0.2, 0.6)
) -> RoutingTrace:
    """A finished run."""
    engine = FakeEngine(confidences=confidences)
    run = engine.start(problem_from_text(question, "math"), settings=DecodeSettings(threshold=threshold))
    for _ in run:
        pass
    return run.trace()


def random_trace(seed: int) -> RoutingTrace:
    """A run of random confidences and length; some tokens were flipped by hand."""
    chance = random.Random(seed)
    confidences = [chance.choice([chance.random(), 0.0, 1.0, 0.5]) for _ in range(40)]
    engine = FakeEngine(" word" * chance.randint(0, 60), confidences=confidences)
    settings = DecodeSettings(threshold=chance.choice([0.0, 0.3, 0.5, 0.7, 1.0]))
    run = engine.start(problem_from_text("How much is it?", "math"), settings=settings)
    for _ in run:
        pass
    trace = run.trace()
    forced = [
        replace(event, source="slm" if event.source == "llm" else "llm") if chance.random() < 0.05 else event
        for event in trace.events
    ]
    return replace(trace, events=tuple(forced))


def trace_of_texts(texts: Sequence[str], question: str = "What is it?") -> RoutingTrace:
    """A run whose tokens are these texts, candidates and question included."""
    trace = made_trace(question, confidences=(0.9, 0.2))
    first = trace.events[0]
    events = [
        replace(
            first,
            index=index,
            text=text,
            token_id=index,
            source="llm" if index % 2 else "slm",
            slm_confidence=0.2 if index % 2 else 0.9,
            slm_tokens_fed=1 if index else 5,
            llm_tokens_fed=2 if index % 2 else 0,
            context_len=5 + index,
            slm_top=(Candidate(index, text, 0.5),),
            llm_top=(Candidate(index, text, 0.5),) if index % 2 else (),
        )
        for index, text in enumerate(texts)
    ]
    return replace(trace, events=tuple(events), title=question[:40])
