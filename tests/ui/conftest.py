"""What the tests of the page share: servers, the page as files, and browsers that notice every complaint.

A test that asks for `enter` is a journey: it runs on both hosts of the page, the server with the bundled pair and the
page as files, in Chromium, and in Firefox by `make test-firefox`. What a server alone has is tested with `visit`, on
one with a scripted engine.
"""

from __future__ import annotations

import base64
import functools
import http.server
import itertools
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, Playwright, expect, sync_playwright

from citer_core.config import AppConfig
from citer_core.tasks.problems import Problem
from citer_core.trace import RoutingTrace
from citer_core.ui.build import build_site
from citer_core.ui.labels.stored import FOLDER, read_stored
from citer_core.ui.pair.engine_slot import EngineSlot
from citer_core.ui.pair.offers import PairOffers
from citer_core.ui.pair.switch import LoadPair, PairSwitch
from citer_core.ui.presets import Preset, read_presets
from citer_core.ui.run.desk import RunDesk
from citer_core.ui.server import PageServer
from tests.browser import LAUNCH_ARGS, provide_browser
from tests.fakes import PAIR, FakeEngine, right_answer
from tests.firefox import launch_firefox

HOSTILE = (
    " <script>window.hacked=1</script> ${window.hacked=2} `tick` {{value}} \u202eשלום\u202c 🎉"
    " <img src=x onerror=window.hacked=3>"
)
SLOW_TOKEN_S = 0.05
READY = """() => window.citer && (window.citer.browser.isOn ? window.citer.browser.client.state === "ready"
  : document.querySelector("#cx-device").dataset.state === "ready")"""
LAST_BLOB = """const make = URL.createObjectURL;
URL.createObjectURL = (blob) => { if (blob instanceof Blob) window.lastBlob = blob; return make.call(URL, blob); };"""
N_CONCURRENT = 2


def script(problem: Problem) -> str:
    """What the scripted engine writes: hostile, long or as a pupil would."""
    if "hostile" in problem.question:
        return HOSTILE + right_answer(problem)
    if "long" in problem.question:
        return " one more word" * 200
    return f" We read {len(problem.question)} letters and think a little." + right_answer(problem)


def pytest_configure(config: pytest.Config) -> None:
    """Gradio leaves event loops (and their socket pairs) to the garbage collector, whichever test it then runs in."""
    config.addinivalue_line("filterwarnings", "ignore:unclosed event loop:ResourceWarning")
    config.addinivalue_line("filterwarnings", "ignore:unclosed <socket.socket.*family=1:ResourceWarning")


@dataclass
class Served:
    """A running page: its address, the engine behind it, and the switch that lets the engine load."""

    url: str
    engine: FakeEngine
    slot: EngineSlot
    may_load: threading.Event = field(default_factory=threading.Event)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def unchanging(*_: Any) -> Any:
    """The loader of a page whose pair is not to be changed."""
    raise AssertionError("the pair was changed")


def bundled_presets(folder: Path) -> list[Preset]:
    """The recorded runs of the pair that the fakes stand for."""
    return [preset for preset in read_presets(folder) if preset.pair == PAIR.name]


def closed(pages: dict[str, Any]) -> None:
    """Closes servers, all at once: each waits a while for whoever still listens."""
    with ThreadPoolExecutor(max(1, len(pages))) as together:
        for _ in together.map(lambda page: page.close(), pages.values()):
            pass


def server_maker(pages: dict[str, Any]) -> Callable[..., Served]:
    """Serves a page over an engine of one's own, and notes it by its address in `pages`."""

    def make(
        engine: FakeEngine,
        change: LoadPair = unchanging,
        *,
        all_runs: bool = False,
        grace_s: float | None = None,
        loads_after_s: float = 60,
        **config: Any,
    ) -> Served:
        may_load = threading.Event()

        def load() -> FakeEngine:
            may_load.wait(loads_after_s)
            return engine.load()

        config.setdefault("pairs", "fixed")
        config.setdefault("n_concurrent_runs", N_CONCURRENT)
        settings = AppConfig(port=free_port(), **config)
        slot = EngineSlot(load, retry_s=0.3, n_runs=N_CONCURRENT)  # type: ignore[arg-type]  # a fake engine
        switch = PairSwitch(slot, change, PairOffers(settings), settings.pair, settings.dtype)
        with pytest.MonkeyPatch.context() as patch:
            if not all_runs:  # tests know the bundled pair's by heart; which others are shipped is not their business
                patch.setattr("citer_core.ui.server.presets_to_show", bundled_presets)
            if grace_s is not None:
                patch.setattr("citer_core.ui.server.RunDesk", partial(RunDesk, grace_s=grace_s))
            server = PageServer(settings, slot, switch)
        url = server.start()
        slot.start()
        pages[url] = server
        return Served(url, engine, slot, may_load)

    return make


@pytest.fixture(scope="module")
def make_server() -> Iterator[Callable[..., Served]]:
    """Servers of a file of tests: an idle one takes a few hundredths of a core, which adds up."""
    pages: dict[str, Any] = {}
    yield server_maker(pages)
    closed(pages)


@pytest.fixture(scope="session")
def pages() -> Iterator[dict[str, Any]]:
    """The pages that all files share, by their address."""
    pages: dict[str, Any] = {}
    yield pages
    closed(pages)


@pytest.fixture(scope="session")
def make_shared_server(pages: dict[str, Any]) -> Callable[..., Served]:
    """Servers that all files share."""
    return server_maker(pages)


@pytest.fixture(scope="session")
def served(make_shared_server: Callable[..., Served]) -> Served:
    """The server that most tests share, with a loaded engine that takes its time for each token."""
    server = make_shared_server(FakeEngine(script, delay_s=SLOW_TOKEN_S))
    server.may_load.set()
    return server


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    """What drives the browsers."""
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="session")
def browser(request: pytest.FixtureRequest, playwright: Playwright) -> Iterator[Browser]:
    """One Chromium for all tests; a whole one where some of them are slow, as those measure speed."""
    path = provide_browser(is_whole=any(item.get_closest_marker("slow") for item in request.session.items))
    chromium = playwright.chromium.launch(executable_path=str(path), args=list(LAUNCH_ARGS))
    yield chromium
    chromium.close()


@pytest.fixture(scope="session")
def firefox(playwright: Playwright) -> Iterator[Browser]:
    """One Firefox for all journeys."""
    with launch_firefox(playwright) as found:
        yield found


@pytest.fixture(scope="session", params=["chromium", pytest.param("firefox", marks=pytest.mark.firefox)])
def any_browser(request: pytest.FixtureRequest) -> Browser:
    """What a journey is made in."""
    browser: Browser = request.getfixturevalue("firefox" if request.param == "firefox" else "browser")
    return browser


def until(page: Page, expression: str, seconds: float = 30) -> None:
    """Waits for JavaScript where a page's policy lets no text become a function, as Playwright would have it."""
    end = time.monotonic() + seconds
    while not page.evaluate(expression):
        assert time.monotonic() < end, expression
        page.wait_for_timeout(50)


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
    ) -> None:
        # Firefox has no such setting of a window: `launch_firefox` asks for calm, and the page for its theme.
        is_set = browser.browser_type.name == "chromium"
        calm = {"color_scheme": theme, "reduced_motion": "reduce"} if is_set else {"color_scheme": "null"}
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

    def begins(self) -> None:
        """Gives the first sign of somebody who uses the page, and waits for what the page fetches then."""
        expect(self.page.locator("#cx-device")).to_have_attribute("data-state", "ready", timeout=20_000)
        self.page.mouse.move(1, 1)
        self.page.wait_for_timeout(500)

    @property
    def tokens(self) -> Any:
        """The drawn tokens."""
        return self.page.locator(".citer-viewer .cv-t")

    def open_view(self, name: str) -> None:
        """Opens a view; on a narrow page the links are behind a button."""
        # Before the script is there a link is an ordinary one, which leaves the rest of the address behind.
        expect(self.page.locator("body[data-drawn]")).to_be_attached(timeout=20_000)
        link = self.page.locator(".cx-views a", has_text=name)
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


@pytest.fixture
def visit(browser: Browser, served: Served) -> Iterator[Callable[..., Visitor]]:
    """Opens windows on the shared server; a console error or a request elsewhere fails the test at its end."""
    yield from windows(browser, served.url)


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


@pytest.fixture(scope="session")
def labelled(make_shared_server: Callable[..., Served]) -> Served:
    """A server with the bundled pair."""
    from tests.ui.labels import RealEngine  # torch, which most tests of the page do without

    server = make_shared_server(RealEngine())
    server.may_load.set()
    assert server.slot.wait(60) is not None
    return server


class Files(http.server.SimpleHTTPRequestHandler):
    """Sends a folder's files, and says nothing of it."""

    def do_GET(self) -> None:
        if self.path == "/favicon.ico":  # which browsers ask for by themselves
            self.send_response(204)
            self.end_headers()
        else:
            super().do_GET()

    def log_message(self, *_: object) -> None:
        pass


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


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page as files, with the first of the recorded labels."""
    folder = tmp_path_factory.mktemp("site")
    entry = read_stored()[0]
    build_site(folder, {entry.title: (FOLDER / entry.file).read_text(encoding="utf-8")})
    return folder


@pytest.fixture(scope="session", params=["served", "static"])
def host(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of the page with the bundled pair: on a server, or as files for a browser that computes."""
    if request.param == "served":
        yield request.getfixturevalue("labelled").url
    else:
        with hosted(request.getfixturevalue("site")) as url:
            yield url


@pytest.fixture
def is_served(host: str, request: pytest.FixtureRequest) -> bool:
    """Whether the host of this journey is the server."""
    return bool(request.node.callspec.params["host"] == "served")


@pytest.fixture(params=[False, pytest.param(True, marks=pytest.mark.slow)], ids=["", "swapped"])
def look(is_served: bool, request: pytest.FixtureRequest) -> dict[str, Any]:
    """How a window looks: each host has one of the two that differ most; the slow tests have the other one too."""
    return {"theme": "light", "width": 1280} if is_served != request.param else {"theme": "dark", "width": 390}


@pytest.fixture
def enter(any_browser: Browser, host: str) -> Iterator[Callable[..., Visitor]]:
    """Opens windows on a host; a complaint or a request elsewhere fails the journey."""
    yield from windows(any_browser, host)


@pytest.fixture
def open_tab(visit: Callable[..., Visitor], labelled: Served) -> Callable[..., Visitor]:
    """A window in which the view Labels is open and its first problem read."""

    def opened(**how: Any) -> Visitor:
        visitor = visit(url=labelled.url, **how)
        visitor.open_view("Labels")
        expect(visitor.page.locator(".cl-text .cl-t").first).to_be_visible(timeout=10_000)
        return visitor

    return opened
