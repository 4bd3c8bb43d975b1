"""`Bodies`: reads the body of a request before all others: its kind, its size, its time, its shape.

What is read is handed on as one piece. A body is bounded, and so are all that are being read together, so that many
slow ones cannot fill the memory. Called for what `open_routes` let through.
"""

from __future__ import annotations

import asyncio
import functools
import time
from collections import Counter
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from citer_core.web.json_shape import FieldLimits, ShapeError, check_request, check_tool_call, read_json
from citer_core.web.open_routes import API, ASK, OPENING, SMALL_BYTES, Opening
from citer_core.web.refusal import address_of, refuse, route_path

MAX_HELD_BYTES = 64_000_000  # of all bodies that are being read
MAX_HELD_OF_ONE = 24_000_000  # of those from one address; small ones are read whatever else is
PATIENCE_S = 60.0  # for a whole body
SILENCE_S = 15.0  # between two pieces of it
KINDS = {
    "json": ("application/json",),
    "form": ("application/x-www-form-urlencoded", "multipart/form-data"),
    "none": (),
}
WRONG_KIND = "The body must be JSON, with the header Content-Type: application/json."
NO_FORM = "The body must be a form."
NO_BODY = "This address takes no body."
TOO_LARGE = "The body is larger than this address takes."
TOO_SLOW = "The body took too long to arrive."
SESSION = "citer.session"  # in the scope: who asks, where the body says it
BUSY = "Too much is being sent to this server at once: try again in a moment."


class Bodies:
    """Middleware.

    Args:
        app: what is asked with a body that is right.
        limits: of the fields of the page's functions.
        patience_s, silence_s: see above; tests have their own.
    """

    def __init__(
        self, app: ASGIApp, limits: FieldLimits, *, patience_s: float = PATIENCE_S, silence_s: float = SILENCE_S
    ) -> None:
        self._app, self._limits = app, limits
        self._patience_s, self._silence_s = patience_s, silence_s
        self._held = 0
        self._held_of: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reads the body, looks at it, and hands it on."""
        opening: Opening = scope[OPENING]
        headers = Headers(scope=scope)
        if problem := _announced(opening, headers):
            await refuse(scope, receive, send, *problem)
            return
        held = [0]
        try:
            body = await self._read(receive, opening.max_bytes, held, address_of(scope))
            if body is None:
                return  # gone before it was there
            if opening.content == "json" and not route_path(scope).startswith(ASK):  # which has gates of its own
                # A large one takes a second; others are answered meanwhile.
                in_thread = len(body) > SMALL_BYTES
                check = functools.partial(self._check, route_path(scope), body)
                scope[SESSION] = await asyncio.to_thread(check) if in_thread else check()
        except _RefusedError as refusal:
            await refuse(scope, receive, send, refusal.status, refusal.why)
            return
        except ShapeError as error:
            await refuse(scope, receive, send, 400, str(error))
            return
        finally:
            self._held -= held[0]
            self._held_of[address_of(scope)] -= held[0]
            self._held_of += Counter()  # without those that hold nothing
        await self._app(scope, _replayed(body, receive), send)

    async def _read(self, receive: Receive, max_bytes: int, held: list[int], address: str) -> bytes | None:
        pieces: list[bytes] = []
        ends_at = time.monotonic() + self._patience_s
        while True:
            left = min(self._silence_s, ends_at - time.monotonic())
            try:
                message = await asyncio.wait_for(receive(), max(left, 0.0))
            except TimeoutError:
                raise _RefusedError(408, TOO_SLOW) from None
            if message["type"] != "http.request":
                return None
            piece = message.get("body", b"")
            held[0] += len(piece)
            self._held += len(piece)
            self._held_of[address] += len(piece)
            if held[0] > max_bytes:
                raise _RefusedError(413, TOO_LARGE if max_bytes else NO_BODY)
            is_much = self._held > MAX_HELD_BYTES or self._held_of[address] > MAX_HELD_OF_ONE
            if is_much and held[0] > SMALL_BYTES:
                raise _RefusedError(503, BUSY)
            if piece:
                pieces.append(piece)
            if not message.get("more_body", False):
                return b"".join(pieces)

    def _check(self, path: str, body: bytes) -> Any:
        """Looks at a JSON body; gives the session that it names."""
        document = read_json(body)
        if path.startswith(f"{API}/mcp"):
            check_tool_call(document, self._limits)
            return None
        name = path.rstrip("/").rpartition("/")[2] if path.startswith(f"{API}/call/") else None
        if not path.startswith((f"{API}/cancel", f"{API}/reset")):
            check_request(document, self._limits, name)
        return document.get("session_hash") if isinstance(document, dict) else None


class _RefusedError(Exception):
    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status, self.why = status, why


def _announced(opening: Opening, headers: Headers) -> tuple[int, str] | None:
    """What is wrong by the headers alone, as a status and words."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if opening.content != "none" and kind not in KINDS[opening.content]:
        return 415, WRONG_KIND if opening.content == "json" else NO_FORM
    length = headers.get("content-length", "0")
    if not length.isascii() or not length.isdecimal() or len(length) > 15:
        return 400, "Content-Length is not a number."
    if int(length) > opening.max_bytes:
        return 413, TOO_LARGE if opening.max_bytes else NO_BODY
    return None


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Gives the body once, and then what the connection says: that the visitor has gone."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
