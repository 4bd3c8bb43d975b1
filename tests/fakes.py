"""A scripted engine with the real one's interface: no torch, no weights, every token known beforehand.

    engine = FakeEngine("Three times four is twelve: \\boxed{12}.", confidences=[0.9, 0.2])
    run = engine.start(problem, settings=DecodeSettings(threshold=0.5))
    [event.source for event in run]         # slm, llm, slm, llm, ...

The routing rule, the lag of the LLM's cache and the trace are the real ones, so costs and shares add up.
"""

from __future__ import annotations

import contextlib
import re
import sys
import threading
import time
import types
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from citer_core.cost import ModelSpec
from citer_core.errors import CiterError, PromptError, RouterError
from citer_core.fork import Fork
from citer_core.models.presets import PRESETS
from citer_core.speculation import DraftedToken, Drafting, SpeculativePass, SpeculativeTrace
from citer_core.tasks.answers import check_answer
from citer_core.tasks.problems import Problem
from citer_core.tasks.prompts import PROMPT_VERSION
from citer_core.trace import PairInfo, ParentInfo, PromptInfo, RecordInfo, RouterInfo, RoutingTrace
from citer_core.types import Candidate, DecodeSettings, FinishReason, PairOptions, TokenEvent, prefers_llm

if TYPE_CHECKING:
    import pytest

    from citer_core.routing.memory import Memory
    from citer_core.routing.next_tokens import NextTokens
    from citer_core.routing.probe import ProbedToken

SLM = ModelSpec("fake-slm", 100_000, 2, 2, 1, 16, 500, 32, True, 4)
LLM = ModelSpec("fake-llm", 2_000_000, 4, 4, 2, 32, 500, 128, True, 4)
PAIR = PairInfo("Bundled pair", "fake-revision", SLM, LLM, "float32", "cpu")
CONFIDENCES = (0.95, 0.9, 0.3, 0.85, 0.6, 0.99)
EOS_ID = 0

Script = str | Mapping[str, str] | Callable[[Problem], str]


def right_answer(problem: Problem) -> str:
    """A completion that ends in the true answer, in the form that the problem's type asks for."""
    if problem.data_type == "math":
        return f" Adding it all up gives $\\boxed{{{problem.true_answer or 42}}}$."
    if problem.data_type == "mc":
        label = problem.true_answer or problem.choices[0][0]
        return f" It is well known. Therefore, the answer is {dict(problem.choices)[label]} ({label})."
    return " An open question has an open answer."


@dataclass(eq=False)
class FakeRun:
    """One scripted run; see `citer_core.engine.Run`."""

    engine: FakeEngine
    problem: Problem
    router_info: RouterInfo
    settings: DecodeSettings
    id: str
    fork: Fork | None = None
    parent: ParentInfo | None = None
    finish_reason: FinishReason | None = None
    error: str | None = None
    events: list[TokenEvent] = field(default_factory=list)
    _cancelled: threading.Event = field(default_factory=threading.Event)
    _watchers: list[Callable[[], None]] = field(default_factory=list)

    @property
    def n_events(self) -> int:
        return len(self.events)

    def events_since(self, base: int) -> list[TokenEvent]:
        return self.events[base:]

    def on_change(self, callback: Callable[[], None]) -> Callable[[], None]:
        self._watchers.append(callback)
        return lambda: self._watchers.remove(callback)

    def _keep(self, event: TokenEvent) -> None:
        self.events.append(event)
        for watcher in tuple(self._watchers):
            watcher()

    def __iter__(self) -> Iterator[TokenEvent]:
        assert not self.events and self.finish_reason is None, "a run decodes once"
        reason: FinishReason = "error"
        try:
            for event in self.fork.events if self.fork else ():
                self._keep(event)
                yield event
            for event in self._script():
                if event.index < len(self.events):
                    continue  # shared with the parent
                if self._cancelled.wait(self.engine.delay_s):
                    reason = "cancelled"
                    return
                if self.engine.fail_at == event.index:
                    raise self.engine.error
                self._keep(event)
                yield event
            reason = "eos" if self.events and self.events[-1].token_id == EOS_ID else "length"
        except GeneratorExit:
            reason = "cancelled"
            raise
        except CiterError as problem:
            self.error = str(problem)
            raise
        finally:
            self.finish_reason = reason
            for watcher in tuple(self._watchers):
                watcher()

    def _script(self) -> Iterator[TokenEvent]:
        pieces = [*self.engine.pieces(self.problem), ""]
        n_prompt = len(self.problem.prompt.split())
        llm_cached = 0
        for index, text in enumerate(pieces[: self.settings.max_new_tokens]):
            confidence = self.engine.confidences[index % len(self.engine.confidences)]
            forced = self.fork if self.fork and self.fork.source and self.fork.n_shared == index else None
            by_llm = forced.source == "llm" if forced else prefers_llm(confidence, self.settings.threshold)
            text = text.upper() if forced else text
            context_len = n_prompt + index
            token_id = index + 1 if text else EOS_ID
            slm_token_id = token_id + 1 if by_llm else token_id
            yield TokenEvent(
                index=index,
                token_id=token_id,
                text=text,
                source="llm" if by_llm else "slm",
                slm_token_id=slm_token_id,
                slm_confidence=confidence,
                threshold=self.settings.threshold,
                slm_tokens_fed=n_prompt if index == 0 else 1,
                llm_tokens_fed=context_len - llm_cached if by_llm else 0,
                context_len=context_len,
                slm_s=0.001,
                router_s=0.0001,
                llm_s=0.004 if by_llm else 0.0,
                slm_top=(Candidate(slm_token_id, "other" if by_llm else text, confidence),),
                llm_top=(Candidate(token_id, text, 0.9),) if by_llm else (),
                forced=forced is not None,
            )
            if by_llm:
                llm_cached = context_len

    def cancel(self) -> None:
        self._cancelled.set()

    def trace(self) -> RoutingTrace:
        problem = self.problem
        version = 0 if problem.data_type == "open" else PROMPT_VERSION
        trace = RoutingTrace(
            pair=self.engine.pair_info,
            router=self.router_info,
            settings=self.settings,
            prompt=PromptInfo(
                problem.data_type, problem.question, problem.prompt, len(problem.prompt.split()), version
            ),
            events=tuple(self.events),
            finish_reason=self.finish_reason,
            record=RecordInfo("2026-01-01", "a fake", "0.1.0"),
            parent=self.parent,
        )
        if self.finish_reason is None or problem.data_type == "open":
            return trace
        return replace(trace, answer=check_answer(trace.completion, problem))


class ThreadDecoder:
    """Stands in for `SharedDecoder`: every run is decoded in a thread of its own."""

    def submit(self, run: FakeRun) -> None:
        threading.Thread(target=self._decode, args=(run,), name="fake-decoder", daemon=True).start()

    def _decode(self, run: FakeRun) -> None:
        with contextlib.suppress(Exception):  # it is kept in the run
            for _ in run:
                pass

    def close(self, timeout_s: float = 5.0) -> None:
        pass


class FakeEngine:
    """A scripted engine; see `citer_core.engine.Engine`.

    Args:
        script: what every run writes; or by question; or a function of the problem. Split at spaces into tokens, an
            end-of-text token follows.
        confidences: of the router, repeated as long as needed.
        delay_s: seconds before each token.
        fail_at, error: raise `error` instead of the token of that index.

    Attributes:
        runs: all runs that were started, so that a test can look at them.
    """

    pair = None  # there are no models to look into
    llm_is_here = True
    router_names = ("citer", "max-probability")
    default_router = "citer"
    problems = ()

    def __init__(
        self,
        script: Script = right_answer,
        *,
        confidences: Sequence[float] = CONFIDENCES,
        delay_s: float = 0.0,
        fail_at: int | None = None,
        error: Exception | None = None,
    ) -> None:
        self.script = script
        self.confidences = tuple(confidences)
        self.delay_s = delay_s
        self.fail_at = fail_at
        self.error = error or RuntimeError("scripted failure")
        self.pair_info = PAIR
        self.runs: list[FakeRun] = []
        self.load_s = 0.0
        self.n_loads = 0
        self._ids = count(1)

    def load(
        self,
        pair: str = "embedded",
        *,
        device: str = "cpu",
        dtype: str = "float32",
        router_files: Sequence[Path] = (),
        options: PairOptions | None = None,
        llm_server: object = None,
        on_progress: object = None,
    ) -> FakeEngine:
        """Stands in for `Engine.load`: the same engine, with the pair's title, dtype and device in its description."""
        time.sleep(self.load_s)
        self.n_loads += 1
        title = PRESETS[pair].title if pair in PRESETS else pair
        self.pair_info = replace(PAIR, name=title, device=device, dtype=dtype)
        self.router_names = (*(path.stem for path in router_files), *self.router_names)
        return self

    def open_decoder(self, n_slots: int) -> ThreadDecoder:
        self.n_slots = n_slots
        return ThreadDecoder()

    def pieces(self, problem: Problem) -> list[str]:
        """The script for `problem`, as tokens."""
        script = self.script
        text = script if isinstance(script, str) else script(problem) if callable(script) else script[problem.question]
        return re.findall(r"\s*\S+|\s+$", text)

    def router(self, name: str | None = None) -> RouterInfo:
        name = self.default_router if name is None else name
        if name not in self.router_names:
            raise RouterError(f'There is no router "{name}". Choose one of: {", ".join(self.router_names)}.')
        return RouterInfo(name, "fake-router-revision", 1000)

    def default_threshold(self, name: str | None = None) -> float:
        self.router(name)
        return 0.7

    def start(
        self,
        problem: Problem,
        *,
        router: str | None = None,
        settings: DecodeSettings,
        fork: Fork | None = None,
        parent: ParentInfo | None = None,
    ) -> FakeRun:
        run = FakeRun(self, problem, self.router(router), settings, f"run-{next(self._ids)}", fork, parent)
        self.runs.append(run)
        return run

    def probe(self, problem: Problem, token_ids: Sequence[int]) -> Iterator[ProbedToken]:
        """The SLM is wrong at every third token, as if by script."""
        from citer_core.routing.probe import ProbedToken  # torch, which a scripted run does without

        for index, token_id in enumerate(token_ids):
            llm_top = (Candidate(token_id, "right", 0.9),)
            slm_top = (
                llm_top if index % 3 else (Candidate(token_id + 1, "other", 0.6), Candidate(token_id, "right", 0.3))
            )
            yield ProbedToken(slm_top, llm_top, slm_entropy=0.5, llm_entropy=0.25, kl=0.125, agree=bool(index % 3))

    def next_tokens(
        self, problem: Problem, token_ids: Sequence[int], settings: DecodeSettings, text: str | None = None
    ) -> NextTokens:
        """Twenty tokens of the SLM and of the LLM; a word is a token, whose id is how many letters it has."""
        from citer_core.routing.next_tokens import NextTokens, Offer

        slm, llm = (Offer(tuple(Candidate(n + i, f" {who}{i}", 0.5**i) for i in range(1, 21)), None)
                    for who, n in (("small", 100), ("large", 200)))  # fmt: skip
        words = re.findall(r"\s*\S+", text or "")
        return NextTokens(slm, llm, (len(words[0]), words[0]) if words else None, len(words))

    def prompt_text(self, problem: Problem) -> str:
        return problem.prompt

    def check(self, problem: Problem) -> None:
        """Raises the scripted error where it is one of the prompt and `fail_at` is None."""
        if self.fail_at is None and isinstance(self.error, PromptError):
            raise self.error

    def begun_speculation(
        self, problem: Problem, *, max_new_tokens: int, drafting: Drafting | None = None
    ) -> SpeculativeTrace:
        run = FakeRun(self, problem, self.router(), DecodeSettings(max_new_tokens=max_new_tokens), "").trace()
        drafting = drafting or Drafting()
        return SpeculativeTrace(run.pair, drafting, max_new_tokens, run.prompt, (), None, run.record)

    def speculate(
        self,
        problem: Problem,
        *,
        max_new_tokens: int,
        drafting: Drafting | None = None,
        is_cancelled: Callable[[], bool] = lambda: False,
    ) -> Generator[SpeculativePass, None, SpeculativeTrace]:
        """The script, three drafted tokens and one of the LLM's own at a time; all are kept."""
        run = self.start(problem, settings=DecodeSettings(threshold=1.0, max_new_tokens=max_new_tokens))
        events, passes = list(run), []
        for start in range(0, len(events), 4):
            part = events[start : start + 4]
            *drafted, own = part
            passes.append(
                SpeculativePass(
                    drafted=tuple(DraftedToken(e.token_id, e.text, 0.9) for e in drafted),
                    n_accepted=len(drafted),
                    own_id=own.token_id,
                    texts=tuple(e.text for e in part),
                    slm_tokens_fed=(1,) * len(drafted),
                    llm_tokens_fed=len(part),
                    context_len=part[0].context_len,
                    slm_s=0.001,
                    llm_s=0.004,
                )
            )
            yield passes[-1]
        whole = run.trace()
        begun = self.begun_speculation(problem, max_new_tokens=max_new_tokens, drafting=drafting)
        return replace(begun, passes=tuple(passes), finish_reason=whole.finish_reason, answer=whole.answer)

    def run_batch(
        self,
        problems: Sequence[Problem],
        *,
        router: str | None = None,
        settings: DecodeSettings,
        batch_size: int = 16,
        with_candidates: bool = False,
        may_vary_threads: bool = False,
        memory: Memory | None = None,
    ) -> Iterator[tuple[int, RoutingTrace]]:
        """One after another, and handed out as they finish."""
        for index, problem in enumerate(problems):
            run = self.start(problem, router=router, settings=settings)
            for _ in run:
                pass
            yield index, run.trace()


def install(engine: FakeEngine) -> types.ModuleType:
    """Makes `from citer_core.engine import Engine` give `engine`, without importing torch.

    It lasts for the life of the process and is meant for a process of its own; in a test take `use`.
    """
    module = fake_module(engine)
    sys.modules["citer_core.engine"] = module
    return module


def use(monkeypatch: pytest.MonkeyPatch, engine: FakeEngine) -> FakeEngine:
    """Puts `engine` in place of the real one for one test."""
    monkeypatch.setitem(sys.modules, "citer_core.engine", fake_module(engine))
    return engine


def fake_module(engine: FakeEngine) -> types.ModuleType:
    """A stand-in for the module `citer_core.engine`, whose `Engine.load` gives `engine`."""
    module = types.ModuleType("citer_core.engine")
    vars(module).update(Engine=types.SimpleNamespace(load=engine.load))
    return module
