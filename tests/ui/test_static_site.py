"""The page as files on any web server: it writes by itself, asks nobody else, and works when its host is gone."""

from __future__ import annotations

import functools
import http.server
import json
import threading
import time
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from citer_core.assets import ASSETS
from citer_core.tasks.datasets import bundled_rows
from citer_core.trace import RoutingTrace
from citer_core.ui.site.build import build_site, needed_bytes
from tests.ui.axe import grave, overflow
from tests.ui.conftest import Visitor

pytestmark = pytest.mark.ui
READY = "window.citer?.browser.client?.state === 'ready'"
KEPT = "caches.keys().then((names) => caches.open(names[0])).then((cache) => cache.keys()).then((kept) => kept.length)"


class Files(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def until(page: Page, expression: str, seconds: float = 30) -> None:
    """Waits for JavaScript; the page's own policy allows no text to become a function, as Playwright would have it."""
    end = time.monotonic() + seconds
    while not page.evaluate(expression):
        assert time.monotonic() < end, expression
        page.wait_for_timeout(50)


def shown(visitor: Visitor) -> RoutingTrace:
    return RoutingTrace.from_json(json.dumps(visitor.page.evaluate("window.citer.viewer.trace()")))


def test_the_folder_writes_by_itself_and_works_when_its_host_is_gone(browser: Browser, tmp_path: Path) -> None:
    files = build_site(tmp_path, {})
    assert needed_bytes(tmp_path) <= 12e6
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Files, directory=str(tmp_path)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/"
    visitor = Visitor(browser, url, computes="server")  # there is none, whatever was chosen elsewhere
    page = visitor.page
    expect(visitor.tokens.first).to_be_visible(timeout=15_000)
    until(page, READY)

    # The recorded run under another tau is the recorded run of the SLM alone.
    page.locator("#cx-tau input[type=number]").fill("0")
    expect(page.locator(".cv-notice")).to_contain_text("written in this browser", timeout=15_000)
    alone = RoutingTrace.from_json((ASSETS / "traces" / "bakery-slm.json").read_text(encoding="utf-8"))
    assert shown(visitor).key == alone.key
    assert page.locator("#cx-tau input[type=range]").input_value() == "0"

    problem = bundled_rows("mc")[1].problem
    page.locator('#cx-type input[value="mc"]').check()
    page.locator("#cx-tau input[type=number]").fill("0.93")
    visitor.ask(problem.question)
    question = json.dumps(problem.question)
    until(page, f"window.citer.viewer.trace()?.prompt.question === {question} && !window.citer.isLive")
    trace = shown(visitor)
    assert trace.prompt.text == problem.prompt and trace.answer is not None and trace.answer.is_correct is not None
    assert trace.router.name == "citer" and trace.settings.threshold == 0.93

    assert grave(page) == [] and overflow(page) == 0
    page.get_by_role("link", name="Learn").click()
    expect(page.get_by_role("heading", name="Glossary")).to_be_visible(timeout=10_000)

    # Everything is kept; then the host goes.
    n_files = len(files) - 2  # not the worker's own script, nor what a host reads
    until(page, f"{KEPT}.then((n) => n >= {n_files})", 60)
    server.shutdown()
    server.server_close()
    page.goto(f"{url}?preset=trip&tau=0.5")
    expect(visitor.tokens.first).to_be_visible(timeout=15_000)
    until(page, READY)
    expect(page.locator(".cv-notice")).to_contain_text("written in this browser", timeout=15_000)
    assert shown(visitor).settings.threshold == 0.5
    elsewhere = [asked for asked in visitor.requests if not asked.startswith((url, "blob:", "data:"))]
    complaints = visitor.complaints
    visitor.leave()
    assert elsewhere == [] and complaints == []
