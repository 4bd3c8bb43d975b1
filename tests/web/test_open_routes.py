"""What is open, by address and method."""

from __future__ import annotations

from citer_core.web.open_routes import STARTED, OpenRoutes
from tests.web.asgi import Inner, ask

CLOSED = (
    "/gradio_api/run/predict", "/gradio_api/api/predict", "/gradio_api/upload", "/gradio_api/upload_progress",
    "/gradio_api/file=/etc/passwd", "/gradio_api/file/etc/passwd", "/gradio_api/proxy=https://a.hf.space/",
    "/gradio_api/deep_link", "/gradio_api/dev/reload", "/gradio_api/vibe-code", "/gradio_api/vibe-edit/",
    "/gradio_api/process_recording", "/gradio_api/custom_component/a/client/b/c", "/gradio_api/queue/status",
    "/gradio_api/token", "/gradio_api/user", "/gradio_api/runs", "/gradio_api/stream/x", "/gradio_api/openapi.json",
    "/monitoring", "/monitoring/summary", "/monitoring/key", "/openapi.json", "/docs", "/hacked", "//", "/..",
    "/gradio_api/queue/join/x", "/gradio_api/queue/data\n", "/login", "/logout", "/gradio_api/mcp/",
    "/gradio_api/mcp/schema", "/gradio_api/component_server", "/assets/index.js", "/static/x", "/theme.css",
)  # fmt: skip


def test_everything_else_is_not_there() -> None:
    inner = Inner()
    app = OpenRoutes(inner, has_login=False, has_mcp=False)
    for path in CLOSED:
        for method in ("GET", "POST", "OPTIONS"):
            assert ask(app, path, method).status == 404, path
    assert not inner.scopes


def test_an_open_address_takes_its_methods_only() -> None:
    app = OpenRoutes(Inner(), has_login=True, has_mcp=True)
    for path, methods in {
        "/": "GET HEAD", "/gradio_api/queue/join": "POST", "/gradio_api/queue/data": "GET HEAD", "/login": "POST",
        "/gradio_api/mcp/": "GET HEAD POST DELETE", "/gradio_api/call/replay": "POST",
        "/gradio_api/call/replay/0123": "GET HEAD", "/healthz": "GET HEAD", "/citer/assets/0/app/page.js": "GET HEAD",
    }.items():  # fmt: skip
        for method in ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
            assert ask(app, path, method).status == (200 if method in methods.split() else 405), (path, method)


def test_gradios_own_start_is_asked_once() -> None:
    app = OpenRoutes(Inner(), has_login=False, has_mcp=False)
    assert [ask(app, STARTED).status for _ in range(3)] == [200, 404, 404]


def test_a_known_prefix_is_no_part_of_the_address() -> None:
    app = OpenRoutes(Inner(), has_login=False, has_mcp=False)
    assert ask(app, "/citer/gradio_api/queue/data", root_path="/citer").status == 200
    assert ask(app, "/gradio_api/queue/data", root_path="/citer").status == 200
    assert ask(app, "/citer/gradio_api/upload", root_path="/citer").status == 404


def test_a_page_asks_under_one_address() -> None:
    app = OpenRoutes(Inner(), has_login=False, has_mcp=False)
    assert ask(app, "/citer/ask/run", "POST").status == 200
    assert ask(app, "/citer/ask/Run", "POST").status == 405 and ask(app, "/citer/ask/", "POST").status == 405
