"""All parts of the door together, in front of an application as gradio builds it."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from citer_core.web.door import Door
from citer_core.web.settings import WebSettings
from tests.web.asgi import ask

HOST = {"Host": "127.0.0.1:7860"}
JSON = {**HOST, "Content-Type": "application/json"}
JOIN = "/gradio_api/queue/join"
ASKED = b'{"fn_index": 9, "data": []}'


@pytest.fixture
def app() -> Starlette:
    """An application that lets everybody read, as gradio's does, started behind the door."""

    async def forget(session: str) -> None:
        raise AssertionError(session)

    async def join(request: Request) -> Response:
        if "break" in await request.json():
            raise OSError("/home/secret")
        return JSONResponse({"forwarded": request.headers.get("x-forwarded-host")})

    door = Door(
        "127.0.0.1",
        7860,
        WebSettings(),
        lambda _: {0: 9},
        has_mcp=False,
        forget=forget,
        is_known=lambda *_: False,
    )
    cors = Middleware(CORSMiddleware, allow_origins=["*"], allow_methods=["*"], allow_headers=["*"])
    app = Starlette(routes=[Route(JOIN, join, methods=["POST"])], middleware=[cors], lifespan=door.lifespan)
    started: list[str] = []
    incoming = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]

    async def receive() -> Any:
        return incoming.pop(0)

    async def send(message: Any) -> None:
        started.append(message["type"])

    async def live() -> None:
        await app({"type": "lifespan"}, receive, send)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, live()).result()
    assert started == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    return app


def test_it_stands_before_what_the_application_says_to_others(app: Starlette) -> None:
    asked = {**HOST, "Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
    for method in ("OPTIONS", "POST"):
        answer = ask(app, JOIN, method, asked)
        assert answer.status == 403 and "access-control-allow-origin" not in answer.headers
    answer = ask(app, JOIN, "POST", {**JSON, "Origin": "http://127.0.0.1:7860", "X-Forwarded-Host": "evil"}, ASKED)
    assert answer.status == 200 and answer.body == b'{"forwarded":null}'
    assert "access-control-allow-origin" not in answer.headers


def test_every_answer_has_id_and_headers(app: Starlette) -> None:
    for answer, status in (
        (ask(app, JOIN, "POST", JSON, ASKED), 200),
        (ask(app, JOIN, "POST", JSON, b'{"fn_index": 9, "data": [], "break": 1}'), 500),
        (ask(app, JOIN, "POST", {**HOST, "Content-Type": "text/plain"}, b"1"), 415),
        (ask(app, "/none", headers=HOST), 404),
        (ask(app, "/", headers={"Host": "evil.example"}), 421),
    ):
        assert answer.status == status and b"secret" not in answer.body
        assert answer.headers["x-request-id"] and answer.headers["x-content-type-options"] == "nosniff"
        assert "frame-ancestors 'self'" in answer.headers["content-security-policy"]


def test_a_websocket_is_refused(app: Starlette) -> None:
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    async def connect() -> None:
        await app({"type": "websocket", "path": JOIN, "headers": []}, receive, send)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, connect()).result()
    assert sent == [{"type": "websocket.close", "code": 1008}]
