"""`Engine`: a loaded pair with its routers, which makes runs (`citer_core.run`).

The one door to generation for the page, the API and the command line. Knows nothing about any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from citer_core.config import LlmServer
from citer_core.errors import CiterError, RouterError
from citer_core.fork import Fork
from citer_core.models.pair import ModelPair, load_pair
from citer_core.models.presets import EMBEDDED
from citer_core.models.remote_lm import RemoteLM
from citer_core.routing.catalog import load_router, load_routers
from citer_core.routing.decode import decode, decode_batch
from citer_core.routing.inside import Inside, inside
from citer_core.routing.memory import Memory
from citer_core.routing.next_tokens import NextTokens, next_tokens
from citer_core.routing.probe import ProbedToken, probe
from citer_core.routing.prompt import check_prompt, check_router
from citer_core.routing.router import Router
from citer_core.routing.speculative import speculate
from citer_core.run import Origin, RemoteDecode, Run, prompt_info, record_info, trace_of
from citer_core.serving.shared_decoder import SharedDecoder
from citer_core.speculation import Drafting, SpeculativePass, SpeculativeTrace
from citer_core.tasks.answers import check_answer
from citer_core.tasks.problems import Problem
from citer_core.text import TextStream
from citer_core.trace import ParentInfo, RoutingTrace
from citer_core.types import DecodeSettings, FinishReason, LoadProgress, PairOptions, TokenEvent, WithResult
from citer_core.zero_gpu import gpu_seconds, on_gpu

__all__ = ["Engine", "Origin", "Run", "trace_of"]


def _fits(pair: ModelPair, router: Router) -> bool:
    try:
        check_router(pair, router)
    except RouterError:
        return False
    return True


class Engine:
    """A pair and the routers that fit it.

    Attributes:
        pair, pair_info: the loaded pair and its description.
        problems: stored routers that could not be loaded, to be shown.
    """

    def __init__(self, pair: ModelPair, routers: Mapping[str, Router], problems: Sequence[CiterError] = ()) -> None:
        assert routers, "an engine needs a router"
        self.pair = pair
        self.pair_info = pair.info
        self.problems = tuple(problems)
        self._all_routers = dict(routers)
        self._routers = {name: router for name, router in routers.items() if _fits(pair, router)}
        self._remote: RemoteDecode | None = None

    def on_zero_gpu(self) -> Engine:
        """This engine, whose runs decode where `zero_gpu` has a GPU for them; call it once, when it is loaded."""

        def work(
            router: str, prompt_ids: list[int], settings: DecodeSettings, fork: Fork | None
        ) -> Iterator[TokenEvent | FinishReason]:
            reason: FinishReason = yield from decode(self.pair, self.router(router), prompt_ids, settings, fork=fork)
            yield reason

        def seconds(_router: str, _prompt_ids: list[int], settings: DecodeSettings, _fork: Fork | None) -> int:
            # How tau turns into a share depends on the text; only at 0 is it known that the LLM is never asked.
            return gpu_seconds(settings.max_new_tokens, 1.0 if settings.threshold > 0 else 0.0)

        self._remote = on_gpu(work, seconds)
        return self

    @classmethod
    def load(
        cls,
        pair: str = EMBEDDED,
        *,
        device: str = "cpu",
        dtype: str = "float32",
        router_files: Sequence[Path] = (),
        options: PairOptions | None = None,
        llm_server: LlmServer | None = None,
        on_progress: LoadProgress = lambda *_: None,
    ) -> Engine:
        """Loads a pair and every router that is stored for it.

        Args:
            pair, device, dtype, options: see `load_pair`.
            router_files: cards of more routers, which come first; the first of them becomes the default.
            llm_server: where the LLM runs; None loads it here.
            on_progress: see `LoadProgress`.

        Raises:
            PairError, ModelFileError: see `load_pair`.
            ServerError: the LLM's server cannot be reached or used.
            RouterError: one of `router_files` is damaged or does not fit. What is wrong with a stored router is kept in
                `problems` instead.
        """
        loaded = load_pair(
            pair, device=device, dtype=dtype, options=options, server=llm_server, on_progress=on_progress
        )
        extra: dict[str, Router] = {}
        for path in router_files:
            router = load_router(path, loaded)
            extra[router.name] = router
        stored, problems = load_routers(loaded)
        return cls(loaded, {**extra, **{k: v for k, v in stored.items() if k not in extra}}, problems)

    @property
    def router_names(self) -> tuple[str, ...]:
        """Name of every router that this pair can be routed by, the default first."""
        return tuple(self._routers)

    @property
    def llm_is_here(self) -> bool:
        """Whether the LLM's logits can be had at every position; a server gives tokens only."""
        return not isinstance(self.pair.llm, RemoteLM)

    @property
    def default_router(self) -> str:
        """The first of `router_names`."""
        return self.router_names[0]

    def router(self, name: str | None = None) -> Router:
        """A router by name; None gives the default.

        Raises:
            RouterError: there is none of that name, or it needs an LLM that is loaded here.
        """
        name = self.default_router if name is None else name
        if name in self._all_routers:
            check_router(self.pair, self._all_routers[name])
        if name not in self._routers:
            raise RouterError(f'There is no router "{name}". Choose one of: {", ".join(self.router_names)}.')
        return self._routers[name]

    def default_threshold(self, name: str | None = None) -> float:
        """The tau that the router recommends."""
        return self.router(name).default_threshold

    def open_decoder(self, n_slots: int) -> SharedDecoder:
        """What decodes the runs of many visitors together.

        Args:
            n_slots: how many at once.
        """
        return SharedDecoder(self, n_slots=n_slots)

    def prompt_text(self, problem: Problem) -> str:
        """The problem's prompt as the models read it, in its chat template where there is one."""
        return self.pair.prompt_form.text(problem.prompt)

    def check(self, problem: Problem) -> None:
        """Raises `PromptError` if the problem's prompt leaves no room in the models' context."""
        check_prompt(self.pair, self.pair.encode(problem.prompt))

    def start(
        self,
        problem: Problem,
        *,
        router: str | None = None,
        settings: DecodeSettings,
        fork: Fork | None = None,
        parent: ParentInfo | None = None,
    ) -> Run:
        """Prepares a run; nothing is computed before it is iterated.

        Args:
            problem, router, settings: what is asked, who decides and how.
            fork: makes it a branch: the run begins with these events and goes on from there.
            parent: what the branch's trace says of where it comes from.

        Raises:
            RouterError: there is no such router.
            PromptError: the prompt is empty or too long; only looked at for a branch, else the run itself says so.
            SettingError: nothing can follow the fork.
        """
        prompt_ids = self.pair.encode(problem.prompt)
        if fork is not None:
            n_steps = min(settings.max_new_tokens, check_prompt(self.pair, prompt_ids))
            fork.check(self.pair.vocab_size, self.pair.eos_ids, n_steps)
            fork = replace(fork, events=tuple(self._as_ours(fork.events, len(prompt_ids))))
        return Run(self.pair, self.router(router), problem, prompt_ids, settings, fork, parent, remote=self._remote)

    def _as_ours(self, events: Sequence[TokenEvent], n_prompt: int) -> Iterator[TokenEvent]:
        """Events that came from outside, with the text and the cache lengths that their tokens and writers imply."""
        text = TextStream(self.pair.tokenizer)
        llm_cached = 0
        for index, event in enumerate(events):
            context_len = n_prompt + index
            was_read = event.source == "llm" or event.llm_tokens_fed > 0
            yield replace(
                event,
                index=index,
                text=text.push(event.token_id),
                context_len=context_len,
                slm_tokens_fed=n_prompt if index == 0 else 1,
                llm_tokens_fed=context_len + max(0, len(event.discarded) - 1) - llm_cached if was_read else 0,
            )
            llm_cached = context_len if was_read else llm_cached

    def probe(self, problem: Problem, token_ids: Sequence[int]) -> Iterator[ProbedToken]:
        """What both models say at every token of a completion; see `citer_core.routing.probe`.

        Raises:
            SettingError: the tokens are not this pair's, or too many.
        """
        return probe(self.pair, self.pair.encode(problem.prompt), token_ids)

    def inside(self, problem: Problem, token_ids: Sequence[int], *, router: str, after_llm: bool) -> Inside:
        """What a router computes behind these tokens of a completion; see `citer_core.routing.inside`.

        Raises:
            SettingError, RouterError: the tokens are not this pair's, or too many; there is no such router.
        """
        prompt_ids = self.pair.encode(problem.prompt)
        return inside(self.pair, self.router(router), prompt_ids, token_ids, after_llm=after_llm)

    def next_tokens(
        self, problem: Problem, token_ids: Sequence[int], settings: DecodeSettings, text: str | None = None
    ) -> NextTokens:
        """What both models may write behind these tokens of a completion; see `citer_core.routing.next_tokens`.

        Raises:
            SettingError: the tokens are not this pair's, or too many.
        """
        return next_tokens(self.pair, self.pair.encode(problem.prompt), token_ids, settings, text)

    def speculate(
        self,
        problem: Problem,
        *,
        max_new_tokens: int,
        drafting: Drafting | None = None,
        is_cancelled: Callable[[], bool] = lambda: False,
    ) -> Generator[SpeculativePass, None, SpeculativeTrace]:
        """One greedy answer by speculative decoding: the LLM's own text, in fewer passes of it.

        Args:
            problem: what is asked.
            max_new_tokens: at least 1.
            drafting: how much the SLM drafts; None takes the usual.
            is_cancelled: asked between passes.

        Yields:
            Each pass as it is done.

        Returns:
            All of it, with the verdict on its answer.

        Raises:
            CiterError: see `routing.speculative.speculate`.
        """
        drafting = drafting or Drafting()
        prompt_ids = self.pair.encode(problem.prompt)
        passes: list[SpeculativePass] = []
        steps = WithResult(speculate(self.pair, prompt_ids, max_new_tokens, drafting, is_cancelled=is_cancelled))
        for one in steps:
            passes.append(one)
            yield one
        trace = self.begun_speculation(problem, max_new_tokens=max_new_tokens, drafting=drafting)
        trace = replace(trace, passes=tuple(passes), finish_reason=steps.result)
        is_checked = problem.data_type != "open"
        return trace.with_answer(check_answer(trace.completion, problem)) if is_checked else trace

    def begun_speculation(
        self, problem: Problem, *, max_new_tokens: int, drafting: Drafting | None = None
    ) -> SpeculativeTrace:
        """What `speculate` gives, before its first pass."""
        return SpeculativeTrace(
            pair=self.pair_info,
            drafting=drafting or Drafting(),
            max_new_tokens=max_new_tokens,
            prompt=prompt_info(problem, self.prompt_text(problem), len(self.pair.encode(problem.prompt))),
            passes=(),
            finish_reason=None,
            record=record_info(),
        )

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
        """Runs many problems, several per forward pass; the tokens are those of `start`.

        Args:
            problems: any number.
            router: by name; None takes the default.
            settings: the same for all.
            batch_size: problems per forward pass.
            with_candidates: keep both models' most probable tokens in the events.
            may_vary_threads, memory: see `decode_batch`.

        Yields:
            (index in `problems`, finished trace) in the order in which they finish. Seconds of a pass that several
            problems shared are divided among them; costs are estimated as if each had run alone.

        Raises:
            RouterError: there is no such router.
            PromptError: a prompt is too long; before anything is decoded.
        """
        chosen = self.router(router)
        prompts = [self.pair.encode(problem.prompt) for problem in problems]
        for done in decode_batch(
            self.pair,
            chosen,
            prompts,
            settings,
            batch_size=batch_size,
            with_candidates=with_candidates,
            may_vary_threads=may_vary_threads,
            memory=memory,
        ):
            problem, events = problems[done.index], done.new_events(self.pair)
            origin = Origin.of(self.pair, chosen, problem)
            yield (
                done.index,
                trace_of(origin, problem, settings, done.n_prompt, events, done.finish_reason),
            )
