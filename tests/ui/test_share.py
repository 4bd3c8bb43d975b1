"""Pages of one file: as a page hands them out, and as the command makes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from citer_core.assets import ASSETS
from citer_core.cli.main import main
from citer_core.recording import RUNS
from citer_core.trace import RoutingTrace
from tests.hostile import hostile_strings
from tests.traces import trace_of_texts
from tests.ui.axe import findings, overflow
from tests.ui.visitor import Visitor

pytestmark = pytest.mark.ui
Visit = Callable[..., Visitor]


class Opened:
    """A file opened from the disk, with everything that the browser asked for or complained about."""

    def __init__(self, browser: Browser, path: Path, **how: Any) -> None:
        self.context = browser.new_context(offline=True, **how)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda m: self.complaints.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.url = path.resolve().as_uri()
        self.page.goto(self.url)


def test_a_page_of_one_file_opens_from_the_disk_as_it_was_left(visit: Visit, browser: Browser, tmp_path: Path) -> None:
    visitor = visit()
    page = visitor.page
    expect(page.locator("#cx-device")).to_have_attribute("data-state", "ready", timeout=20_000)
    visitor.ask("What is kept?")
    visitor.wait_live()
    visitor.wait_idle()
    page.evaluate("window.citer.viewer.goTo(3)")
    page.keyboard.press("f")
    expect(page.locator(".cv-branch")).to_have_count(2)
    visitor.wait_idle()
    page.evaluate("window.citer.setPricing('Qwen2-1.5B / 72B', 1000, 989)")
    page.locator(".cv-key-button", has_text="LLM").click()
    page.get_by_label("certainty").check()
    page.locator("#cx-tau input[type=number]").fill("0.25")
    page.evaluate("window.citer.viewer.pin(5)")
    shown = page.evaluate("JSON.stringify(window.citer.viewer.trace())")
    original = page.evaluate("window.citer.viewer.branching.book.entries[0].trace.events.map((e) => e.text).join('')")
    kept = tmp_path / "kept.html"
    kept.write_bytes(visitor.saved("Page (HTML)"))
    opened = Opened(browser, kept, color_scheme="dark", viewport={"width": 390, "height": 900})
    again = opened.page
    expect(again.locator(".co-tau-value")).to_have_text("0.25")
    assert again.evaluate("JSON.stringify(window.citerOffline.trace())") == shown
    expect(again.locator("[data-filter=llm].cv-certainty")).to_be_visible()
    expect(again.locator(".cv-t[data-pinned]")).to_have_attribute("data-i", "5")
    assert again.evaluate("window.citerOffline.pricing.device.bandwidth") == 1e12
    expect(again.locator(".cv-branch")).to_have_count(2)
    assert overflow(again) == 0 and findings(again) == []
    again.get_by_role("button", name="Original").first.click()
    assert again.evaluate("window.citerOffline.events.map((event) => event.text).join('')") == original
    again.locator("#co-tau").press("ArrowLeft")
    expect(again.locator(".cv-notice")).to_contain_text("At τ")
    with again.expect_download() as waiting:
        again.get_by_role("button", name="Trace (JSON)").click()
    assert RoutingTrace.from_json(waiting.value.path().read_text(encoding="utf-8")).completion == original
    assert opened.complaints == []
    assert [url for url in opened.requests if not url.startswith("blob:")] == [opened.url]

    # Damaged values are left out, and the run is shown.
    text = kept.read_text(encoding="utf-8")
    assert text.count('"token":5') == 1
    kept.write_text(text.replace('"token":5', '"token":-5'), encoding="utf-8")
    again.goto(opened.url)
    expect(again.get_by_role("alert")).to_contain_text("token is -5; it must be the number of a token, or nothing.")
    expect(again.locator(".cv-t").first).to_be_visible()
    opened.context.close()


def test_the_gallery_opens_from_the_disk(browser: Browser, tmp_path: Path) -> None:
    hostile = tmp_path / "hostile.json"
    trace = trace_of_texts(hostile_strings(60), "<script>window.hacked=1</script>")
    hostile.write_text(trace.to_json(), encoding="utf-8")
    assert main(["gallery", str(tmp_path / "out"), str(hostile)]) == 0
    opened = Opened(browser, tmp_path / "out" / "index.html")
    page = opened.page
    assert findings(page) == []
    n_runs = page.get_by_role("link").count()
    assert n_runs == 1 + len(RUNS.read(ASSETS / "traces"))
    for number in (0, n_runs - 1):  # one that ships and the hostile one; all are one template
        page.goto(opened.url)
        page.get_by_role("link").nth(number).click()
        expect(page.locator(".cv-t").first).to_be_visible()
        assert page.evaluate("window.hacked === undefined")
    assert opened.complaints == []
    opened.context.close()
