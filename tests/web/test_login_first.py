"""LoginFirst and CalmErrors: nothing is read from, or told to, who has not logged in; and no error says much."""

from __future__ import annotations

import base64
import hashlib
import re

import pytest
from starlette.types import Receive, Scope, Send

from citer_core.web.login_first import LoginFirst
from citer_core.web.open_routes import OpenRoutes
from citer_core.web.refusal import CalmErrors
from tests.web.asgi import Inner, ask

GUARDED = (
    ("/config", "GET"), ("/gradio_api/info", "GET"), ("/gradio_api/app_id", "GET"), ("/gradio_api/heartbeat/x", "GET"),
    ("/gradio_api/cancel", "POST"), ("/gradio_api/reset", "POST"), ("/gradio_api/queue/join", "POST"),
    ("/gradio_api/call/replay", "POST"), ("/citer/ask/run", "POST"),
    ("/", "GET"), ("/citer/assets/0/app/page.js", "GET"),
)  # fmt: skip


@pytest.mark.parametrize("is_known", [False, True])
def test_only_the_page_and_its_login_are_for_everybody(is_known: bool) -> None:
    inner = Inner()
    app = OpenRoutes(LoginFirst(inner, lambda _: is_known), has_login=True, has_mcp=False)
    for path, method in GUARDED:
        assert ask(app, path, method).status == (200 if is_known else 401), path
    for path, method in (("/login", "POST"), ("/logout", "GET"), ("/healthz", "GET"), ("/favicon.ico", "GET")):
        assert ask(app, path, method).status == 200, path


def test_who_asks_for_the_page_is_shown_where_to_log_in() -> None:
    app = OpenRoutes(LoginFirst(Inner(), lambda _: False), has_login=True, has_mcp=False)
    page = ask(app, "/")
    (script,) = re.findall(r"<script>(.*?)</script>", page.body.decode(), re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page.headers["content-security-policy"]
    assert b'name="password"' in page.body and page.headers["cache-control"] == "no-store"


def test_the_page_of_another_name_is_no_page() -> None:
    app = OpenRoutes(Inner(), has_login=False, has_mcp=False)
    assert ask(app, "/", query_string=b"page=x").status == 404
    assert ask(app, "/", query_string=b"a=1&page=").status == 404
    assert ask(app, "/", query_string=b"homepage=x").status == 200


@pytest.mark.parametrize(("status", "told"), [(500, False), (502, False), (422, False), (503, True), (404, True)])
def test_an_error_of_the_application_is_a_short_answer(status: int, told: bool) -> None:
    async def failing(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b'{"detail": "Traceback: secret"}', "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    answer = ask(CalmErrors(failing))
    assert answer.status == status and (b"secret" in answer.body) == told and len(answer.body) < 200
