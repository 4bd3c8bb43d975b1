"""The documented endpoint `/route_trace`: what the page does, for programs.

All endpoints answer with one JSON text, and take a trace as one. An object would be searched by gradio for what looks
like a file of its own, on the way in and out; and its MCP server would write an answer as Python does, not as JSON.

No `from __future__ import annotations` here: gradio reads the return type without resolving strings.
"""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import gradio as gr

from citer_core.errors import CiterError, SettingError
from citer_core.ui.engine_slot import EngineSlot, Lease
from citer_core.ui.problem_book import ProblemBook
from citer_core.ui.run_asked import asked_run
from citer_core.ui.run_log import logged_run
from citer_core.ui.run_registry import RunRegistry, session_of

if TYPE_CHECKING:
    from citer_core.engine import Engine

SNAPSHOT_S = 0.5
LOAD_TIMEOUT_S = 120.0


def loaded_engine(lease: Lease) -> "Engine":
    """The engine, waited for.

    Raises:
        SettingError: it is still loading.
        CiterError: it could not be loaded.
    """
    engine = lease.wait(LOAD_TIMEOUT_S)
    if engine is None:
        raise SettingError("The models are still loading: ask again in a minute.")
    return engine


def route_trace_endpoint(slot: EngineSlot, registry: RunRegistry, book: ProblemBook) -> Callable[..., Any]:
    """Makes the generator behind the endpoint."""

    # Annotated as gradio wants it: with the type of one yielded value, which it puts in the documentation.
    def route_trace(  # type: ignore[misc]
        question: str,
        data_type: Literal["math", "mc", "open"] = "math",
        threshold: float = 0.7,
        router: str = "",
        max_new_tokens: int = 256,
        seed: int = 0,
        temperature: float = 0.0,
        request: gr.Request | None = None,  # gradio fills it in and hides it
    ) -> str:
        """Answers a question with both models and yields the routed run as a trace, growing until complete.
        The LLM writes a token when slm_confidence < threshold (tau): 0 gives every token to the SLM, 1 to the LLM.

        Args:
            question: the problem; for "mc" its choices follow, one a line ("A. Paris").
            data_type: "math", "mc" (multiple choice) or "open" (the text itself is the prompt).
            threshold: tau from 0 to 1; the LLM writes a token when slm_confidence < tau. 0: all SLM, 1: all LLM.
            router: a router's name; "" takes the default.
            max_new_tokens: 1 to 4096.
            seed: of the random numbers, up to 15 digits; only used when temperature is above 0.
            temperature: 0 (greedy) to 2.

        Returns:
            A "citer-trace" document as JSON text. Each of its events holds token, text, source ("slm" or "llm"),
            slm_confidence and the measured seconds. `finish_reason` is null until the last snapshot.
        """
        try:
            asked = asked_run(
                book,
                question=question,
                data_type=data_type,
                threshold=threshold,
                router=router,
                max_new_tokens=max_new_tokens,
                temperature=temperature,
                top_p=1.0,
                seed=seed,
            )
            with slot.lease() as lease:
                run = loaded_engine(lease).start(asked.problem, router=asked.router, settings=asked.settings)
                registry.add(run, session_of(request))
                try:
                    snapshot_at = time.monotonic()
                    with logged_run(run, request):
                        for _ in run:
                            if time.monotonic() - snapshot_at >= SNAPSHOT_S:
                                yield run.trace().to_json()
                                snapshot_at = time.monotonic()
                    yield run.trace().to_json()
                finally:
                    run.cancel()  # does nothing to a run that has ended
        except CiterError as error:
            raise gr.Error(str(error), print_exception=False) from error

    return route_trace
