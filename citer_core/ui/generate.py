"""The generate event: the values of the controls in, messages for the viewer out.

Every `CiterError` becomes a calm notice on the page. Knows the order of the inputs (`Controls.asked`), no component.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import gradio as gr

from citer_core.errors import CiterError, RouterError
from citer_core.gate.excerpt import excerpt
from citer_core.ui.engine_slot import EngineSlot
from citer_core.ui.problem_book import ProblemBook
from citer_core.ui.run_asked import asked_run
from citer_core.ui.run_log import logged_run
from citer_core.ui.run_registry import RunRegistry, session_of
from citer_core.ui.streaming import encode, notice, stream_run

# Between two looks at a loading engine the generator yields, which is where a closed page ends it.
WAIT_S = 0.25


def generate_event(slot: EngineSlot, registry: RunRegistry, book: ProblemBook) -> Callable[..., Iterator[str]]:
    """Makes the generator behind the Generate button."""

    def generate(
        text: object,
        data_type: object,
        threshold: object,
        router: object,
        max_new_tokens: object,
        temperature: object,
        top_p: object,
        seed: object,
        request: gr.Request,
    ) -> Iterator[str]:
        with slot.lease() as lease:
            try:
                asked = asked_run(
                    book,
                    question=text,
                    data_type=data_type,
                    threshold=threshold,
                    router=router,
                    max_new_tokens=max_new_tokens,
                    temperature=temperature,
                    top_p=top_p,
                    seed=seed,
                )
                while (engine := lease.wait(WAIT_S)) is None:
                    yield encode(notice("The models are loading; your run starts as soon as they are ready.", "wait"))
                if asked.router and asked.router not in engine.router_names:
                    raise RouterError(
                        f"{engine.pair_info.name} is loaded and has no router {excerpt(asked.router)}: perhaps the "
                        "pair was changed meanwhile. Choose one of its routers, which this page lists in a moment, "
                        "and generate again."
                    )
                run = engine.start(asked.problem, router=asked.router, settings=asked.settings)
            except CiterError as error:
                yield encode(notice(str(error)))
                return
            registry.add(run, session_of(request))
            with logged_run(run, request):
                yield from map(encode, stream_run(run))

    return generate
