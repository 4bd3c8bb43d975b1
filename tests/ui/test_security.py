"""What a served page has open, and what it shows: as it is served."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import expect

from citer_core.ui.messages import UNEXPECTED
from citer_core.web.unread import NO_SESSION
from tests.ui.endpoints import JSON, function, post
from tests.ui.serving import Served
from tests.ui.visitor import Visitor

pytestmark = pytest.mark.ui
Visit = Callable[..., Visitor]
ROOT = Path(__file__).resolve().parents[2]
# What the page and its documented endpoints need, and nothing else: the templates of gradio's routes.
NEEDED = {
    "GET /", "HEAD /", "GET /config", "GET /config/", "GET /favicon.ico", "HEAD /favicon.ico", "GET /healthz",
    "HEAD /healthz", "GET /gradio_api/info", "GET /gradio_api/info/", "GET /gradio_api/app_id",
    "GET /gradio_api/app_id/", "GET /gradio_api/queue/data", "GET /gradio_api/heartbeat/{session_hash}",
    "GET /gradio_api/call/{api_name}/{event_id}", "GET /gradio_api/call/v2/{api_name}/{event_id}",
    "POST /gradio_api/queue/join", "POST /gradio_api/call/{api_name}", "POST /gradio_api/call/{api_name}/",
    "POST /gradio_api/call/v2/{api_name}", "POST /gradio_api/call/v2/{api_name}/", "POST /gradio_api/cancel",
    "POST /gradio_api/reset", "POST /gradio_api/reset/",
}  # fmt: skip


def routes_of(app: Any) -> Iterator[tuple[str, str]]:
    """Every method and path template, those of included routers too."""
    for route in app.routes:
        below = getattr(route, "original_router", None)
        if below is not None:
            yield from routes_of(below)
        else:
            for method in getattr(route, "methods", None) or ():
                yield method, route.path


def test_only_what_the_page_needs_is_open(served: Served, pages: Any) -> None:
    found = set()
    with httpx.Client(base_url=served.url) as client:  # to make one takes longer than to ask
        for method, template in routes_of(pages[served.url]._server):
            path = re.sub(r"\{[^}]+\}", "x", template)
            # Some streams never end, so nothing of them is read.
            with client.stream(method, path) as answer:
                # What is refused by the door itself; a missing file, session or body is gradio's own business.
                is_closed = answer.status_code in (404, 405) and answer.headers.get("connection") == "close"
                if is_closed and answer.read() and answer.json()["detail"] == NO_SESSION:
                    is_closed = False  # a stream is open to those who asked for an event
            if not is_closed and not path.startswith("/citer/"):
                found.add(f"{method} {template}")
    assert found == NEEDED


def test_no_path_of_this_machine_is_shown_and_the_version_is_that_of_health(served: Served, visit: Visit) -> None:
    visitor = visit()
    health = httpx.get(f"{served.url}healthz").json()
    assert health["state"] == "ready" and health["pair"] == "Bundled pair"
    assert health["n_running"] >= 0 and health["n_waiting"] >= 0 and health["uptime_s"] > 0
    expect(visitor.page.locator(".cx-version")).to_have_text(f"v{health['version']}")
    visitor.open_view("API")
    fetched = [url for url in set(visitor.requests) if not re.search("/ask/|plotly", url)]
    more = ("", "config", "gradio_api/info", "healthz", "nothing", "citer/assets/0/x")
    with httpx.Client(base_url=served.url) as client:
        texts = {url: client.get(url).text for url in (*fetched, *more)}
    texts["broken"] = function(served, "fetch_run", {"run": "x" * 50}).text
    texts["no function"] = function(served, "__init__", None).text
    texts["urls"] = "\n".join(visitor.requests)
    assert len(texts) > 12
    for name, text in texts.items():
        for path in (str(ROOT), str(Path.home()), "site-packages", "Traceback"):
            assert path not in text, (name, path)


def test_an_unexpected_error_is_answered_calmly(
    served: Served, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError(f"broken in {ROOT}")

    monkeypatch.setattr("citer_core.ui.run.answers.missing_part", broken)
    with caplog.at_level(logging.INFO):
        answer = function(served, "fetch_run", {})
    assert answer.json()["notice"] == UNEXPECTED and str(ROOT) not in answer.text
    assert answer.headers["x-request-id"] and answer.headers["x-content-type-options"] == "nosniff"
    assert "broken in" in "".join(str(record.exc_info) for record in caplog.records)


def test_a_huge_text_is_neither_logged_nor_sent_back(
    served: Served, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    asked: dict[str, Any] = {"question": "1 + 1?", "data_type": "math", "router": None, "settings": {}}
    with caplog.at_level(logging.INFO):
        for field, n, status in (("data_type", 9_000_000, 413), ("router", 7_000_000, 200), ("settings", 900, 200)):
            answer = function(served, "run", {**asked, field: "Q" * n})
            assert answer.status_code == status and len(answer.text) < 500 and answer.text.count("Q") < 60
        assert post(served, "call/route_trace", {"data": ["1 + 1?", "Q" * 7_000_000, "", ""]}).status_code == 400
    printed = capfd.readouterr()
    assert len("".join(record.getMessage() for record in caplog.records)) < 20_000
    assert "Q" * 100 not in printed.err + printed.out + caplog.text, "not past the log"


def test_a_run_leaves_one_line_with_the_requests_id_and_no_text(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    served.slot.wait(30)
    body = {"data": ["A secret question?", "open", '{"threshold": 0.5, "max_new_tokens": 20}', ""]}
    with caplog.at_level(logging.INFO):
        asked = post(served, "call/route_trace", body, headers={**JSON, "X-Request-ID": "my-request-0001"})
        assert asked.headers["x-request-id"] == "my-request-0001"
        answer = httpx.get(f"{served.url}gradio_api/call/route_trace/{asked.json()['event_id']}", timeout=30)
    assert "event: complete" in answer.text
    fields = [record.__dict__["fields"] for record in caplog.records if record.getMessage() == "run"]
    (line,) = [entry for entry in fields if entry["request_id"] == "my-request-0001"]
    assert line["finish"] == "eos" and line["tokens"] > 3 and line["seconds"] > 0
    assert "secret" not in caplog.text
