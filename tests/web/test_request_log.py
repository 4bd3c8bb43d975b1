"""One line a request of interest, bounded and whole, whatever was sent."""

from __future__ import annotations

import json
import logging
import subprocess
import sys

import pytest
from starlette.types import Receive, Scope, Send

from citer_core.web import request_log
from citer_core.web.open_routes import OpenRoutes
from citer_core.web.request_log import JsonLines, RequestLog, TextLines, bounded, bounded_traceback
from tests.web.asgi import Inner, ask


def fields(caplog: pytest.LogCaptureFixture) -> list[dict[str, object]]:
    """Of requests: a run that an earlier test left may end meanwhile, and says so."""
    return [record.__dict__["fields"] for record in caplog.records if record.name == request_log.logger.name]


@pytest.fixture(autouse=True)
def heard(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)


def test_who_has_something_done_is_noted_with_an_id(caplog: pytest.LogCaptureFixture) -> None:
    inner = Inner()
    app = RequestLog(inner)
    answer = ask(app, "/gradio_api/queue/join", "POST", body=b"a secret question")
    request_id = answer.headers["x-request-id"]
    assert len(request_id) == 16 and (b"x-request-id", request_id.encode()) in inner.scopes[0]["headers"]
    (line,) = fields(caplog)
    assert line["path"] == "/gradio_api/queue/join" and line["status"] == 200 and line["request_id"] == request_id
    assert "secret" not in caplog.text
    caplog.clear()
    for path in ("/citer/assets/1/viewer/page.js", "/gradio_api/heartbeat/abc", "/healthz"):
        ask(app, path)
    ask(app, "/citer/ask/engine_status", "POST")
    assert fields(caplog) == []


def test_an_id_is_taken_over_where_it_is_sane() -> None:
    for given, taken in (("abcd-1234_x.y", True), ("short", False), ("x" * 65, False), ("a b c d e f", False)):
        answer = ask(RequestLog(Inner()), headers={"X-Request-ID": given})
        assert (answer.headers["x-request-id"] == given) == taken


def test_what_gives_a_right_is_not_written_down(caplog: pytest.LogCaptureFixture) -> None:
    app = RequestLog(OpenRoutes(Inner(), has_login=False, has_mcp=False))
    for path in (
        "/gradio_api/call/replay/0123456789abcdef",
        "/gradio_api/heartbeat/mysession",
        "/gradio_api/call/v2/a/0123",
    ):
        assert ask(app, path, "DELETE").status == 405
    assert "0123" not in str(fields(caplog)) and "mysession" not in str(fields(caplog))


def test_a_refusal_says_why(caplog: pytest.LogCaptureFixture) -> None:
    app = RequestLog(OpenRoutes(Inner(), has_login=False, has_mcp=False))
    assert ask(app, "/gradio_api/upload", "POST").status == 404
    (line,) = fields(caplog)
    assert line["status"] == 404 and "nothing here" in str(line["refused"])


def test_an_uncaught_exception_is_answered_without_its_words(caplog: pytest.LogCaptureFixture) -> None:
    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        raise OSError("/home/secret/" + "x" * 1_000_000)

    answer = ask(RequestLog(broken), "/config")
    assert answer.status == 500 and b"secret" not in answer.body and answer.headers["x-request-id"]
    formatted = "".join(JsonLines().format(record) for record in caplog.records)
    assert "OSError" in formatted and len(formatted) < 5_000


def test_a_line_stays_one_line() -> None:
    evil = "a\nb\r\x1b[31m\u2028\u202e" + "x" * 10_000
    record = logging.LogRecord("x", logging.INFO, "", 0, "%s", (evil,), None)
    record.__dict__["fields"] = {"path": evil}
    for form in (TextLines(), JsonLines()):
        line = form.format(record)
        assert len(line.splitlines()) == 1 and len(line) < 4_500 and "\x1b" not in line and "\u202e" not in line
    entry = json.loads(JsonLines().format(record))
    assert entry["level"] == "info" and entry["message"].startswith("a\\nb") and "more characters" in entry["message"]
    assert bounded("plain") == "plain"


def test_a_traceback_is_bounded_too() -> None:
    def deep(n: int) -> None:
        if n:
            deep(n - 1)
        raise ValueError("y" * 20_000_000)

    try:
        deep(200)
    except ValueError as error:
        lines = bounded_traceback(error)
    assert len(lines) <= 40 and max(map(len, lines)) < 340
    assert any("ValueError: yyy" in line for line in lines) and "in deep" in lines[-3] + lines[-2] + lines[1]


def test_the_programs_log_is_json_where_that_is_asked_for() -> None:
    code = (
        "import logging; from citer_core.web.request_log import set_up_log; set_up_log('json');"
        "logging.getLogger('a').info('hello %s', 'you', extra={'fields': {'request_id': 'r'}});"
        "logging.getLogger('httpx').info('no')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    (line,) = done.stderr.splitlines()
    entry = json.loads(line)
    assert entry["message"] == "hello you" and entry["request_id"] == "r" and entry["logger"] == "a"
