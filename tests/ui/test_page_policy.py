"""The policy of a page: nothing that was injected works under it; the journeys see that all of ours does."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, expect

from tests.ui.serving import Served
from tests.ui.visitor import wait_until

pytestmark = pytest.mark.ui


def test_injected_markup_runs_nothing(browser: Browser, served: Served) -> None:
    context = browser.new_context()
    page = context.new_page()
    violations: list[str] = []
    page.on("console", lambda message: violations.append(message.text) if message.type == "error" else None)
    answer = page.goto(served.url)
    assert answer is not None
    policy = answer.headers["content-security-policy"]
    assert "'unsafe-inline'" not in policy.split("script-src")[1].split(";")[0]
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

    def is_undone() -> bool:
        assert page.evaluate("window.hacked === undefined")
        return sum("Content Security Policy" in text for text in violations) >= 3

    wait_until(is_undone)
    context.close()
