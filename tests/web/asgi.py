"""Asks an ASGI application directly: no server, no network, every header as it is given."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def detail(self) -> str:
        """What a refusal says."""
        return str(json.loads(self.body)["detail"])


@dataclass
class Inner:
    """The application behind a middleware: keeps what reached it, answers 200."""

    scopes: list[Scope] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    content_type: str = "application/json"
    content: bytes = b"{}"
    headers: tuple[tuple[bytes, bytes], ...] = ()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scopes.append(scope)
        self.bodies.append((await receive()).get("body", b""))
        headers = [(b"content-type", self.content_type.encode()), *self.headers]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": self.content})


def ask(
    app: ASGIApp,
    path: str = "/",
    method: str = "GET",
    headers: Mapping[str, str] | Iterable[tuple[str, str]] = (),
    body: bytes | list[bytes | None] = b"",
    **scope: Any,
) -> Answer:
    """One request; of a list of pieces None is one that never comes."""
    pieces = body if isinstance(body, list) else [body]
    given = headers.items() if isinstance(headers, Mapping) else headers
    sent: list[Message] = []

    async def receive() -> Message:
        if not pieces:
            await asyncio.sleep(0.01)
            return {"type": "http.disconnect"}
        piece = pieces.pop(0)
        if piece is None:
            await asyncio.sleep(3600)
        return {"type": "http.request", "body": piece, "more_body": bool(pieces)}

    async def send(message: Message) -> None:
        sent.append(message)

    whole: Scope = {
        "type": "http", "method": method, "path": path, "query_string": b"",
        "asgi": {"spec_version": "2.4"}, "client": ("127.0.0.1", 5000),
        "headers": [(name.lower().encode(), value.encode()) for name, value in given], **scope,
    }  # fmt: skip

    async def answered() -> None:
        await app(whole, receive, send)

    with ThreadPoolExecutor(1) as pool:  # a browser of other tests may have a running loop in this thread
        pool.submit(asyncio.run, answered()).result()
    start = next(message for message in sent if message["type"] == "http.response.start")
    content = b"".join(message.get("body", b"") for message in sent if message["type"] == "http.response.body")
    return Answer(start["status"], {name.decode(): value.decode() for name, value in start["headers"]}, content)
