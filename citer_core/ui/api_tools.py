"""The documented endpoints beside `/route_trace`: `/replay`, `/probe`, `/list_presets`, `/list_routers`.

Each is an ordinary typed function; gradio makes an HTTP endpoint, a client method and an MCP tool of it, and its
docstring is what people and language models read there. No `from __future__ import annotations` here, for that reason.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gradio as gr

from citer_core.errors import CiterError, SettingError
from citer_core.recording import read_probe
from citer_core.replay import replay as replay_trace
from citer_core.trace import RoutingTrace
from citer_core.ui.api import loaded_engine
from citer_core.ui.engine_slot import EngineSlot
from citer_core.ui.presets import Preset


class RecordedRuns:
    """The traces that a program may name instead of sending one: those of the index, and nothing else on the disk."""

    def __init__(self, folder: Path, presets: Sequence[Preset]) -> None:
        self.presets = tuple(presets)
        self._folder = folder
        self._by_name = {preset.file.removesuffix(".json"): preset for preset in presets}

    def trace(self, document: object, name: object) -> RoutingTrace:
        """The document itself, or the recorded run of that name where there is none.

        Raises:
            SettingError: neither is given, or there is no such run.
            TraceError: the document is no trace of ours.
        """
        if document:
            return RoutingTrace.from_dict(document)
        return RoutingTrace.from_json((self._folder / self._named(name).file).read_text(encoding="utf-8"))

    def probe(self, document: object, name: object) -> list[dict[str, Any]] | None:
        """The probe that was stored beside the recorded run of that name, None for a document or where there is none.

        Raises:
            SettingError: neither is given, or there is no such run.
            TraceError: the file is damaged.
        """
        if document or not (preset := self._named(name)).is_probed:
            return None
        return read_probe(self._folder, preset.file)

    def _named(self, name: object) -> Preset:
        preset = self._by_name.get(name.removesuffix(".json")) if isinstance(name, str) else None
        if preset is None:
            raise SettingError(
                f"Give a trace, or as preset one of: {', '.join(self._by_name)}."
                + (f" There is no {name!r}." if name else "")
            )
        return preset


def replay_endpoint(runs: RecordedRuns) -> Callable[..., Any]:
    """Makes the function behind `/replay`."""

    def replay(trace: dict[str, Any] | None = None, threshold: float = 0.5, preset: str = "") -> dict[str, Any]:
        """Decides a finished run again at another tau, without running any model.
        The first n_exact tokens are exactly the same ones; from there on the text may be another one, so decisions
        and cost are hypothetical.

        Args:
            trace: a "citer-trace" document, as /route_trace gives it; or nothing, and name a preset.
            threshold: tau from 0 to 1; the LLM writes a token when slm_confidence < tau.
            preset: the name of a recorded run from /list_presets; only read where there is no trace.

        Returns:
            decisions ("slm" or "llm" per token), first_flip (null where no writer changes), n_flips, n_exact,
            is_same_text, doubt (why n_exact is not all: "other", the token would be another one; "unknown", what the
            LLM would write there is not known; "confidence", this router looks at who wrote before), n_tokens,
            n_llm_tokens, llm_token_share, decisive_tokens (indices that the LLM writes and the SLM would have written
            otherwise), n_decisive_unknown, n_hand_offs, llm_tokens_fed per token, and the estimated cost (bytes,
            flops, seconds on an H100's data sheet) routed, with the SLM only and with the LLM only.
        """
        try:
            return replay_trace(runs.trace(trace, preset), threshold, probe=runs.probe(trace, preset)).to_dict()
        except CiterError as error:
            raise gr.Error(str(error), print_exception=False) from error

    return replay


def probe_endpoint(slot: EngineSlot, runs: RecordedRuns) -> Callable[..., Any]:
    """Makes the function behind `/probe`."""

    def probe(trace: dict[str, Any] | None = None, preset: str = "") -> list[dict[str, Any]]:
        """Asks the LLM at every token of a finished run, in one pass over its text; nothing is generated.
        The run must have been made by the pair that this server has loaded, or be a recorded run with a probe.

        Args:
            trace: a "citer-trace" document, as /route_trace gives it; or nothing, and name a preset.
            preset: the name of a recorded run from /list_presets; only read where there is no trace.

        Returns:
            One entry per token, in order: slm_top and llm_top (five most probable tokens as [token id, text,
            probability]), slm_entropy and llm_entropy (nats), kl (KL divergence of the SLM from the LLM, in nats) and
            agree (do both models' greedy tokens agree?).
        """
        try:
            if (stored := runs.probe(trace, preset)) is not None:
                return stored
            with slot.lease() as lease:
                engine = loaded_engine(lease)
                from citer_core.routing.probe import probe_trace  # torch, which the page must not wait for

                return [token.to_dict() for token in probe_trace(engine.pair, runs.trace(trace, preset))]
        except CiterError as error:
            raise gr.Error(str(error), print_exception=False) from error

    return probe


def list_presets_endpoint(runs: RecordedRuns) -> Callable[..., Any]:
    """Makes the function behind `/list_presets`."""

    def list_presets() -> list[dict[str, Any]]:
        """Lists the recorded runs that come with this page.

        Returns:
            One entry per run: preset (its name for /replay and /probe), title, subtitle, data_type, threshold (tau),
            n_tokens, llm_token_share and is_correct (null where no answer is known).
        """
        return [
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

    return list_presets


def list_routers_endpoint(slot: EngineSlot) -> Callable[..., Any]:
    """Makes the function behind `/list_routers`."""

    def list_routers() -> list[dict[str, Any]]:
        """Lists the routers of the loaded pair: what decides at each token which model writes it.

        Returns:
            One entry per router: router (its name for /route_trace), threshold (the tau that it recommends) and
            is_default.
        """
        try:
            with slot.lease() as lease:
                engine = loaded_engine(lease)
                return [
                    {
                        "router": name,
                        "threshold": engine.default_threshold(name),
                        "is_default": name == engine.default_router,
                    }
                    for name in engine.router_names
                ]
        except CiterError as error:
            raise gr.Error(str(error), print_exception=False) from error

    return list_routers
