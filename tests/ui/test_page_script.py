"""The page's own modules: joined where the browser takes an import map, one by one where it does not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Route, expect

from tests.ui.conftest import Served, Visitor

pytestmark = pytest.mark.ui
Visit = Callable[..., Visitor]


def is_own(url: str) -> bool:
    """Is this one of the modules that the page's script is joined of?"""
    return url.endswith(".js") and any(f"/{room}/" in url for room in ("run", "viewer", "page"))


def test_the_pages_own_modules_are_one_request_and_what_is_loaded_later_shares_them(visit: Visit) -> None:
    visitor = visit()
    expect(visitor.tokens.first).to_be_visible()
    own = [url for url in visitor.requests if url.endswith(".js") and (is_own(url) or "/citer/" in url)]
    assert len(own) == 1
    visitor.open_view("Learn")
    visitor.page.locator("#cx-tour").click()
    expect(visitor.page.get_by_role("dialog")).to_be_visible()
    visitor.page.keyboard.press("Escape")
    assert any(url.endswith("/learn/tour.js") for url in visitor.requests)
    assert not [url for url in visitor.requests if is_own(url)]


def test_a_browser_without_import_maps_loads_the_modules_one_by_one(browser: Browser, served: Served) -> None:
    context = browser.new_context()
    page = context.new_page()
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url))

    def without_map(route: Route) -> None:
        answer = route.fetch()
        # The page's policy names its scripts by their hash, and this is another page.
        headers = {name: value for name, value in answer.headers.items() if name != "content-security-policy"}
        route.fulfill(response=answer, headers=headers, body=answer.text().replace("importmap", "unknown"))

    page.route(served.url, without_map)
    page.goto(served.url)
    expect(page.locator(".citer-viewer .cv-t").first).to_be_visible()
    assert sum(is_own(url) for url in loaded) > 40
    context.close()
