"""The generate event: the values of the controls in, messages for the viewer out.

Every `CiterError` becomes a calm notice on the page. Knows the order of the inputs (`Controls.asked`), no component.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import gradio as gr

from citer_core.errors import CiterError, RouterError
from citer_core.types import DecodeSettings
from citer_core.ui.engine_slot import EngineSlot
from citer_core.ui.problem_book import ProblemBook
from citer_core.ui.run_log import logged_run
from citer_core.ui.run_registry import RunRegistry, session_of
from citer_core.ui.streaming import encode, notice, stream_run

# Between two looks at a loading engine the generator yields, which is where a closed page ends it.
WAIT_S = 0.25


def generate_event(slot: EngineSlot, registry: RunRegistry, book: ProblemBook) -> Callable[..., Iterator[str]]:
    """Makes the generator behind the Generate button."""

    def generate(
        text: str | None,
        data_type: Any,
        threshold: float,
        router: str | None,
        max_new_tokens: int,
        temperature: float,
        top_p: float,
        seed: int,
        request: gr.Request,
    ) -> Iterator[str]:
        with slot.lease() as lease:
            try:
                settings = DecodeSettings(threshold, max_new_tokens, temperature, top_p, seed)
                problem = book.problem(text or "", data_type)
                while (engine := lease.wait(WAIT_S)) is None:
                    yield encode(notice("The models are loading; your run starts as soon as they are ready.", "wait"))
                if router and router not in engine.router_names:
                    raise RouterError(
                        f'{engine.pair_info.name} is loaded and has no router "{router}": perhaps the pair was changed '
                        "meanwhile. Choose one of its routers, which this page lists in a moment, and generate again."
                    )
                run = engine.start(problem, router=router or None, settings=settings)
            except CiterError as error:
                yield encode(notice(str(error)))
                return
            registry.add(run, session_of(request))
            with logged_run(run, request):
                yield from map(encode, stream_run(run))

    return generate
