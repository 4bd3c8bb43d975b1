"""A refused request: one short JSON answer in the form that gradio's own errors have; where a request leads; and
`CalmErrors`: an error of the application becomes such an answer, and what it says goes into the log alone.

Gradio answers some wrong requests with a traceback, and others with all that was sent. Called by every part of the
door.
"""

from __future__ import annotations

from typing import Any

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

NOTES = "citer.notes"  # of a request: what the log says about it besides the obvious


def notes_of(scope: Scope) -> dict[str, Any]:
    """What is noted about a request; one for all copies of its scope that are made after the first call."""
    notes: dict[str, Any] = scope.setdefault(NOTES, {})
    return notes


def route_path(scope: Scope) -> str:
    """The path that is asked for, without the prefix of a proxy that is known."""
    path, root = str(scope["path"]), str(scope.get("root_path", "")).rstrip("/")
    return path[len(root) :] if root and path.startswith(f"{root}/") else path


def address_of(scope: Scope) -> str:
    """Where a request comes from; a proxy that is trusted says it for its visitors."""
    client = scope.get("client")
    return str(client[0]) if client else ""


async def refuse(scope: Scope, receive: Receive, send: Send, status: int, why: str) -> None:
    """Answers with `{"detail": why}`.

    Args:
        status: of HTTP, 400 or more.
        why: what was wrong and what is allowed; nothing that the visitor sent.
    """
    notes_of(scope)["refused"] = why
    # What is left of the body is not read: the connection ends instead.
    answer = JSONResponse({"detail": why}, status, {"Connection": "close", "Cache-Control": "no-store"})
    await answer(scope, receive, send)


FAILED = "This request cannot be answered: the API tab of the page lists what can be called, and with what."
WRONG = "The body is not what this address takes: the API tab of the page says what it is."


class CalmErrors:
    """Middleware."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes on what is no error."""
        is_replaced = False

        async def calm(message: Message) -> None:
            nonlocal is_replaced
            if is_replaced:
                return
            status = message.get("status", 200)
            if message["type"] == "http.response.start" and (status == 422 or (status >= 500 and status != 503)):
                is_replaced = True
                await refuse(scope, receive, send, status, WRONG if status == 422 else FAILED)
            else:
                await send(message)

        await self._app(scope, receive, calm)
