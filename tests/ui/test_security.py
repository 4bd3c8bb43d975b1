"""The served page against hostile visitors and hostile pages: through gradio, as it is served, and in a browser."""

from __future__ import annotations

import functools
import http.server
import json
import logging
import re
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import Browser, expect

from citer_core.models.presets import EMBEDDED, PRESETS
from citer_core.ui.pair import offers as pair_offers
from citer_core.web.settings import WebSettings
from tests.fakes import FakeEngine
from tests.ui.conftest import Served, Visitor, free_port, script

pytestmark = pytest.mark.ui
Visit = Callable[..., Visitor]
Make = Callable[..., Served]
JSON = {"Content-Type": "application/json"}
CODER = next(name for name in PRESETS if name != EMBEDDED)
ROOT = Path(__file__).resolve().parents[2]
NO_COMPONENT = {"data": 1, "component_id": 99_999, "fn_name": "x", "session_hash": "a"}
# What the page and its documented endpoints need, and nothing else: the templates of gradio's routes.
NEEDED = {
    "GET /", "HEAD /", "GET /config", "GET /config/", "GET /theme.css", "GET /favicon.ico", "GET /manifest.json",
    "GET /pwa_icon", "GET /robots.txt", "GET /static/{path:path}", "GET /assets/{path:path}",
    "GET /healthz", "HEAD /healthz",
    "GET /gradio_api/info", "GET /gradio_api/info/", "GET /gradio_api/app_id", "GET /gradio_api/app_id/",
    "GET /gradio_api/queue/data", "GET /gradio_api/heartbeat/{session_hash}",
    "GET /gradio_api/call/{api_name}/{event_id}", "GET /gradio_api/call/v2/{api_name}/{event_id}",
    "POST /gradio_api/queue/join", "POST /gradio_api/call/{api_name}", "POST /gradio_api/call/{api_name}/",
    "POST /gradio_api/call/v2/{api_name}", "POST /gradio_api/call/v2/{api_name}/", "POST /gradio_api/component_server",
    "POST /gradio_api/component_server/", "POST /gradio_api/cancel", "POST /gradio_api/reset",
    "POST /gradio_api/reset/",
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


def post(served: Served, path: str, document: Any = None, **how: Any) -> httpx.Response:
    how.setdefault("headers", JSON)
    how.setdefault("content", json.dumps(document))
    return httpx.post(f"{served.url}gradio_api/{path}", timeout=30, **how)


def component(served: Served) -> int:
    config = httpx.get(f"{served.url}config").json()
    found = [block["id"] for block in config["components"] if block["props"].get("elem_id") == "cx-viewer"]
    return int(found[0])


def function(served: Served, name: str, data: Any, **how: Any) -> httpx.Response:
    body = {"data": data, "component_id": component(served), "fn_name": name, "session_hash": "abc123def45"}
    return post(served, "component_server", body, **how)


# ------------------------------------------------------------ what is open


def test_only_what_the_page_needs_is_open(served: Served, pages: Any) -> None:
    found = set()
    for method, template in routes_of(pages[served.url].app):
        path = re.sub(r"\{[^}]+\}", "x", template)
        # Some streams never end, so nothing of them is read.
        with httpx.stream(method, served.url.rstrip("/") + path) as answer:
            # What is refused by the door itself; a missing file, session or body is gradio's own business.
            is_closed = answer.status_code in (404, 405) and answer.headers.get("connection") == "close"
        if not is_closed and not path.startswith("/citer/"):
            found.add(f"{method} {template}")
    assert found == NEEDED


def test_nothing_goes_past_the_queue(served: Served) -> None:
    body = {"data": ["What is 6 times 7?", "math"], "session_hash": "abc"}
    n_runs = len(served.engine.runs)
    for path in ("run/route_trace", "api/route_trace", "run/predict", "run/generate"):
        assert post(served, path, body).status_code == 404
    assert len(served.engine.runs) == n_runs


def test_no_file_of_the_server_is_served(served: Served, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("a secret")
    for path in (
        secret,
        ROOT / "README.md",
        ROOT / "assets" / "page" / "page.js",
        "/etc/passwd",
        "http://example.org",
    ):
        answer = httpx.get(f"{served.url}gradio_api/file={path}")
        assert answer.status_code == 404 and "secret" not in answer.text
    for path in ("citer/assets/0/viewer/../../README.md", "citer/assets/0/..%2f..%2fREADME.md", "static/..%2f..%2fx"):
        assert httpx.get(f"{served.url}{path}").status_code in (307, 403, 404)


def test_nothing_is_kept_of_what_is_uploaded(served: Served) -> None:
    """There is no upload: a file is read by the browser."""
    before = list(Path(tempfile.gettempdir()).glob("**/x.bin"))
    answer = httpx.post(f"{served.url}gradio_api/upload", files={"files": ("x.bin", b"x" * 1000)})
    assert answer.status_code == 404
    assert list(Path(tempfile.gettempdir()).glob("**/x.bin")) == before


def test_nobody_can_hand_in_a_file_of_the_server(served: Served, tmp_path: Path) -> None:
    """Gradio takes such an object for a file wherever it stands, copies it, and fetches its address."""
    secret = tmp_path / "secret.json"
    secret.write_text("{}")
    file = {"path": str(secret), "url": "http://example.org/x", "meta": {"_type": "gradio.FileData"}}
    for path, body in (
        ("call/replay", {"data": [file, 0.5, ""]}),
        ("call/v2/replay", {"trace": {"events": [file]}}),
        ("queue/join", {"data": [file], "fn_index": 0, "session_hash": "abc"}),
        ("component_server", {"data": file, "component_id": 1, "fn_name": "fetch_run", "session_hash": "abc"}),
    ):
        answer = post(served, path, body)
        assert answer.status_code == 400 and str(secret) not in answer.text


def test_the_counts_of_what_others_ask_are_not_public(served: Served) -> None:
    for path in ("monitoring", "monitoring/summary", "monitoring/x", "gradio_api/queue/status"):
        assert httpx.get(f"{served.url}{path}").status_code == 404


def test_health_is_public_and_says_the_version_that_the_page_shows(served: Served, visit: Visit) -> None:
    served.slot.wait(30)
    health = httpx.get(f"{served.url}healthz").json()
    assert health["state"] == "ready" and health["pair"] == "Bundled pair"
    assert health["n_running"] >= 0 and health["n_waiting"] >= 0 and health["uptime_s"] > 0
    expect(visit().page.locator(".cx-version")).to_have_text(f"v{health['version']}")


# ------------------------------------------------------------ what is shown


def test_no_path_of_this_machine_is_shown(served: Served, visit: Visit) -> None:
    visitor = visit()
    for tab in ("Labels", "Learn", "API"):
        visitor.open_tab(tab)
    # All that is ours or made for the visitor; gradio's own scripts are the same everywhere.
    fetched = [url for url in set(visitor.requests) if not re.search("/gradio_api/|:[0-9]+/assets/|plotly", url)]
    texts = {url: httpx.get(url).text for url in fetched}
    for path in (
        "",
        "config",
        "gradio_api/info",
        "healthz",
        "manifest.json",
        "nothing",
        "static/none",
        "citer/assets/0/x",
    ):
        texts[path] = httpx.get(f"{served.url}{path}").text
    texts["broken"] = function(served, "fetch_run", {"run": "x" * 50}).text
    texts["no function"] = function(served, "__init__", None).text
    texts["no component"] = post(
        served, "component_server", {"data": 1, "component_id": 99_999, "fn_name": "x", "session_hash": "a"}
    ).text
    texts["urls"] = "\n".join(visitor.requests)
    assert len(texts) > 15
    for name, text in texts.items():
        for path in (str(ROOT), str(Path.home()), "site-packages", "Traceback"):
            assert path not in text, (name, path)


def test_an_unexpected_error_is_answered_calmly(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        answer = post(served, "component_server", NO_COMPONENT)
    failed = [record.__dict__["fields"] for record in caplog.records if record.getMessage() == "a request failed"]
    assert [entry["request_id"] for entry in failed] == [answer.headers["x-request-id"]]
    assert answer.status_code == 500 and answer.headers["x-request-id"]
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_huge_choice_is_neither_logged_nor_sent_back(
    served: Served, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    config = httpx.get(f"{served.url}config").json()
    radio = next(block["id"] for block in config["components"] if block["props"].get("elem_id") == "cx-type")
    asked = next(dep for dep in config["dependencies"] if radio in dep["inputs"] and dep["backend_fn"])
    place = asked["inputs"].index(radio)

    def ask(value: str) -> httpx.Response:
        data = [None] * len(asked["inputs"])
        data[place] = value
        body = {"data": data, "fn_index": asked["id"], "session_hash": "hugechoice"}
        return post(served, "queue/join", body)

    with caplog.at_level(logging.INFO):
        assert ask("Q" * 7_000_000).status_code == 400
        assert ask("Q" * 9_000_000).status_code == 413
        assert ask("Q" * 900).status_code == 200
        with httpx.stream("GET", f"{served.url}gradio_api/queue/data?session_hash=hugechoice", timeout=20) as events:
            sent = events.read()
    printed = capfd.readouterr()
    formatted = "".join(record.getMessage() for record in caplog.records)
    assert len(sent) < 5_000 and len(formatted) < 20_000
    assert "QQQQQQ" not in printed.err + printed.out, "not past the log"


def test_a_run_leaves_one_line_with_the_requests_id_and_no_text(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    served.slot.wait(30)
    body = {"data": ["A secret question?", "open", 0.5, "", 20, 0, 0]}
    with caplog.at_level(logging.INFO):
        asked = post(served, "call/route_trace", body, headers={**JSON, "X-Request-ID": "my-request-0001"})
        assert asked.headers["x-request-id"] == "my-request-0001"
        answer = httpx.get(f"{served.url}gradio_api/call/route_trace/{asked.json()['event_id']}", timeout=30)
    assert "event: complete" in answer.text
    fields = [record.__dict__["fields"] for record in caplog.records if record.getMessage() == "run"]
    (line,) = [entry for entry in fields if entry["request_id"] == "my-request-0001"]
    assert line["finish"] == "eos" and line["tokens"] > 3 and line["seconds"] > 0
    assert "secret" not in caplog.text


# ------------------------------------------------------------ who may ask


def test_a_server_for_others_keeps_to_its_names(make_server: Make) -> None:
    web = WebSettings(allowed_hosts=("citer.example.org",))
    server = make_server(FakeEngine(script), host="0.0.0.0", web=web)
    statuses = {
        name: httpx.get(f"{server.url}config", headers={"Host": name}).status_code
        for name in ("citer.example.org", "evil.example", urlsplit(server.url).netloc)
    }
    assert list(statuses.values()) == [200, 421, 200]
    assert httpx.get(f"{server.url}healthz", headers={"Host": "10.1.1.1"}).status_code == 200, "a check from outside"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "SELF", "Sec-Fetch-Site": "same-origin"}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Host": "evil.example"}, 421),
        ({"Host": "evil.example", "Origin": "http://evil.example", "Sec-Fetch-Site": "same-origin"}, 421),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "multipart/form-data; boundary=x"}, 415),
    ],
)
def test_server_functions_are_for_our_page_and_programs(served: Served, headers: dict[str, str], status: int) -> None:
    own = {name: value.replace("SELF", served.url.rstrip("/")) for name, value in headers.items()}
    answer = function(served, "engine_status", None, headers={**JSON, **own})
    assert answer.status_code == status
    assert "access-control-allow-origin" not in answer.headers


def test_another_sites_preflight_is_refused(served: Served) -> None:
    asked = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
    answer = httpx.options(f"{served.url}gradio_api/queue/join", headers=asked)
    assert answer.status_code == 403 and not [name for name in answer.headers if name.startswith("access-control")]


class Site(http.server.SimpleHTTPRequestHandler):
    """Another site: one page."""

    page = b""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(self.page)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def foreign() -> Iterator[Callable[[str, int], str]]:
    """Serves a page at `localhost`, which is another site for a browser than 127.0.0.1."""
    servers = []

    def serve_page(text: str, port: int = 0) -> str:
        server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", port),
            functools.partial(type("Page", (Site,), {"page": text.encode()})),  # type: ignore[arg-type]
        )
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://localhost:{server.server_address[1]}/"

    yield serve_page  # type: ignore[misc]
    for server in servers:
        server.shutdown()
        server.server_close()


ATTACK = """async ([url, component, pair]) => {
  const call = { data: { pair, dtype: "" }, component_id: component, fn_name: "change_pair", session_hash: "evil" };
  const body = JSON.stringify(call);
  const form = new FormData();
  form.append("files", new Blob(["x".repeat(1000)]), "evil.bin");
  const tries = [
    ["component_server", { body, headers: { "Content-Type": "text/plain" } }],
    ["component_server/", { body }],
    ["component_server", { body: new Blob([body]) }],
    ["upload", { body: form }],
    ["queue/join", { body: JSON.stringify({ data: [], fn_index: 0, session_hash: "evil" }) }],
  ];
  const results = [];
  for (const [path, how] of tries)
    for (const mode of ["no-cors", "cors"]) {
      try {
        const answer = await fetch(url + "gradio_api/" + path, { method: "POST", mode, ...how });
        results.push(answer.type === "opaque" ? "opaque" : answer.status);
      } catch (error) {
        results.push("failed");
      }
    }
  return results;
}"""


def test_another_sites_page_changes_nothing(
    browser: Browser, make_server: Make, foreign: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It began a download of 16 GB: a text/plain body needs no preflight, and the answer need not be read."""
    monkeypatch.setattr(pair_offers, "free_bytes", lambda device: None)
    begun: list[str] = []

    def change(pair: str, *_: Any) -> Any:
        begun.append(pair)
        raise AssertionError("a foreign page changed the pair")

    server = make_server(FakeEngine(script), change, pairs="presets")
    server.may_load.set()
    assert server.slot.wait(30) is not None
    n_uploaded = len(list(Path(tempfile.gettempdir()).glob("**/evil.bin")))
    context = browser.new_context()
    page = context.new_page()
    page.goto(foreign("<title>evil</title>"))
    results = page.evaluate(ATTACK, [server.url, component(server), CODER])
    context.close()
    assert set(results) <= {"opaque", "failed"} and results.count("failed") >= 5
    assert function(server, "engine_status", None).json()["change"] is None and begun == []
    assert len(list(Path(tempfile.gettempdir()).glob("**/evil.bin"))) == n_uploaded
    # The same body from a program is understood, so it was the page that was refused.
    assert "error" in function(server, "change_pair", {"pair": "no such pair"}).json()


FRAME = '<iframe src="{url}" style="width: 1200px; height: 850px"></iframe>'


def test_a_page_that_may_frame_ours_generates_inside(browser: Browser, make_server: Make, foreign: Any) -> None:
    """As a Space is shown on the hub: the frame's own requests are same-origin."""
    port = free_port()
    web = WebSettings(frame_ancestors=("'self'", f"http://localhost:{port}"))
    server = make_server(FakeEngine(script), web=web)
    server.may_load.set()
    visitor = Visitor(browser, foreign(FRAME.format(url=server.url), port), width=1280)
    inside = visitor.page.frame_locator("iframe")
    expect(inside.locator(".citer-viewer .cv-t").first).to_be_visible(timeout=20_000)
    inside.locator("#cx-prompt textarea").fill("A short one.")
    inside.locator("button#cx-generate").click()
    expect(inside.locator("#cx-mode")).to_have_text("Live", timeout=20_000)
    expect(inside.locator("button#cx-generate")).to_be_enabled(timeout=20_000)
    expect(inside.locator(".citer-viewer")).to_contain_text("42")
    visitor.leave()
    assert [text for text in visitor.complaints if "favicon" not in text] == []


def test_a_page_that_may_not_frame_ours_shows_nothing(browser: Browser, served: Served, foreign: Any) -> None:
    context = browser.new_context()
    page = context.new_page()
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(foreign(FRAME.format(url=served.url)))
    expect(page.frame_locator("iframe").locator("gradio-app")).to_have_count(0)
    page.wait_for_timeout(300)
    context.close()
    assert any("frame-ancestors" in text or "X-Frame-Options" in text for text in refused)


# ------------------------------------------------------------ the page's policy


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_part_of_the_page_works_under_its_policy(visit: Visit, theme: str, tmp_path: Path) -> None:
    """A violation is an error on the console, which fails `visit`. The one-file page, a picture and plotly are hard."""
    visitor = visit(theme=theme)
    page = visitor.page
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Page (HTML)").click()
    offline = tmp_path / "run.html"
    offline.write_bytes(Path(waiting.value.path()).read_bytes())
    alone = visitor.context.new_page()
    alone.goto(offline.resolve().as_uri())
    expect(alone.locator(".cv-t").first).to_be_visible(timeout=10_000)
    alone.close()
    with page.expect_download():
        page.get_by_role("button", name="Picture (PNG)").click()
    visitor.open_tab("Worth it here?")
    expect(page.locator("#cx-profile .js-plotly-plot").first).to_be_visible(timeout=20_000)
    for tab in ("Learn", "API", "How it works"):
        visitor.open_tab(tab)
    policy = page.request.get(visitor.home).headers["content-security-policy"]
    assert "'unsafe-inline'" not in policy.split("script-src")[1].split(";")[0]


def test_injected_markup_runs_nothing(browser: Browser, served: Served) -> None:
    context = browser.new_context()
    page = context.new_page()
    violations: list[str] = []
    page.on("console", lambda message: violations.append(message.text) if message.type == "error" else None)
    page.goto(served.url)
    expect(page.locator(".citer-viewer .cv-t").first).to_be_visible(timeout=15_000)
    assert violations == []
    page.evaluate(
        """() => {
          document.body.insertAdjacentHTML("beforeend", "<img src='data:,x' onerror='window.hacked = 1'>");
          const script = document.createElement("script");
          script.textContent = "window.hacked = 2";
          document.head.append(script);
          const far = document.createElement("script");
          far.src = "http://localhost:9/x.js";
          document.head.append(far);
        }"""
    )
    page.wait_for_timeout(300)
    assert page.evaluate("window.hacked === undefined")
    assert len([text for text in violations if "Content Security Policy" in text]) >= 3
    context.close()


# ------------------------------------------------------------ a password


@pytest.fixture(scope="module")
def locked(make_server: Make) -> Served:
    server = make_server(FakeEngine(script), web=WebSettings(accounts=(("ann", "correct-horse"),)))
    server.may_load.set()
    return server


def test_a_password_closes_everything_but_health(locked: Served) -> None:
    assert httpx.get(f"{locked.url}healthz").json()["state"] in ("ready", "loading")
    assert httpx.get(f"{locked.url}config").status_code == 401
    assert post(locked, "call/replay", {"data": [None, 0.5, "bakery"]}).status_code == 401
    assert "What is" not in httpx.get(locked.url).text
    assert "correct-horse" not in httpx.get(locked.url).text


def test_who_knows_it_generates(locked: Served, browser: Browser) -> None:
    from gradio_client import Client

    visitor = Visitor(browser, locked.url)
    page = visitor.page
    page.get_by_label("username").fill("ann")
    page.get_by_label("password").fill("correct-horse")
    page.get_by_role("button", name="Login").click()
    expect(visitor.tokens.first).to_be_visible(timeout=20_000)
    visitor.ask("A short one.")
    visitor.wait_live()
    visitor.wait_idle()
    assert "42" in visitor.text()
    visitor.leave()
    client = Client(locked.url, auth=("ann", "correct-horse"), verbose=False)
    assert client.predict(api_name="/list_routers")
    client.close()


def test_guessing_is_slow_and_soon_over(locked: Served) -> None:
    def guess(word: str) -> int:
        return httpx.post(f"{locked.url}login", data={"username": "ann", "password": word}).status_code

    statuses = [guess(f"wrong-{n}") for n in range(11)]
    assert statuses[0] == 400 and statuses[-1] == 429
    assert guess("correct-horse") == 429
