"""A token whose space ends a line: what is drawn around it stands around its word on the next line, nowhere else."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.ui.conftest import Visitor

pytestmark = pytest.mark.ui
FRAGMENTS = "(nodes) => nodes.map((node) => node.getClientRects().length)"


def wrapped(page: Page) -> list[int]:
    """Tokens of two lines, the first of which has only their space. A backslash is a hair wide, and none of them."""
    tokens = page.locator(".cv-text .cv-t")
    texts = tokens.all_text_contents()
    return [
        k for k, n in enumerate(tokens.evaluate_all(FRAGMENTS)) if n > 1 and texts[k][0] == " " and "\\" not in texts[k]
    ]


def test_a_pinned_token(visit: Callable[..., Visitor]) -> None:
    page = visit(width=390).page
    expect(page.locator(".cv-text .cv-t").first).to_be_visible()
    written = page.locator(".cv-text").text_content()
    places = wrapped(page)
    assert places, "no line begins with a token that has a space"
    for place in places:
        page.evaluate("(place) => window.citer.viewer.goTo(place)", place)
        token = page.locator(f".cv-text .cv-t[data-i='{place}']")
        expect(token).to_have_attribute("data-pinned", "")
        expect(token.locator(".cv-word")).to_have_css("outline-style", "solid")
        expect(token).to_have_css("outline-style", "none")
        assert token.locator(".cv-word").evaluate_all(FRAGMENTS) == [1]
    assert page.locator(".cv-text").text_content() == written
    assert wrapped(page) == places


def test_tokens_that_another_tau_gives_to_the_other_model(visit: Callable[..., Visitor]) -> None:
    page = visit(width=390).page
    expect(page.locator(".cv-text .cv-t").first).to_be_visible()
    places = wrapped(page)
    page.evaluate("window.citer.moveTau(1)")
    flips = page.locator(".cv-text .cv-t.cv-flip")
    expect(flips.first).to_be_attached()
    marked = {int(place) for place in flips.evaluate_all("(nodes) => nodes.map((node) => node.dataset.i)")}
    assert marked & set(places)
    for place in marked & set(places):
        token = page.locator(f".cv-text .cv-t[data-i='{place}']")
        expect(token.locator(".cv-word")).to_have_css("outline-style", "dashed")
        expect(token).to_have_css("outline-style", "none")
