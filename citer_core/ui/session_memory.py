"""What gradio keeps of every session, and letting go of it: 150 kB of components, and the last value of each.

gradio holds the last 10,000 sessions, a caller of the API being one, and drops nothing of them when a page is closed;
a value of ours may be 2 MB. It counts all events again after each one, with pandas. Reaches into gradio 6.31's objects,
calmly where they are not as they were. Called by `page`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

import gradio as gr
from starlette.requests import HTTPConnection
from starlette.types import Scope

# A page that is not among the last so many to have asked for anything is treated as one that was opened anew, which
# costs it nothing: no event of ours reads gradio's state.
MOST_SESSIONS = 200
MOST_COUNTED_EVENTS = 100


def count_less() -> None:
    """Leaves gradio's statistics of events out, unless the host's variables want them; before a queue is made."""
    os.environ.setdefault("GRADIO_ANALYTICS_MAX_EVENTS", str(MOST_COUNTED_EVENTS))
    os.environ.setdefault("GRADIO_ANALYTICS_CACHE_FREQUENCY", str(10**9))


def forget_value(page: gr.Blocks, session: str, component: gr.HTML) -> None:
    """Drops the last value of a component that a session was sent."""
    with _calm():
        state = page.state_holder.session_data.get(session)
        values = None if state is None else state.config_values.get(component._id)
        if values and "props" in values:
            values["props"]["value"] = None


def forget_session(page: gr.Blocks, session: str) -> None:
    """Drops everything of a session whose page was closed: also what was not delivered to it."""
    with _calm():
        holder, queue = page.state_holder, page._queue
        with holder.lock:
            holder.session_data.pop(session, None)
            holder.time_last_used.pop(session, None)
        if not queue.pending_event_ids_session.get(session):  # else somebody may still listen
            queue.pending_messages_per_session.pop(session, None)


async def drop_unread(page: gr.Blocks, session: str) -> None:
    """Ends the events of a session that nobody listens to, and drops what they gave."""
    with _calm():
        await page._queue.clean_events(session_hash=session)
        page._queue.pending_event_ids_session.pop(session, None)
    forget_session(page, session)


def is_known(app: Any, scope: Scope) -> bool:
    """Whether a request has the cookie of somebody who has logged in."""
    cookies = HTTPConnection(scope).cookies
    names = (f"access-token-{app.cookie_id}", f"access-token-unsecure-{app.cookie_id}")
    return any(cookies.get(name) in app.tokens for name in names)


@contextlib.contextmanager
def _calm() -> Iterator[None]:
    """Memory that is kept is no reason for an event to fail."""
    with contextlib.suppress(AttributeError, KeyError, TypeError):
        yield
