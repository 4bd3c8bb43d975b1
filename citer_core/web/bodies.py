"""`Bodies`: reads the body of a request before all others: its kind, its size, its time, and what a JSON body may look
like: how deep, which session, no files, and how long each field.

What is read is handed on as one piece. A body is bounded, and so are all that are being read together, so that many
slow ones cannot fill the memory. Knows gradio's forms of a request by the names of their fields. Called for what
`open_routes` let through.
"""

from __future__ import annotations

import asyncio
import functools
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import zip_longest
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from citer_core.errors import GateError
from citer_core.gate.json_text import MAX_DEPTH, parse_json
from citer_core.web.open_routes import API, ASK, OPENING, SMALL_BYTES, Opening
from citer_core.web.refusal import address_of, refuse, route_path

FILE_MARK = "gradio.FileData"
_SESSION = re.compile(r"[\w-]{0,64}")
NO_JSON = f"The body cannot be read as JSON: send UTF-8, at most {MAX_DEPTH} levels deep and of a sane size."
NO_FILES = "This server takes no files: send a trace as it is, and rows as text."
NO_SESSION = "session_hash is a text of up to 64 letters, digits, - and _."
NO_FUNCTION = "There is no such function: the API tab of the page lists those that there are."
TOO_LONG = "A field is longer than it may be, or of another kind."
SHORT_CHARS = 1_000
# Of a function's number or name: how many characters each of its fields may have, in their order; None where it is
# unknown.
FieldLimits = Callable[[object], Mapping[object, int] | None]


class ShapeError(GateError):
    """A body that is refused; the message is for the visitor and repeats nothing of it."""

    def __init__(self, why: str, status: int = 400) -> None:
        super().__init__(why)
        self.status = status


def read_json(body: bytes) -> Any:
    """The document.

    Raises:
        ShapeError: it is none, is too deep, has a number that is too long, more than a million values, or a file.
    """
    try:
        return parse_json(body, max_chars=len(body), look=_no_file)
    except ShapeError:
        raise
    except GateError as error:
        raise ShapeError(NO_JSON) from error


def check_request(document: object, limits: FieldLimits, name: str | None = None) -> None:
    """What every request to a function of the page must keep to.

    Args:
        document: the body of `queue/join` or `call/NAME`.
        limits: of the page's functions.
        name: the function's, where the path has it.

    Raises:
        ShapeError: the session is no session, there is no such function, a value is missing, or a field is longer than
            it may be.
    """
    if not isinstance(document, dict):
        raise ShapeError("The body must be a JSON object.")
    session = document.get("session_hash")
    if session is not None and not (isinstance(session, str) and _SESSION.fullmatch(session)):
        raise ShapeError(NO_SESSION)
    number = document.get("fn_index")
    found = limits(name) if name is not None else limits(number) if type(number) is int else None
    if found is None:
        raise ShapeError(NO_FUNCTION)
    data = document.get("data")
    if not isinstance(data, list):  # fields by name
        fields = {field: value for field, value in document.items() if field != "session_hash"}
        if any(_length(value) > found.get(field, SHORT_CHARS) for field, value in fields.items()):
            raise ShapeError(TOO_LONG)
        return
    if name is not None and len(data) < len(found):  # which gradio answers with an error without words
        raise ShapeError(
            f"`data` has {len(data)} of {len(found)} values. Give one for each of: {', '.join(map(str, found))}."
        )
    # More values than there are fields are gradio's to refuse; they are short ones.
    for value, most in zip_longest(data, [*found.values()][: len(data)], fillvalue=0):
        if _length(value) > most:
            raise ShapeError(TOO_LONG)


def check_tool_call(document: object, limits: FieldLimits) -> None:
    """What every message to MCP must keep to. Its errors repeat what they refuse, so only texts may be long, and those
    only in fields that take texts.

    Raises:
        ShapeError: something is longer than it may be.
    """
    rest = document
    if isinstance(document, dict) and isinstance(params := document.get("params"), dict):
        arguments = params.get("arguments")
        if isinstance(arguments, dict):
            rest = {**document, "params": {**params, "arguments": [*arguments]}}
            known = limits(params.get("name")) or {}
            for name, value in arguments.items():
                if _length(value) > (known.get(name, SHORT_CHARS) if isinstance(value, str) else SHORT_CHARS):
                    raise ShapeError(TOO_LONG)
    if _length(rest) > SHORT_CHARS:
        raise ShapeError(TOO_LONG)


def _no_file(value: dict[str, Any]) -> dict[str, Any]:
    """Raises `ShapeError` for what gradio takes for a file of its own, wherever in a request it stands, and then looks
    for on its disk.
    """
    meta = value.get("meta")
    if isinstance(meta, dict) and meta.get("_type") == FILE_MARK:
        raise ShapeError(NO_FILES)
    return value


def _length(value: object) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict | list):
        return len(json.dumps(value))
    return 0


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
        held = [0]
        try:
            _check_announced(opening, headers)
            body = await self._read(receive, opening.max_bytes, held, address_of(scope))
            if body is None:
                return  # gone before it was there
            if opening.content == "json" and not route_path(scope).startswith(ASK):  # which has gates of its own
                # A large one takes a second; others are answered meanwhile.
                in_thread = len(body) > SMALL_BYTES
                check = functools.partial(self._check, route_path(scope), body)
                scope[SESSION] = await asyncio.to_thread(check) if in_thread else check()
        except ShapeError as error:
            await refuse(scope, receive, send, error.status, str(error))
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
                raise ShapeError(TOO_SLOW, 408) from None
            if message["type"] != "http.request":
                return None
            piece = message.get("body", b"")
            held[0] += len(piece)
            self._held += len(piece)
            self._held_of[address] += len(piece)
            if held[0] > max_bytes:
                raise ShapeError(TOO_LARGE if max_bytes else NO_BODY, 413)
            is_much = self._held > MAX_HELD_BYTES or self._held_of[address] > MAX_HELD_OF_ONE
            if is_much and held[0] > SMALL_BYTES:
                raise ShapeError(BUSY, 503)
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


def _check_announced(opening: Opening, headers: Headers) -> None:
    """Raises `ShapeError` for what is wrong by the headers alone."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if opening.content != "none" and kind not in KINDS[opening.content]:
        raise ShapeError(WRONG_KIND if opening.content == "json" else NO_FORM, 415)
    length = headers.get("content-length", "0")
    if not length.isascii() or not length.isdecimal() or len(length) > 15:
        raise ShapeError("Content-Length is not a number.")
    if int(length) > opening.max_bytes:
        raise ShapeError(TOO_LARGE if opening.max_bytes else NO_BODY, 413)


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
