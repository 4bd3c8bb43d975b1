"""One line of the log for each run: how long, how many tokens, how it ended, and the id of the request that asked.

No text of a question or an answer, and of the run's id, which is the permission to see it, only the beginning.
"""

from __future__ import annotations

import logging
from typing import Any

from citer_core.trace import RoutingTrace
from citer_core.web.request_log import REQUEST_ID

logger = logging.getLogger(__name__)
SHOWN_CHARS = 6


def log_run(run_id: str, trace: RoutingTrace, seconds: float, request_id: str | None) -> None:
    """Logs a run that has ended, however it did.

    Args:
        run_id: of the run.
        trace: the whole run.
        seconds: since its first step.
        request_id: of whoever asked; None in a direct call.
    """
    fields = {
        "run": run_id[:SHOWN_CHARS],
        "finish": trace.finish_reason,
        "tokens": trace.n_tokens,
        "llm_tokens": sum(event.source == "llm" for event in trace.events),
        "seconds": round(seconds, 3),
        "request_id": request_id,
    }
    logger.info("run", extra={"fields": fields})


def request_id_of(request: Any) -> str | None:
    """The id that the request log gave a request; None in a direct call."""
    headers = getattr(request, "headers", None)
    return headers.get(REQUEST_ID) if headers is not None else None
