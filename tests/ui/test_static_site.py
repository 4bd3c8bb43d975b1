"""The page as files on any web server: it asks no other host, and works when its own is gone."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from citer_core.ui.build import needed_bytes
from tests.traces import recorded
from tests.ui.serving import hosted
from tests.ui.visitor import READY, Visitor, until

pytestmark = pytest.mark.ui
KEPT = "caches.keys().then((names) => caches.open(names[0])).then((cache) => cache.keys()).then((kept) => kept.length)"


def test_the_folder_works_when_its_host_is_gone(browser: Browser, site: Path) -> None:
    assert needed_bytes(site) <= 12e6
    n_files = sum(path.is_file() for path in site.rglob("*"))
    with hosted(site) as url:
        visitor = Visitor(browser, url, computes="server", keeps_offline=True)  # there is none, whatever was chosen
        page = visitor.page
        expect(visitor.tokens.first).to_be_visible(timeout=15_000)
        # The recorded run under another tau is the recorded run of the SLM alone.
        until(page, f"({READY})()")
        visitor.set_tau(0)
        expect(page.locator(".cv-notice")).to_contain_text("written in this browser", timeout=15_000)
        assert visitor.shown().key == recorded("bakery-slm").key
        expect(page.locator("#cx-tau input[type=range]")).to_have_value("0")
        # Everything is kept, but the worker's own script and what a host reads; then the host goes.
        until(page, f"{KEPT}.then((n) => n >= {n_files - 2})", 60)
    page.goto(f"{url}?preset=trip&tau=0.5&show=llm&bw=935.5")
    expect(visitor.tokens.first).to_be_visible(timeout=15_000)
    until(page, f"({READY})()")
    expect(page.locator(".cv-notice")).to_contain_text("written in this browser", timeout=15_000)
    assert visitor.shown().settings.threshold == 0.5
    expect(page.locator("#cx-bandwidth")).to_have_value("935.5")
    assert page.evaluate("window.citer.link.address()").endswith("tau=0.5&show=llm&bw=935.5")
    elsewhere = [asked for asked in visitor.requests if not asked.startswith((url, "blob:", "data:"))]
    complaints = visitor.complaints
    visitor.leave()
    assert elsewhere == [] and complaints == []
