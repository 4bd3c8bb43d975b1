"""The page as files on any web server: it writes by itself, asks nobody else, and works when its host is gone."""

from __future__ import annotations

import functools
import http.server
import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from citer_core.assets import ASSETS
from citer_core.comparison import Comparison, read_comparisons
from citer_core.tasks.datasets import bundled_rows
from citer_core.trace import RoutingTrace
from citer_core.ui.build import build_site, needed_bytes
from citer_core.ui.evidence.messages import evidence_message
from citer_core.ui.labels.stored import FOLDER, read_stored
from tests.ui.axe import grave, overflow, shorten_tables, violations
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


@contextmanager
def hosted(folder: Path) -> Iterator[str]:
    """Any web server: the address of one that sends the folder's files."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Files, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()


def shown(visitor: Visitor) -> RoutingTrace:
    return RoutingTrace.from_json(json.dumps(visitor.page.evaluate("window.citer.viewer.trace()")))


def test_the_folder_writes_by_itself_and_works_when_its_host_is_gone(browser: Browser, tmp_path: Path) -> None:
    files = build_site(tmp_path, {})
    assert needed_bytes(tmp_path) <= 12e6
    with hosted(tmp_path) as url:
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
        page.evaluate("window.citer.viewer.goTo(0)")
        page.get_by_role("button", name="Ask the LLM everywhere").click()
        expect(page.locator(".cv-truth")).to_contain_text(re.compile(r"Case [123]: .*Label [01]: "), timeout=15_000)

        assert grave(page) == [] and overflow(page) == 0
        page.get_by_role("link", name="Learn").click()
        expect(page.get_by_role("heading", name="Glossary")).to_be_visible(timeout=10_000)

        # Everything is kept; then the host goes.
        n_files = len(files) - 2  # not the worker's own script, nor what a host reads
        until(page, f"{KEPT}.then((n) => n >= {n_files})", 60)
    page.goto(f"{url}?preset=trip&tau=0.5&show=llm&bw=935.5")
    expect(visitor.tokens.first).to_be_visible(timeout=15_000)
    until(page, READY)
    expect(page.locator(".cv-notice")).to_contain_text("written in this browser", timeout=15_000)
    assert shown(visitor).settings.threshold == 0.5
    expect(page.locator("#cx-bandwidth")).to_have_value("935.5")
    assert page.evaluate("window.citer.link.address()").endswith("tau=0.5&show=llm&bw=935.5")
    elsewhere = [asked for asked in visitor.requests if not asked.startswith((url, "blob:", "data:"))]
    complaints = visitor.complaints
    visitor.leave()
    assert elsewhere == [] and complaints == []


def test_every_view_is_there_and_accessible(browser: Browser, tmp_path: Path) -> None:
    recorded = read_stored()[0]
    build_site(tmp_path, {recorded.title: (FOLDER / recorded.file).read_text(encoding="utf-8")})
    found: dict[str, object] = {}
    with hosted(tmp_path) as url:
        for theme, width in (("light", 1280), ("dark", 390)):
            visitor = Visitor(browser, url, theme=theme, width=width)
            page = visitor.page
            expect(visitor.tokens.first).to_be_visible(timeout=15_000)

            def look(view: str, page: Page = page, how: str = theme) -> None:
                found[f"{view}, {how}"] = (overflow(page), violations(page, tags=()))

            look("Explore")
            visitor.open_view("Compare")
            there = Comparison.read(ASSETS / "comparisons" / read_comparisons(ASSETS / "comparisons")[0]["file"])
            expect(page.locator(".cq-column")).to_have_count(3, timeout=15_000)
            texts = page.locator(".cq-text")
            drawn = texts.evaluate_all("all => all.map((one) => one.textContent)")
            assert drawn == [there.runs[k].completion.lstrip() for k in (0, 1, -1)]
            if theme == "light":
                compared_live(page)
            look("Compare")
            visitor.open_view("Labels")
            expect(page.locator(".cl-text .cl-t").first).to_be_visible(timeout=15_000)
            look("Labels")
            visitor.open_view("Evidence")
            expect(page.locator(".ce-plot[data-drawn]")).to_be_visible(timeout=60_000)
            shorten_tables(page, 3)
            look("Evidence")
            if theme == "light":
                a_point_opens_in_explore(visitor)
            visitor.open_view("Learn")
            expect(page.get_by_role("heading", name="Glossary")).to_be_visible(timeout=15_000)
            look("Learn")
            if theme == "light":
                taken_away_and_found_again(visitor)
            elsewhere = [asked for asked in visitor.requests if not asked.startswith((url, "blob:", "data:", "file:"))]
            visitor.leave()
            assert elsewhere == [] and visitor.complaints == []
    assert {state: result for state, result in found.items() if result != (0, [])} == {}


def compared_live(page: Page) -> None:
    """The recorded problem once more, live: this browser writes what Python recorded."""
    there = Comparison.read(ASSETS / "comparisons" / read_comparisons(ASSETS / "comparisons")[0]["file"])
    page.get_by_text("Write a problem of your own").click()
    form = page.locator(".cq-form")
    go = page.get_by_role("button", name="Write it now")
    expect(go).to_be_enabled(timeout=15_000)
    router, tau = there.runs[1].router.name, there.runs[1].settings.threshold
    form.get_by_label("Routed by").select_option(router)
    form.get_by_label("at τ").first.fill(f"{tau:g}")
    form.get_by_label("and by the router").select_option("")
    go.click()
    expect(page.locator(".cx-compare")).to_contain_text("Written live", timeout=15_000)
    expect(go).to_be_enabled(timeout=30_000)
    drawn = page.locator(".cq-text").evaluate_all("all => all.map((one) => one.textContent)")
    assert drawn == [there.runs[k].completion.lstrip() for k in (0, 1, -1)]
    expect(page.locator(".cq-verdict").first).to_have_text("✓ right" if is_right(there.runs[0]) else "✗ wrong")


def is_right(run: RoutingTrace) -> bool:
    return bool(run.answer and run.answer.is_correct)


def a_point_opens_in_explore(visitor: Visitor) -> None:
    """Where the stored results are of the bundled pair."""
    page = visitor.page
    opening = [
        (regime["name"], kind, k, point)
        for regime in evidence_message()["evidence"]["regimes"]
        for kind, entry in regime["kinds"].items()
        for k, point in enumerate(entry["points"])
        if point["opens"] and point["router"] == "citer"
    ]
    if not opening:
        return
    name, kind, k, point = opening[0]
    page.locator(f".citer-evidence [data-name='{name}']").click()
    page.locator(f".citer-evidence [data-name='{kind}']").click()
    page.locator(".ce-plot").evaluate("(node, k) => node.emit('plotly_click', { points: [{ customdata: k }] })", k)
    expect(page).to_have_url(re.compile("[?&]router=citer&"), timeout=15_000)
    expect(visitor.tokens.first).to_be_visible(timeout=15_000)
    assert page.locator("#cx-router select").input_value() == "citer"
    assert page.evaluate("window.citer.form.tau") == point["tau"]


def taken_away_and_found_again(visitor: Visitor) -> None:
    """The exports of the run on the screen, and the link to it."""
    page = visitor.page
    visitor.open_view("Explore")
    for name in ("Trace (JSON)", "Table (CSV)", "Picture (SVG)", "Page (HTML)"):
        with page.expect_download() as download:
            page.get_by_role("button", name=name).click()
        assert Path(download.value.path()).stat().st_size > 1000
    visitor.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("#cx-copy-link").click()
    expect(page.locator("#cx-copy-link")).to_have_text("Link copied")
    key = page.evaluate("window.citer.viewer.view.runKey")
    page.goto(page.evaluate("navigator.clipboard.readText()"))
    expect(visitor.tokens.first).to_be_visible(timeout=15_000)
    assert page.evaluate("window.citer.viewer.view.runKey") == key
