"""The generate event: what the page asks for in, messages for the viewer out.

Every `CiterError` becomes a calm notice on the page. Knows no component; what a request says is read by `asked`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING

import gradio as gr

from citer_core.errors import CiterError, RouterError
from citer_core.gate.excerpt import excerpt
from citer_core.ui.problem_book import ProblemBook
from citer_core.ui.run.asked import read_asked
from citer_core.ui.run.desk import RunDesk
from citer_core.ui.run.log import request_id_of
from citer_core.ui.run.registry import address_of, session_of
from citer_core.ui.run.stream import follow
from citer_core.ui.streaming import encode, notice

if TYPE_CHECKING:
    from citer_core.engine import Engine
    from citer_core.run import Run


def generate_event(desk: RunDesk, book: ProblemBook) -> Callable[..., AsyncGenerator[str, None]]:
    """Makes the generator behind the Generate button."""

    async def generate(text: object, request: gr.Request) -> AsyncGenerator[str, None]:
        try:
            asked = read_asked(book, text)

            def start(engine: Engine) -> Run:
                if asked.router and asked.router not in engine.router_names:
                    raise RouterError(
                        f"{engine.pair_info.name} is loaded and has no router {excerpt(asked.router)}: perhaps the "
                        "pair was changed meanwhile. Choose one of its routers, which this page lists in a moment, "
                        "and generate again."
                    )
                return engine.start(asked.problem, router=asked.router, settings=asked.settings)

            order = desk.ask(start, session_of(request), address_of(request), request_id_of(request))
        except CiterError as error:
            yield encode(notice(str(error)))
            return
        async with aclosing(follow(desk, order)) as messages:
            async for message in messages:
                yield encode(message)

    return generate
