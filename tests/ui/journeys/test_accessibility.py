"""Every view in the looks that its journey does not have: fit, targets, ids and what axe says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.ui.axe import shorten, sound, type_sizes
from tests.ui.visitor import Visitor

pytestmark = [pytest.mark.ui, pytest.mark.slow]
VIEWS = {
    "Compare": ".cq-column", "Lab": ".cb-key", "Labels": ".cl-text .cl-t", "Evidence": ".ce-plot[data-drawn]",
    "Worth it here?": ".citer-profile .cp-number", "Learn": ".cx-guess", "API": ".cx-endpoints",
}  # fmt: skip
OPEN_VIEW = "[data-panel]:not([hidden])"
MOST_SIZES = 6  # of type, in a view
LOOKS = [{"theme": theme, "width": width} for theme in ("light", "dark") for width in (390, 1280)]


@pytest.mark.parametrize("opened", LOOKS, ids=lambda look: f"{look['theme']}-{look['width']}")
def test_every_view_in_both_themes_and_widths(
    enter: Callable[..., Visitor], opened: dict[str, Any], is_served: bool
) -> None:
    visitor = enter(**opened)
    page = visitor.page
    visitor.ready()
    sound(page)
    for name, content in VIEWS.items():
        if name == "API" and not is_served:
            continue
        visitor.open_view(name)
        expect(page.locator(content).first).to_be_visible(timeout=30_000)
        assert len(type_sizes(page)) <= MOST_SIZES, name
        shorten(page)
        expect(page.locator(OPEN_VIEW)).to_have_count(1)
        sound(page, OPEN_VIEW)
