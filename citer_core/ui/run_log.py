"""One line of the log for each run: how long, how many tokens, how it ended, and the id of the request that asked.

No text of a question or an answer, and of the run's id, which is the permission to see it, only the beginning.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import gradio as gr

from citer_core.web.request_log import REQUEST_ID

if TYPE_CHECKING:
    from citer_core.engine import Run

logger = logging.getLogger(__name__)
SHOWN_CHARS = 6


@contextlib.contextmanager
def logged_run(run: Run, request: gr.Request | None) -> Iterator[None]:
    """Around the decoding of a run; logs when it has ended, however it did.

    Args:
        run: that begins now.
        request: who asked; None in a direct call.
    """
    began = time.perf_counter()
    try:
        yield
    finally:
        trace = run.trace()
        fields = {
            "run": run.id[:SHOWN_CHARS],
            "finish": run.finish_reason,
            "tokens": trace.n_tokens,
            "llm_tokens": sum(event.source == "llm" for event in trace.events),
            "seconds": round(time.perf_counter() - began, 3),
            "request_id": _request_id(request),
        }
        logger.info("run", extra={"fields": fields})


def _request_id(request: gr.Request | None) -> str | None:
    headers = getattr(request, "headers", None)
    return headers.get(REQUEST_ID) if headers is not None else None
