"""Other sites' pages and names: what they ask of a served page, how they frame it, and what is refused them."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from citer_core.models.presets import EMBEDDED, PRESETS
from citer_core.ui.pair import offers as pair_offers
from citer_core.web.settings import WebSettings
from tests.fakes import FakeEngine
from tests.ui.endpoints import function
from tests.ui.serving import Served, hosted, script
from tests.ui.visitor import Visitor, wait_until

pytestmark = pytest.mark.ui
Make = Callable[..., Served]
CODER = next(name for name in PRESETS if name != EMBEDDED)


@pytest.fixture
def foreign(tmp_path: Path) -> Iterator[Callable[[str], str]]:
    """Serves a page at `localhost`, which is another site for a browser than 127.0.0.1."""
    with hosted(tmp_path) as url:

        def page(text: str) -> str:
            (tmp_path / "index.html").write_text(text, encoding="utf-8")
            return url.replace("127.0.0.1", "localhost")

        yield page


ATTACK = """async ([url, pair]) => {
  const body = JSON.stringify({ pair, dtype: "" });
  const form = new FormData();
  form.append("files", new Blob(["x".repeat(1000)]), "evil.bin");
  const tries = [
    ["citer/ask/change_pair", { body, headers: { "Content-Type": "text/plain" } }],
    ["citer/ask/change_pair/", { body }],
    ["citer/ask/change_pair", { body: new Blob([body]) }],
    ["gradio_api/upload", { body: form }],
    ["gradio_api/queue/join", { body: JSON.stringify({ data: [], fn_index: 0, session_hash: "evil" }) }],
  ];
  const results = [];
  for (const [path, how] of tries)
    for (const mode of ["no-cors", "cors"]) {
      try {
        const answer = await fetch(url + path, { method: "POST", mode, ...how });
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
    results = page.evaluate(ATTACK, [server.url, CODER])
    context.close()
    assert set(results) <= {"opaque", "failed"} and results.count("failed") >= 5
    assert function(server, "engine_status", None).json()["change"] is None and begun == []
    assert len(list(Path(tempfile.gettempdir()).glob("**/evil.bin"))) == n_uploaded
    # The same body from a program is understood, so it was the page that was refused.
    assert function(server, "change_pair", {"pair": "no such pair"}).json()["level"] == "error"


FRAME = '<iframe src="{url}" style="width: 1200px; height: 850px"></iframe>'


def test_a_page_that_may_frame_ours_generates_inside(browser: Browser, make_server: Make, foreign: Any) -> None:
    """As a Space is shown on the hub: the frame's own requests are same-origin."""
    web = WebSettings(frame_ancestors=("'self'", foreign("").rstrip("/")))
    server = make_server(FakeEngine(script), web=web)
    server.may_load.set()
    visitor = Visitor(browser, foreign(FRAME.format(url=server.url)), width=1280)
    inside = visitor.page.frame_locator("iframe")
    expect(inside.locator(".citer-viewer .cv-t").first).to_be_visible(timeout=20_000)
    inside.locator("#cx-prompt textarea").fill("A short one.")
    inside.locator("button#cx-generate").click()
    expect(inside.locator(".cv-mode")).to_have_text("Live", timeout=20_000)
    expect(inside.locator("button#cx-generate")).to_be_enabled(timeout=20_000)
    expect(inside.locator(".citer-viewer")).to_contain_text("42")
    visitor.leave()
    assert visitor.complaints == []


def test_a_page_that_may_not_frame_ours_shows_nothing(browser: Browser, served: Served, foreign: Any) -> None:
    context = browser.new_context()
    page = context.new_page()
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(foreign(FRAME.format(url=served.url)))
    expect(page.frame_locator("iframe").locator("#cx-viewer")).to_have_count(0)
    said = re.compile("frame-ancestors|X-Frame-Options")
    wait_until(lambda: page.evaluate("1") and any(map(said.search, refused)))
    context.close()
