"""A refused request: one short JSON answer in the form that gradio's own errors have; and where a request leads.

Called by every part of the door.
"""

from __future__ import annotations

from typing import Any

from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

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
