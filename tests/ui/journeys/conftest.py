"""What the journeys hold the page against."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from citer_core.engine import Engine


@pytest.fixture(scope="session")
def engine() -> Engine:
    """The independent reference: the bundled pair, called as a program does."""
    return Engine.load()


def ids(events: Any) -> list[int]:
    return [event.token_id for event in events]


def opens_as_it_was_left(page: Page, seen: str, names: set[str]) -> dict[str, list[str]]:
    """Goes to the link of the view on the screen: it names what it must, and the view has the same link again."""
    link = page.evaluate("window.citer.views.address()")
    asked = parse_qs(urlsplit(link).query)
    assert set(asked) == {"view", *names}
    page.goto(link)
    expect(page.locator(seen).first).to_be_visible(timeout=20_000)
    page.wait_for_function("(link) => window.citer.views.address() === link", arg=link, timeout=20_000)
    return asked
