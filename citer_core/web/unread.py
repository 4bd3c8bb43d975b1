"""`Unread`: how many answers may wait for a reader, and for how long.

Gradio keeps what an event gave until the session's stream is read, for ever if it is not read; an answer may have
megabytes. So a session has few unanswered events, those of sessions without a listener are bounded, and
what is not fetched is dropped. Knows the routes of the queue. Called behind `bodies`.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from urllib.parse import parse_qs

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from citer_core.web.bodies import SESSION
from citer_core.web.open_routes import API
from citer_core.web.refusal import address_of, refuse, route_path

# Events. A class behind one address asks at once.
MOST_OF_A_SESSION = 64
MOST_UNHEARD, MOST_UNHEARD_OF_ONE = 640, 480  # in all, from one address
GRACE_S = 2.0  # a program asks for an event, then for its stream
PATIENCE_S = 60.0
MOST_SESSIONS = 10_000
UNREAD = "Answers that were asked for are not read: read them, or ask for fewer at once."
NO_SESSION = "There is no such session or event here: ask for an event first, and read it within a minute."
_JOINED = re.compile(f"{API}/(?:queue/join|call/(?:v2/)?[^/]+/?)")
_STREAM = re.compile(f"{API}/(?:queue/data|call/(?:v2/)?[^/]+/([^/]+))")
# The last words about an event, in the page's stream and in a program's.
_END, _ENDS_OF_ONE = b'"msg":"process_completed"', (b"event: complete", b"event: error")
_EVENT = re.compile(rb'"event_id":"([^"]+)"')


@dataclass(slots=True)
class _Session:
    """What one session waits for, since when it has no listener, and from where it asks."""

    address: str
    open: set[str] = field(default_factory=set)  # events
    n_listeners: int = 0
    unheard_since: float = 0.0


class Unread:
    """Middleware.

    Args:
        app: what is asked.
        forget: drops what waits for a session.
        patience_s: see above; tests have their own.
    """

    def __init__(
        self,
        app: ASGIApp,
        forget: Callable[[str], Awaitable[None]],
        *,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._app, self._forget, self._patience_s = app, forget, patience_s
        self._sessions: OrderedDict[str, _Session] = OrderedDict()
        self._session_of: OrderedDict[str, str] = OrderedDict()  # of an event
        self._tasks: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets an event in where there is room, and listens along to streams."""
        path = route_path(scope)
        if scope["method"] == "POST" and _JOINED.fullmatch(path):
            await self._join(scope, receive, send)
        elif scope["method"] == "GET" and (stream := _STREAM.fullmatch(path)):
            name = stream[1] or next(
                iter(parse_qs(scope["query_string"].decode("latin-1")).get("session_hash", [])), ""
            )
            await self._listen(self._session_of.get(name, name), stream[1], scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _join(self, scope: Scope, receive: Receive, send: Send) -> None:
        name, address = scope.get(SESSION), address_of(scope)
        session = self._sessions.get(name) if name else None
        is_heard = session is not None and session.n_listeners > 0
        has_room = session is None or len(session.open) < MOST_OF_A_SESSION
        if not has_room or not (is_heard or self._has_room(address)):
            await refuse(scope, receive, send, 503, UNREAD)
            return

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.body" and (event := _event_of(message.get("body", b""))):
                self._note(name or event, event, address)
            await send(message)

        await self._app(scope, receive, noted)

    def _note(self, name: str, event: str, address: str) -> None:
        session = self._sessions.setdefault(name, _Session(address))
        self._sessions.move_to_end(name)
        self._session_of[event] = name
        session.open.add(event)
        if not session.n_listeners:
            session.unheard_since = time.monotonic()
            asyncio.get_running_loop().call_later(self._patience_s, self._expire, name)
        for kept in (self._sessions, self._session_of):
            while len(kept) > MOST_SESSIONS:
                kept.popitem(last=False)

    async def _listen(self, name: str, event: str | None, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets a session's stream out, or that of one event of it."""
        session = self._sessions.get(name)
        if session is None:
            await refuse(scope, receive, send, 404, NO_SESSION)
            return

        async def heard(message: Message) -> None:
            body = message.get("body", b"")
            if event and any(end in body for end in _ENDS_OF_ONE):
                session.open.discard(event)
            elif not event and _END in body:
                for ended in _EVENT.findall(body):
                    session.open.discard(ended.decode())
            await send(message)

        session.n_listeners += 1
        try:
            await self._app(scope, receive, heard)
        finally:
            session.n_listeners -= 1
            if session.open and not session.n_listeners:
                session.unheard_since = time.monotonic()
                asyncio.get_running_loop().call_later(self._patience_s, self._expire, name)

    def _has_room(self, address: str) -> bool:
        """Whether one more event may wait unheard; what has waited longest makes room."""
        unheard = [(one.unheard_since, name, one) for name, one in self._sessions.items() if _is_unheard(one)]
        if unheard and sum(len(session.open) for *_, session in unheard) >= MOST_UNHEARD:
            since, name, _ = min(unheard, key=lambda entry: entry[0])
            if time.monotonic() - since < GRACE_S:
                return False
            self._drop(name)
            return self._has_room(address)
        return sum(len(one.open) for *_, one in unheard if one.address == address) < MOST_UNHEARD_OF_ONE

    def _expire(self, name: str) -> None:
        session = self._sessions.get(name)
        if session and _is_unheard(session) and time.monotonic() - session.unheard_since >= self._patience_s * 0.99:
            self._drop(name)

    def _drop(self, name: str) -> None:
        self._sessions.pop(name, None)
        task = asyncio.ensure_future(self._forget(name))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _is_unheard(session: _Session) -> bool:
    return bool(session.open) and session.n_listeners == 0


def _event_of(body: bytes) -> str | None:
    try:
        document = json.loads(body)
    except ValueError:
        return None
    event = document.get("event_id") if isinstance(document, dict) else None
    return event if isinstance(event, str) else None
