"""A token whose space ends a line: what is drawn around it stands around its word on the next line, nowhere else."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.ui.visitor import Visitor

pytestmark = pytest.mark.ui
FRAGMENTS = "(nodes) => nodes.map((node) => node.getClientRects().length)"


def wrapped(page: Page) -> list[int]:
    """Tokens of two lines, the first of which has only their space. A backslash is a hair wide, and none of them."""
    tokens = page.locator(".cv-text .cv-t")
    texts = tokens.all_text_contents()
    return [
        k for k, n in enumerate(tokens.evaluate_all(FRAGMENTS)) if n > 1 and texts[k][0] == " " and "\\" not in texts[k]
    ]


def test_what_is_drawn_around_it(visit: Callable[..., Visitor]) -> None:
    page = visit(width=1440).page
    a_token_under_the_mouse(page)
    page.mouse.move(1, 1)
    page.set_viewport_size({"width": 390, "height": 900})
    a_pinned_token(page)


def a_pinned_token(page: Page) -> None:
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


def a_token_under_the_mouse(page: Page) -> None:
    place = wrapped(page)[0]
    token = page.locator(f".cv-text .cv-t[data-i='{place}']")
    # Its middle lies between its two lines, so the mouse goes to the second of them.
    box = token.evaluate(
        "(node) => { const { x, y, width, height } = node.getClientRects()[1]; "
        "return [x + width / 2, y + height / 2]; }"
    )
    page.mouse.move(*box)
    expect(token).to_have_attribute("data-hover", "")
    expect(token.locator(".cv-word")).to_have_css("outline-style", "solid")
    expect(token).to_have_css("outline-style", "none")
    assert token.locator(".cv-word").evaluate_all(FRAGMENTS) == [1]
