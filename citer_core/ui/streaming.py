"""A run as messages for the viewer: `{run, head, base, tokens, end}`, a batch about every 100 ms.

Deltas, never a growing list: a list that grows costs the browser quadratic time. The first token goes out at once.
Called by the page's generate event and by the repair of a gap; knows nothing about components.
"""

from __future__ import annotations

import itertools
import json
import logging
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from citer_core.errors import CiterError
from citer_core.trace import event_to_dict
from citer_core.types import MAX_NEW_TOKENS
from citer_core.ui.run_registry import RunRegistry

if TYPE_CHECKING:
    from citer_core.run import Run

logger = logging.getLogger(__name__)
Message = dict[str, Any]
INTERVAL_S = 0.1
UNEXPECTED = "Something went wrong on the server and this run ended early; the server's log says what. Try it again."
_notice_numbers = itertools.count()


def stream_run(run: Run, interval_s: float = INTERVAL_S) -> Iterator[Message]:
    """Decodes `run` and hands out its messages; a consumer that goes away cancels it."""
    head: Message | None = _head(run)
    base, tokens, flushed_at, error = 0, [], float("-inf"), None
    try:
        try:
            for event in run:
                tokens.append(event_to_dict(event))
                if time.monotonic() - flushed_at >= interval_s:
                    yield _message(run, head, base, tokens)
                    head, base, tokens, flushed_at = None, base + len(tokens), [], time.monotonic()
        except CiterError as problem:
            error = str(problem)
        except Exception:
            logger.exception("run %s failed", run.id[:6])
            error = UNEXPECTED
        yield _message(run, head, base, tokens, _end(run, error))
    finally:
        run.cancel()  # does nothing to a run that has ended


def missing_part(registry: RunRegistry, request: object) -> Message:
    """Answers a viewer that missed a message: everything of its run from token `base` on.

    Args:
        request: `{"run": id, "base": n}` from the browser, so anything at all.

    Returns:
        A message, or `{"error": text}` where the request is wrong or the run is gone.
    """
    run_id, base = (request.get("run"), request.get("base")) if isinstance(request, dict) else (None, None)
    if not isinstance(run_id, str) or not isinstance(base, int) or isinstance(base, bool):
        return {"error": 'Ask for {"run": id, "base": number of tokens that are there}.'}
    run = registry.get(run_id)
    if run is None or not 0 <= base <= MAX_NEW_TOKENS:
        return {"error": "The server no longer keeps this run."}
    reason = (
        run.finish_reason
    )  # before the snapshot: a run that ends in between is reported as ended by its last message
    tokens = [event_to_dict(event) for event in run.trace().events[base:]]
    end = None if reason is None else _end(run, (run.error or UNEXPECTED) if reason == "error" else None)
    return _message(run, _head(run) if base == 0 else None, base, tokens, end)


def notice(text: str, level: str = "error") -> Message:
    """A message that is not about a run: bad input, a wait. Numbered: gradio drops a value equal to the last one."""
    return {"notice": text, "level": level, "number": next(_notice_numbers)}


def encode(message: Message) -> str:
    """A message as the text value of the viewer component.

    One string rather than a dict: gradio then sends it whole instead of comparing it leaf by leaf with the last one.
    `<` is escaped so that no token text can look like markup on the way.
    """
    return json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def _message(run: Run, head: Message | None, base: int, tokens: list[Message], end: Message | None = None) -> Message:
    return {"run": run.id, "head": head, "base": base, "tokens": tokens, "end": end}


def _head(run: Run) -> Message:
    return {name: value for name, value in run.trace().to_dict().items() if name != "events"}


def _end(run: Run, error: str | None) -> Message:
    trace = run.trace().to_dict()
    return {"finish_reason": trace["finish_reason"] or "error", "answer": trace["answer"], "error": error}
