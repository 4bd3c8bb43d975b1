"""A live run is shown at a pace that one can follow, and Stop holds what is shown; what is unknown is flagged."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.fakes import FakeEngine
from tests.ui.conftest import Served, Visitor, script

pytestmark = pytest.mark.ui
SHOWN = "window.citer.viewer.view.shown"
WRITTEN = "window.citer.viewer.events.length"


@pytest.fixture(scope="module")
def quick(make_server: Callable[..., Served]) -> Served:
    """A pair whose runs are over at once, as the bundled one's are."""
    served = make_server(FakeEngine(script), all_runs=True)
    served.may_load.set()
    return served


def moving(browser: Browser, served: Served) -> Visitor:
    """A visitor who has not asked for calm."""
    visitor = Visitor(browser, served.url)
    visitor.page.emulate_media(reduced_motion="no-preference")
    visitor.page.reload(wait_until="load")
    expect(visitor.tokens.first).to_be_visible(timeout=20_000)
    expect(visitor.page.locator("#cx-device")).to_have_attribute("data-state", "ready", timeout=20_000)
    return visitor


def wait_written(page: Page) -> None:
    """Until the server has written the run whole."""
    page.wait_for_function("() => window.citer.isLive === false && window.citer.run !== null", timeout=20_000)


def test_a_run_that_is_over_at_once_is_shown_token_by_token_and_held_and_at_once(
    browser: Browser, quick: Served
) -> None:
    visitor = moving(browser, quick)
    page = visitor.page
    instant = page.get_by_role("button", name="Instant")
    expect(instant).to_have_attribute("aria-pressed", "false")
    visitor.ask("A long story, told at once.")
    wait_written(page)
    n_tokens = page.evaluate(WRITTEN)
    first = page.evaluate(SHOWN)
    assert n_tokens > 150 and first < n_tokens
    page.wait_for_function(f"() => {SHOWN} > {first}")
    # Stop holds what is shown, though the server has long been done; play goes on.
    page.locator("button#cx-stop").click()
    held = page.evaluate(SHOWN)
    assert first < held < n_tokens
    expect(page.locator(".cv-sentence")).to_have_text(f"Held at token {held} of {n_tokens}: play shows the rest.")
    page.wait_for_timeout(400)
    assert page.evaluate(SHOWN) == held
    expect(page.locator("button#cx-stop")).to_be_disabled()
    page.get_by_role("button", name="Play").click()
    page.wait_for_function(f"() => {SHOWN} > {held}")
    # Another one, shown whole with one press, which the next page remembers.
    visitor.ask("A long story, told at once again.")
    page.wait_for_function(f"() => {SHOWN} > 2 && {SHOWN} < {WRITTEN}")
    instant.click()
    page.wait_for_function(f"() => {SHOWN} === {WRITTEN}")
    wait_written(page)
    expect(page.locator(".cv-answer")).to_be_visible()
    page.reload(wait_until="load")
    expect(instant).to_have_attribute("aria-pressed", "true", timeout=20_000)
    assert visitor.complaints == []
    visitor.leave()


def test_what_the_pair_does_not_know_is_said_kindly_and_a_run_of_another_pair_is_offered(
    browser: Browser, quick: Served
) -> None:
    visitor = Visitor(browser, quick.url)
    page = visitor.page
    expect(page.locator("#cx-device")).to_have_attribute("data-state", "ready", timeout=20_000)
    visitor.ask("Why is the sky blue?")
    expect(page.locator("#cx-outside")).to_contain_text("This is outside what the bundled pair knows")
    expect(page.locator(".cv-outside")).to_have_text("outside what this pair knows")
    visitor.wait_live()
    visitor.wait_idle()
    assert "42" in visitor.text()  # shown all the same, under the flag
    expect(page.locator(".cv-outside")).to_be_visible()
    page.locator("#cx-outside button").click()
    expect(page.locator(".cv-mode")).to_have_text("Recorded")
    expect(page.locator("#cx-outside")).to_be_empty()
    expect(page.locator(".cv-outside")).to_be_hidden()
    assert page.evaluate("window.citer.viewer.trace().pair.name") != "Bundled pair"
    visitor.ask("Nora buys 7 cakes at 12 dollars each.")
    visitor.wait_live()
    visitor.wait_idle()
    expect(page.locator("#cx-outside")).to_be_empty()
    assert visitor.complaints == []
    visitor.leave()
