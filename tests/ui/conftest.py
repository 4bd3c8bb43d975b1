"""The fixtures of the page's tests: servers, the page as files, and browsers that notice every complaint.

A test that asks for `enter` is a journey, on one host of the page, the server with the bundled pair or the page as
files, and with the slow tests on the other; in Chromium, and in Firefox by `make test-firefox`. What a server alone has
is tested with `visit`, on one with a scripted engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Playwright, expect, sync_playwright

from citer_core.ui.build import build_site
from citer_core.ui.labels.recorded_labels import FOLDER, read_stored
from tests.browser import LAUNCH_ARGS, provide_browser
from tests.fakes import FakeEngine
from tests.firefox import launch_firefox
from tests.ui.serving import SLOW_TOKEN_S, Served, closed, hosted, script, server_maker
from tests.ui.visitor import Visitor, windows


def pytest_configure(config: pytest.Config) -> None:
    """Gradio leaves event loops (and their socket pairs) to the garbage collector, whichever test it then runs in."""
    config.addinivalue_line("filterwarnings", "ignore:unclosed event loop:ResourceWarning")
    config.addinivalue_line("filterwarnings", "ignore:unclosed <socket.socket.*family=1:ResourceWarning")


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


@pytest.fixture
def visit(browser: Browser, served: Served) -> Iterator[Callable[..., Visitor]]:
    """Opens windows on the shared server; a console error or a request elsewhere fails the test at its end."""
    yield from windows(browser, served.url)


@pytest.fixture(scope="session")
def labelled(make_shared_server: Callable[..., Served]) -> Served:
    """A server with the bundled pair."""
    from tests.ui.labels import RealEngine  # torch, which most tests of the page do without

    server = make_shared_server(RealEngine())
    server.may_load.set()
    assert server.slot.wait(60) is not None
    return server


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


def on_one_host(first: str) -> pytest.MarkDecorator:
    """A journey is made on `first`, and with the slow tests on the other too."""
    other = "static" if first == "served" else "served"
    hosts = [first, pytest.param(other, marks=pytest.mark.slow)]
    return pytest.mark.parametrize("host", hosts, indirect=True, scope="session")


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
