"""The documented endpoint `/route_trace`: what the page does, for programs.

All endpoints answer with one JSON text, and take a trace as one. An object would be searched by gradio for what looks
like a file of its own, on the way in and out; and its MCP server would write an answer as Python does, not as JSON.

No `from __future__ import annotations` here: whoever exposes a function reads its types without resolving strings.
"""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Literal

from citer_core.decode_settings import settings_words
from citer_core.errors import SettingError, StoppedError
from citer_core.serving.wake import Wake
from citer_core.ui.pair.engine_slot import EngineSlot
from citer_core.ui.problem_book import ProblemBook
from citer_core.ui.run.asked import asked_run
from citer_core.ui.run.desk import RunDesk
from citer_core.ui.run.log import request_id_of
from citer_core.ui.run.order import Order
from citer_core.ui.run.registry import Caller, address_of, session_of
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


def route_trace_endpoint(desk: RunDesk, slot: EngineSlot, book: ProblemBook) -> Callable[..., Any]:
    """Makes the generator behind the endpoint."""

    # Annotated with the type of one yielded value, which gradio puts in the documentation.
    async def route_trace(  # type: ignore[misc]
        question: str,
        data_type: Literal["math", "mc", "open"] = "math",
        settings: str = "",
        router: str = "",
        request: Caller | None = None,  # filled in by whoever exposes it, and hidden
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
        asked = asked_run(book, question=question, data_type=data_type, router=router, settings=settings)
        await wait_loaded(slot)

        def start(engine: "Engine") -> "Run":
            return engine.start(asked.problem, router=asked.router, settings=asked.settings)

        order = desk.ask(start, session_of(request), address_of(request), request_id_of(request))
        try:
            async with aclosing(_snapshots(desk, order)) as documents:
                async for document in documents:
                    yield document
        finally:
            desk.cancel(order)  # does nothing to one that has ended
        if order.error is not None:
            raise order.error
        if order.why_early is not None:
            raise StoppedError(order.why_early)

    route_trace.__doc__ = (route_trace.__doc__ or "").replace("SETTINGS", f"It may hold: {settings_words()}")
    return route_trace


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
