"""What programs call: `/route_trace`, which does what the page does, and `/replay`, `/probe`, `/list_presets`,
`/list_routers`.

Each is an ordinary typed function; `server` has gradio make an HTTP endpoint, a client method and an MCP tool of it,
and its docstring is what people and language models read there. All answer with one JSON text, and take a trace as one.
An object would be searched by gradio for what looks like a file of its own, on the way in and out; and its MCP server
would write an answer as Python does, not as JSON.

No `from __future__ import annotations` here: the code that exposes a function does not resolve strings in types.
"""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from citer_core.decode_settings import settings_words
from citer_core.errors import SettingError, StoppedError
from citer_core.gate.excerpt import excerpt
from citer_core.recording import RecordedRun, read_probe
from citer_core.replay import replay as replay_trace
from citer_core.serving.wake import Wake
from citer_core.trace import RoutingTrace
from citer_core.ui.asking import Visitor
from citer_core.ui.jobs import IsEnded, JobLine, Steps
from citer_core.ui.pair.engine_slot import EngineSlot
from citer_core.ui.problems import ProblemBook
from citer_core.ui.run.asked import asked_run
from citer_core.ui.run.desk import RunDesk
from citer_core.ui.run.order import Order
from citer_core.ui.run.stream import waiting_message

if TYPE_CHECKING:
    from citer_core.engine import Engine
    from citer_core.run import Run


SNAPSHOT_S = 0.5

GROWN = 1.25  # a snapshot holds the whole run, so all of them together are a few times as large as the last one

PLACE_S = 5.0

KEEP_S = 10.0  # without a snapshot: it is where gradio notices that a caller is gone

STEP_S = 0.1

LOAD_TIMEOUT_S = 120.0

LOOK_S = 0.25

LOADING = "The models are still loading: ask again in a minute."


async def wait_loaded(slot: EngineSlot) -> None:
    """Returns when there is an engine, without a thread that waits for it.

    Raises:
        SettingError: it is still loading.
        CiterError: it could not be loaded.
    """
    until = time.monotonic() + LOAD_TIMEOUT_S
    while slot.wait(0) is None:
        if time.monotonic() > until:
            raise SettingError(LOADING)
        await asyncio.sleep(LOOK_S)


async def _snapshots(desk: RunDesk, order: Order) -> AsyncGenerator[str, None]:
    """The run so far, from time to time, and at its end; before that, its places in the line."""
    wake = Wake()
    looked_at, n_shown = time.monotonic(), 0
    with order.watched(wake):
        while order.ended_at is None:
            await wake.wait(SNAPSHOT_S)
            await asyncio.sleep(STEP_S)
            run, now = order.run, time.monotonic()
            if run is None:
                message = waiting_message(desk, order)
                if "place" in message and now - looked_at >= (PLACE_S if n_shown else SNAPSHOT_S):
                    looked_at, n_shown = now, 1
                    yield json.dumps({"waiting": {"place": message["place"], "seconds": message["seconds"]}})
                continue
            n_events, since = run.n_events, now - looked_at
            is_due = since >= KEEP_S or (since >= SNAPSHOT_S and n_events >= GROWN * n_shown)
            if is_due and run.finish_reason is None:
                looked_at, n_shown = now, n_events
                yield run.trace().to_json()
    if order.trace is not None and order.why_early is None:
        yield order.trace.to_json()


class RecordedRuns:
    """The traces that a program may name instead of sending one: those of the index, and nothing else on the disk."""

    def __init__(self, folder: Path, presets: Sequence[RecordedRun]) -> None:
        self.presets = tuple(presets)
        self._folder = folder
        self._by_name = {preset.file.removesuffix(".json"): preset for preset in presets}

    def trace(self, document: object, name: object) -> RoutingTrace:
        """The trace that is given as JSON text, or the recorded run of that name where none is.

        Raises:
            SettingError: neither is given, or there is no such run.
            TraceError: the document is not a trace of this project.
        """
        if is_given(document):
            return RoutingTrace.from_json(document)
        return RoutingTrace.from_json((self._folder / self._named(name).file).read_bytes())

    def probe(self, name: object) -> list[dict[str, Any]] | None:
        """The probe that was stored beside the recorded run of that name, None where there is none.

        Raises:
            SettingError: there is no such run.
            TraceError: the file is damaged.
        """
        preset = self._named(name)
        return read_probe(self._folder, preset.file) if preset.is_probed else None

    def _named(self, name: object) -> RecordedRun:
        preset = self._by_name.get(name.removesuffix(".json")) if isinstance(name, str) else None
        if preset is None:
            raise SettingError(
                f"Give a trace as JSON text, or as preset one of: {', '.join(self._by_name)}."
                + (f" The given one, {excerpt(name)}, is not one of them." if name else "")
            )
        return preset


def is_given(document: object) -> bool:
    """Whether there is a trace to be read, however wrong it may be."""
    return document is not None and document != ""


def json_of(value: object) -> str:
    """An answer as one JSON text."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _probed(trace: RoutingTrace, engine: "Engine", _: IsEnded) -> Steps:
    from citer_core.routing.probe import probe_trace  # torch, which the page must not wait for

    yield {"tokens": [token.to_dict() for token in probe_trace(engine.pair, trace)]}


class Api:
    """The functions behind the endpoints, by their names.

    Args:
        runs: that may be named instead of sent.
        desk, line: of runs, and of other computations.
        slot: of the engine.
        book: the bundled problems, whose answers are known.
    """

    NAMES = ("route_trace", "replay", "probe", "list_presets", "list_routers")

    def __init__(self, runs: RecordedRuns, desk: RunDesk, line: JobLine, slot: EngineSlot, book: ProblemBook) -> None:
        self._runs, self._desk, self._line, self._slot, self._book = runs, desk, line, slot, book

    def functions(self) -> dict[str, Callable[..., Any]]:
        """All of them, by name."""
        return {name: getattr(self, name) for name in self.NAMES}

    # Annotated with the type of one yielded value, which gradio puts in the documentation.
    async def route_trace(  # type: ignore[misc]
        self,
        question: str,
        data_type: Literal["math", "mc", "open"] = "math",
        settings: str = "",
        router: str = "",
        request: Any = None,  # filled in by the code that exposes it, and hidden
    ) -> str:
        """Answers a question with both models and yields the routed run as a trace, growing until complete.
        The LLM writes a token when slm_confidence < threshold (tau): 0 gives every token to the SLM, 1 to the LLM.

        Args:
            question: the problem; for "mc" its choices follow, one a line ("A. Paris").
            data_type: "math", "mc" (multiple choice) or "open" (the text itself is the prompt).
            settings: of decoding, as one JSON object such as {"threshold": 0.7}; "" takes the defaults. SETTINGS.
            router: a router's name; "" takes the default.

        Returns:
            A "citer-trace" document as JSON text. Each of its events holds token, text, source ("slm" or "llm"),
            slm_confidence and the measured seconds. `finish_reason` is null until the last snapshot. A run that has to
            wait for its turn yields {"waiting": {"place": 12, "seconds": 9.5}} before it, seconds being null where
            that is not known.
        """
        asked = asked_run(self._book, question=question, data_type=data_type, router=router, settings=settings)
        await wait_loaded(self._slot)

        def start(engine: "Engine") -> "Run":
            return engine.start(asked.problem, router=asked.router, settings=asked.settings)

        visitor = Visitor.of(request)
        order = self._desk.ask(start, visitor.tab, visitor.address, visitor.request_id)
        try:
            async with aclosing(_snapshots(self._desk, order)) as documents:
                async for document in documents:
                    yield document
        finally:
            self._desk.cancel(order)  # does nothing to one that has ended
        if order.error is not None:
            raise order.error
        if order.why_early is not None:
            raise StoppedError(order.why_early)

    def replay(self, trace: str = "", threshold: float = 0.5, preset: str = "") -> str:
        """Decides a finished run again at another tau, without running any model.
        The first n_exact tokens are exactly the same ones; from there on the text may differ, so decisions
        and cost are hypothetical.

        Args:
            trace: a "citer-trace" document as JSON text, as /route_trace gives it; or "", and name a preset.
            threshold: tau from 0 to 1; the LLM writes a token when slm_confidence < tau.
            preset: the name of a recorded run from /list_presets; ignored where a trace is given.

        Returns:
            JSON text: decisions ("slm" or "llm" per token), first_flip (null where no writer changes), n_flips,
            n_exact, is_same_text, doubt (why n_exact is not all: "other", the token would be another one; "unknown",
            what the LLM would write there is not known; "confidence", this router looks at who wrote before), n_tokens,
            n_llm_tokens, llm_token_share, decisive_tokens (indices that the LLM writes and the SLM would have written
            otherwise), n_decisive_unknown, n_hand_offs, llm_tokens_fed per token, and the estimated cost (bytes,
            flops, seconds on an H100's data sheet) routed, with the SLM only and with the LLM only.
        """
        probe = None if is_given(trace) else self._runs.probe(preset)
        return json_of(replay_trace(self._runs.trace(trace, preset), threshold, probe=probe).to_dict())

    async def probe(
        self,
        trace: str = "",
        preset: str = "",
        request: Any = None,  # filled in by the code that exposes it, and hidden
    ) -> str:
        """Asks the LLM at every token of a finished run, in one pass over its text; nothing is generated.
        The run must have been made by the pair that this server has loaded, or be a recorded run with a probe.

        Args:
            trace: a "citer-trace" document as JSON text, as /route_trace gives it; or "", and name a preset.
            preset: the name of a recorded run from /list_presets; ignored where a trace is given.

        Returns:
            JSON text, one entry per token, in order: slm_top and llm_top (five most probable tokens as [token id, text,
            probability]), slm_entropy and llm_entropy (nats), kl (KL divergence of the SLM from the LLM, in nats) and
            agree (do both models' greedy tokens agree?).
        """
        if not is_given(trace) and (stored := self._runs.probe(preset)) is not None:
            return json_of(stored)
        run = self._runs.trace(trace, preset)  # before the wait for the models
        await wait_loaded(self._slot)
        answer: list[dict[str, Any]] = []
        visitor = Visitor.of(request)
        async for message in self._line.run(partial(_probed, run), visitor.tab, visitor.address):
            answer = message["tokens"] if isinstance(message, dict) and "tokens" in message else answer
        return json_of(answer)

    def list_presets(self) -> str:
        """Lists the recorded runs that come with this page.

        Returns:
            JSON text, one entry per run: preset (its name for /replay and /probe), title, subtitle, data_type,
            threshold (tau), n_tokens, llm_token_share and is_correct (null where no answer is known).
        """
        return json_of(
            [
                {
                    "preset": preset.file.removesuffix(".json"),
                    "title": preset.title,
                    "subtitle": preset.subtitle,
                    "data_type": preset.data_type,
                    "threshold": preset.tau,
                    "n_tokens": preset.n_tokens,
                    "llm_token_share": preset.llm_token_share,
                    "is_correct": preset.is_correct,
                }
                for preset in self._runs.presets
            ]
        )

    async def list_routers(self) -> str:
        """Lists the routers of the loaded pair: what decides at each token which model writes it.

        Returns:
            JSON text, one entry per router: router (its name for /route_trace), threshold (the tau that it recommends)
            and is_default.
        """
        await wait_loaded(self._slot)
        with self._slot.lease() as lease:
            engine = lease.wait(0)
            if engine is None:
                raise SettingError(LOADING)
            return json_of(
                [
                    {
                        "router": name,
                        "threshold": engine.default_threshold(name),
                        "is_default": name == engine.default_router,
                    }
                    for name in engine.router_names
                ]
            )


Api.route_trace.__doc__ = (Api.route_trace.__doc__ or "").replace("SETTINGS", f"It may hold: {settings_words()}")
