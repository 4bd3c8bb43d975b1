"""The page's own modules: joined into one request, and shared with what is loaded later."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.ui.visitor import Visitor

pytestmark = pytest.mark.ui
Visit = Callable[..., Visitor]


def is_own(url: str) -> bool:
    """Is this one of the modules that the page's script is joined of?"""
    return url.endswith(".js") and any(f"/{room}/" in url for room in ("run", "viewer", "app"))


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
