"""The documented endpoints beside `/route_trace`: `/replay`, `/probe`, `/list_presets`, `/list_routers`.

Each is an ordinary typed function; `server` has gradio make an HTTP endpoint, a client method and an MCP tool of it,
and its docstring is what people and language models read there. No `from __future__ import annotations` here, for
that reason.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from citer_core.errors import SettingError
from citer_core.gate.excerpt import excerpt
from citer_core.recording import read_probe
from citer_core.replay import replay as replay_trace
from citer_core.trace import RoutingTrace
from citer_core.ui.events.route_trace import LOADING, wait_loaded
from citer_core.ui.job_line import JobLine
from citer_core.ui.pair.engine_slot import EngineSlot
from citer_core.ui.presets import Preset
from citer_core.ui.run.registry import Caller, address_of, session_of
from citer_core.ui.streaming import Message


class RecordedRuns:
    """The traces that a program may name instead of sending one: those of the index, and nothing else on the disk."""

    def __init__(self, folder: Path, presets: Sequence[Preset]) -> None:
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

    def _named(self, name: object) -> Preset:
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


def replay_endpoint(runs: RecordedRuns) -> Callable[..., Any]:
    """Makes the function behind `/replay`."""

    def replay(trace: str = "", threshold: float = 0.5, preset: str = "") -> str:
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
        probe = None if is_given(trace) else runs.probe(preset)
        return json_of(replay_trace(runs.trace(trace, preset), threshold, probe=probe).to_dict())

    return replay


def probe_endpoint(line: JobLine, slot: EngineSlot, runs: RecordedRuns) -> Callable[..., Any]:
    """Makes the function behind `/probe`."""

    async def probe(
        trace: str = "",
        preset: str = "",
        request: Caller | None = None,  # filled in by whoever exposes it, and hidden
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
        if not is_given(trace) and (stored := runs.probe(preset)) is not None:
            return json_of(stored)
        run = runs.trace(trace, preset)  # before anybody waits for the models
        await wait_loaded(slot)
        answer: list[dict[str, Any]] = []
        async for message in line.run(lambda: _probed(slot, run), session_of(request), address_of(request)):
            answer = message["tokens"] if isinstance(message, dict) and "tokens" in message else answer
        return json_of(answer)

    return probe


def _probed(slot: EngineSlot, trace: RoutingTrace) -> Iterator[Message]:
    with slot.lease() as lease:
        engine = lease.wait(0)
        if engine is None:
            raise SettingError(LOADING)
        from citer_core.routing.probe import probe_trace  # torch, which the page must not wait for

        yield {"tokens": [token.to_dict() for token in probe_trace(engine.pair, trace)]}


def list_presets_endpoint(runs: RecordedRuns) -> Callable[..., Any]:
    """Makes the function behind `/list_presets`."""

    def list_presets() -> str:
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
                for preset in runs.presets
            ]
        )

    return list_presets


def list_routers_endpoint(slot: EngineSlot) -> Callable[..., Any]:
    """Makes the function behind `/list_routers`."""

    async def list_routers() -> str:
        """Lists the routers of the loaded pair: what decides at each token which model writes it.

        Returns:
            JSON text, one entry per router: router (its name for /route_trace), threshold (the tau that it recommends)
            and is_default.
        """
        await wait_loaded(slot)
        with slot.lease() as lease:
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

    return list_routers
