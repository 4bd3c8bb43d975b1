"""The policy that a page is served with: everything of ours works under it, and nothing that was injected."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.ui.conftest import Served, Visitor

pytestmark = pytest.mark.ui
Visit = Callable[..., Visitor]


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
    visitor.open_view("Worth it here?")
    expect(page.locator("#cx-profile .js-plotly-plot").first).to_be_visible(timeout=20_000)
    for tab in ("Learn", "API", "Explore"):
        visitor.open_view(tab)
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
