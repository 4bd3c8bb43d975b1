"""The process's log, bounded, one line each whatever was sent, for people or as JSON objects; and `RequestLog`: gives
every request an id, notes the ones of interest, and answers for uncaught exceptions.

Nothing that is logged may be long or break out of its line: a traceback keeps its last calls and the beginning of each
line. A request's line holds method, path, status, milliseconds, bytes and id; never a query, a header or a body. The id
comes back in `X-Request-ID` and stands in the headers that handlers see, so that a run's line has it too.
"""

from __future__ import annotations

import json
import logging
import re
import secrets
import sys
import time
import traceback
from typing import Any, Literal

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from citer_core.web.open_routes import API, ASK
from citer_core.web.refusal import notes_of, route_path

MAX_CHARS = 2_000  # of a message
MAX_LINE = 300  # of a line of a traceback
MAX_LINES = 40
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def bounded(text: str, most: int = MAX_CHARS) -> str:
    """The text on one line, without control characters, with at most that many characters."""
    cut = text if len(text) <= most else f"{text[:most]} [{len(text) - most:,} more characters]"
    return _CONTROLS.sub(lambda found: repr(found.group())[1:-1], cut)


def bounded_traceback(error: BaseException) -> list[str]:
    """The last lines of a traceback, each cut; what an exception was given may be of any length."""
    lines: list[str] = []
    for part in traceback.TracebackException.from_exception(error, limit=-15, lookup_lines=False).format():
        lines.extend(bounded(line, MAX_LINE) for line in part[: MAX_LINE * MAX_LINES].splitlines())
    return lines[-MAX_LINES:]


class TextLines(logging.Formatter):
    """Lines for people."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, and those of a traceback."""
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(record.created))
        fields = "".join(f" {name}={_word(value)}" for name, value in _fields(record).items())
        line = f"{at} {record.levelname} {record.name}: {bounded(record.getMessage())}{fields}"
        return "\n    ".join([line, *_lines(record)])


class JsonLines(logging.Formatter):
    """One JSON object a line: `time` (seconds since 1970), `level`, `logger`, `message`, and what the record adds."""

    def format(self, record: logging.LogRecord) -> str:
        """One line; a traceback is a list in it."""
        entry: dict[str, Any] = {
            "time": round(record.created, 3),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": bounded(record.getMessage()),
            **{name: bounded(value) if isinstance(value, str) else value for name, value in _fields(record).items()},
        }
        if lines := _lines(record):
            entry["traceback"] = lines
        return json.dumps(entry, default=lambda value: bounded(str(value)))


def set_up_log(form: Literal["text", "json"]) -> None:
    """Lets everything be logged to standard error in that form; called once, first."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for name in ("httpx", "mcp"):
        logging.getLogger(name).setLevel(logging.WARNING)


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    fields = getattr(record, "fields", None)
    return fields if isinstance(fields, dict) else {}


def _lines(record: logging.LogRecord) -> list[str]:
    info = record.exc_info
    return bounded_traceback(info[1]) if isinstance(info, tuple) and info[1] is not None else []


def _word(value: object) -> str:
    text = bounded(str(value), 200)
    return json.dumps(text, ensure_ascii=False) if " " in text else text


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
