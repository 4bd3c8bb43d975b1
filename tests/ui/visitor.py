"""A person with a browser window of their own, and the waits that the tests of the page share."""

from __future__ import annotations

import base64
import itertools
import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from citer_core.trace import RoutingTrace

READY = """() => window.citer && (window.citer.browser.isOn ? window.citer.browser.client.state === "ready"
  : document.querySelector("#cx-device").dataset.state === "ready")"""
LAST_BLOB = """const make = URL.createObjectURL;
URL.createObjectURL = (blob) => { if (blob instanceof Blob) window.lastBlob = blob; return make.call(URL, blob); };"""


def wait_until(holds: Callable[[], bool], within_s: float = 30) -> None:
    """Until it holds, whatever the browser does meanwhile."""
    end = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < end, f"not within {within_s} s"
        time.sleep(0.05)


def until(page: Page, expression: str, seconds: float = 30) -> None:
    """Waits for JavaScript where a page's policy lets no text become a function, as Playwright would have it."""
    wait_until(lambda: bool(page.evaluate(expression)), seconds)


def type_over(field: Locator, text: str) -> None:
    """Types in place of what a field of a number holds; Playwright's `fill` leaves it empty in Firefox."""
    field.press("Control+a")
    field.press_sequentially(text)


class Visitor:
    """A person with a browser window of their own, who notes console errors and requests to other hosts."""

    def __init__(
        self,
        browser: Browser,
        url: str,
        *,
        theme: str = "light",
        width: int = 1280,
        height: int = 900,
        computes: str = "server",
        keeps_offline: bool = False,
        moves: bool = False,
    ) -> None:
        # Firefox has no such setting of a window: `launch_firefox` asks for calm, and the page for its theme.
        is_set = browser.browser_type.name == "chromium"
        motion = "no-preference" if moves else "reduce"
        calm = {"color_scheme": theme, "reduced_motion": motion} if is_set else {"color_scheme": "null"}
        self.context: BrowserContext = browser.new_context(
            viewport={"width": width, "height": height},
            service_workers="allow" if keeps_offline else "block",
            **calm,  # type: ignore[arg-type]
        )
        if not is_set:
            self.context.add_init_script(LAST_BLOB)
            self.context.add_init_script(f"try {{ localStorage.setItem('citer-theme', '{theme}'); }} catch {{}}")
        # Tests of the page know what the scripted engine writes, so their visitors have chosen the server.
        self.context.add_init_script(f"try {{ localStorage.setItem('citer-where', '{computes}'); }} catch {{}}")
        self.page: Page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda m: self.complaints.append(m.text) if m.type == "error" else None)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("requestfailed", self._failed)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.home = url.split("?")[0]
        self.page.goto(url, wait_until="load")

    def _failed(self, request: Any) -> None:
        # A stream that ends because a run or a page does is aborted by the browser; everything else is a complaint.
        if request.failure not in ("net::ERR_ABORTED", "NS_BINDING_ABORTED"):
            self.complaints.append(f"{request.url}: {request.failure}")

    def ready(self) -> None:
        """Until the pair is there, on the server or in this browser."""
        self.page.mouse.move(1, 1)  # a browser loads it at a person's first sign
        self.page.wait_for_function(READY, timeout=60_000)

    def shown(self) -> RoutingTrace:
        """The run on the screen."""
        return RoutingTrace.from_json(json.dumps(self.page.evaluate("window.citer.viewer.trace()")))

    def saved(self, button: str | Locator) -> bytes:
        """What a button hands out as a file."""
        if isinstance(button, str):
            button = self.page.get_by_role("button", name=button)
        if self.context.browser.browser_type.name == "firefox":  # it tells Playwright of no download
            self.page.evaluate("window.lastBlob = null")
            button.click()
            self.page.wait_for_function("() => window.lastBlob !== null", timeout=20_000)
            text = self.page.evaluate("window.lastBlob.arrayBuffer().then((all) => new Uint8Array(all).toBase64())")
            return base64.b64decode(text)
        with self.page.expect_download(timeout=20_000) as waiting:
            button.click()
        return Path(waiting.value.path()).read_bytes()

    def set_tau(self, tau: float) -> None:
        """Types tau."""
        number = self.page.locator("#cx-tau input[type=number]")
        type_over(number, f"{tau:g}")
        number.press("Enter")

    def rest(self) -> None:
        """Gives the page time for what it puts off."""
        self.page.evaluate("new Promise((done) => requestIdleCallback(done, { timeout: 1000 }))")

    @property
    def tokens(self) -> Any:
        """The drawn tokens."""
        return self.page.locator(".citer-viewer .cv-t")

    def open_view(self, name: str) -> None:
        """Opens a view; on a narrow page the links are behind a button."""
        # Before the script is there a link is an ordinary one, which leaves the rest of the address behind.
        expect(self.page.locator("body[data-drawn]")).to_be_attached(timeout=20_000)
        link = self.page.locator(".cx-views a", has_text=re.compile(f"^{re.escape(name)}$"))
        expect(link).to_have_count(1)
        if not link.is_visible():
            self.page.locator("#cx-menu").click()
        link.click()
        expect(link).to_have_attribute("aria-current", "page")

    def head(self, name: str) -> None:
        """Presses a button of the header; on a narrow page they are behind a button too."""
        if not self.page.locator(name).is_visible():
            self.page.locator("#cx-menu").click()
        self.page.locator(name).click()

    def ask(self, text: str) -> None:
        """Types a problem and generates."""
        self.page.locator("#cx-prompt textarea").fill(text)
        self.page.locator("button#cx-generate").click()

    def wait_live(self) -> None:
        """Until the run on the screen is a live one."""
        expect(self.page.locator(".cv-mode")).to_have_text("Live", timeout=10_000)

    def wait_idle(self) -> None:
        """Until nothing runs."""
        expect(self.page.locator("button#cx-generate")).to_be_enabled(timeout=20_000)

    def text(self) -> str:
        """The routed text as a person would copy it."""
        return str(self.page.evaluate("window.citer.viewer.events.map((event) => event.text).join('')"))

    def leave(self) -> None:
        """Closes the window."""
        self.context.close()


def windows(browser: Browser, at: str) -> Iterator[Callable[..., Visitor]]:
    """Opens windows; what they complain about fails the test at its end."""
    visitors: list[Visitor] = []

    def open_window(**how: Any) -> Visitor:
        visitor = Visitor(browser, how.pop("url", at), **how)
        expect(visitor.page.locator(".cv-mode")).to_be_visible(timeout=15_000)
        expect(visitor.tokens.first).to_be_visible(timeout=15_000)
        visitors.append(visitor)
        return visitor

    yield open_window
    for visitor in visitors:
        visitor.leave()
    assert list(itertools.chain.from_iterable(visitor.complaints for visitor in visitors)) == []
    elsewhere = [url for v in visitors for url in v.requests if not url.startswith((v.home, "blob:", "data:", "file:"))]
    assert elsewhere == []
