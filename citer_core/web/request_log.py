"""`RequestLog`: gives every request an id, notes the ones of interest, and answers for uncaught exceptions.

A line holds method, path, status, milliseconds, bytes and id; never a query, a header or a body. The id comes back in
`X-Request-ID` and stands in the headers that handlers see, so that a run's line has it too.
"""

from __future__ import annotations

import logging
import re
import secrets
import time

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from citer_core.web.open_routes import API, ASK
from citer_core.web.refusal import notes_of, route_path

logger = logging.getLogger(__name__)
REQUEST_ID = "x-request-id"
FAILED = "Something went wrong on the server; its log says what, under this request's id."
_SANE_ID = re.compile(r"[\w.-]{8,64}")
_CAPABILITY = re.compile(rf"({API}/(?:heartbeat|call(?:/v2)?/[^/]+)/).+")
# Asked for all the time, and of interest only where they fail.
_QUIET = (
    *(f"{ASK}engine_status", f"{ASK}fetch_run", "/healthz"),
    *(f"{API}/heartbeat/", f"{API}/app_id", f"{API}/startup-events"),
)


class RequestLog:
    """Middleware; outermost, so that it sees what the others answer.

    Args:
        app: what is asked.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Asks the application, and notes how it went."""
        request_id = _id_of(Headers(scope=scope))
        kept = [(name, value) for name, value in scope["headers"] if name != REQUEST_ID.encode()]
        scope = {**scope, "headers": [*kept, (REQUEST_ID.encode(), request_id.encode())]}
        notes = notes_of(scope)
        began = time.perf_counter()
        status, n_bytes = 0, 0

        async def counted(message: Message) -> None:
            nonlocal status, n_bytes
            if message["type"] == "http.response.start":
                status = message["status"]
                message.setdefault("headers", [])
                MutableHeaders(scope=message)[REQUEST_ID] = request_id
            else:
                n_bytes += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, counted)
        except Exception as error:
            logger.error("a request failed", extra={"fields": {"request_id": request_id}}, exc_info=error)
            if status == 0:
                await JSONResponse({"detail": FAILED}, 500)(scope, receive, counted)
        finally:
            path = route_path(scope)
            if status >= 400 or _is_of_interest(scope["method"], path):
                fields = {
                    "method": scope["method"], "path": _shown(path), "status": status,
                    "ms": round(1000 * (time.perf_counter() - began), 1), "bytes": n_bytes, "request_id": request_id,
                }  # fmt: skip
                if why := notes.get("refused"):
                    fields["refused"] = why
                logger.log(logging.WARNING if status >= 500 else logging.INFO, "request", extra={"fields": fields})


def _is_of_interest(method: str, path: str) -> bool:
    """Requests that open the page, and those that have something done."""
    return path == "/" or (method not in ("GET", "HEAD") and not path.startswith(_QUIET))


def _shown(path: str) -> str:
    """Without what lets its holder read an answer: an event's id, a session."""
    return _CAPABILITY.sub(r"\1*", path)[:120]


def _id_of(headers: Headers) -> str:
    given = headers.get(REQUEST_ID, "")
    return given if _SANE_ID.fullmatch(given) else secrets.token_hex(8)
