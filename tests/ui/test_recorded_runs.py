"""On a page with the runs of every pair: what one of another pair leaves alone, and the pace at which runs are shown.

What is outside of what the loaded pair knows is flagged.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.fakes import FakeEngine
from tests.ui.serving import Served, script
from tests.ui.visitor import Visitor

pytestmark = pytest.mark.ui
SHOWN = "window.citer.viewer.view.shown"
WRITTEN = "window.citer.viewer.events.length"


@pytest.fixture(scope="module")
def all_runs(make_server: Callable[..., Served]) -> Served:
    """A pair whose runs are over at once, as the bundled one's are; the first recorded runs are another pair's."""
    served = make_server(FakeEngine(script), all_runs=True)
    served.may_load.set()
    return served


def test_tau_is_never_moved_unasked_and_the_box_holds_the_problem_of_the_run(
    browser: Browser, all_runs: Served
) -> None:
    """Beside a run of another pair too; the loaded pair's own tau is one click away."""
    visitor = Visitor(browser, all_runs.url)
    page = visitor.page
    expect(page.locator("#cx-device")).to_have_attribute("data-state", "ready", timeout=20_000)
    other = page.locator('.cx-preset:not([data-pair="Bundled pair"])').nth(1)
    other.click()
    expect(other).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#cx-notice")).to_contain_text("Generate asks the pair that is loaded, Bundled pair.")
    question, tau = page.evaluate(
        "(() => { const t = window.citer.viewer.trace(); return [t.prompt.question, t.settings.threshold]; })()"
    )
    slider, number = page.locator("#cx-tau input[type=range]"), page.locator("#cx-tau input[type=number]")
    expect(slider).to_have_value(f"{tau:g}")
    expect(page.locator("#cx-prompt textarea")).to_have_value(question)
    visitor.ask("Own question.")
    visitor.wait_idle()
    assert all_runs.engine.runs[-1].settings.threshold == tau  # as it stood there
    # What is no tau is not taken.
    number.fill("9")
    expect(page.locator("#cx-tau-said")).to_have_text(f"τ is a number from 0 to 1. {tau:.2f} is kept.")
    own = page.get_by_role("button", name="’s τ, 0.70")
    own.click()
    expect(number).to_have_value("0.7")
    what_the_pair_does_not_know_is_said_kindly_and_a_run_of_another_pair_is_offered(visitor)
    visitor.leave()
    assert visitor.complaints == []


def wait_written(page: Page) -> None:
    """Until the server has written the run whole."""
    page.wait_for_function("() => window.citer.isLive === false && window.citer.run !== null", timeout=20_000)


def test_a_run_that_is_over_at_once_is_shown_token_by_token_and_held_and_at_once(
    browser: Browser, all_runs: Served
) -> None:
    visitor = Visitor(browser, all_runs.url, moves=True)
    page = visitor.page
    expect(page.locator("#cx-device")).to_have_attribute("data-state", "ready", timeout=20_000)
    instant = page.get_by_role("button", name="Instant")
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
    for _ in range(5):
        page.evaluate("new Promise(requestAnimationFrame)")
    assert page.evaluate(SHOWN) == held
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


def what_the_pair_does_not_know_is_said_kindly_and_a_run_of_another_pair_is_offered(visitor: Visitor) -> None:
    page = visitor.page
    visitor.ask("Why is the sky blue?")
    expect(page.locator("#cx-outside")).to_contain_text("This is outside what the bundled pair knows")
    visitor.wait_live()
    visitor.wait_idle()
    assert "42" in visitor.text()  # shown all the same, under the flag
    expect(page.locator(".cv-outside")).to_be_visible()
    page.locator("#cx-outside button").click()
    expect(page.locator(".cv-mode")).to_have_text("Recorded")
    expect(page.locator("#cx-outside")).to_be_empty()
    assert page.evaluate("window.citer.viewer.trace().pair.name") != "Bundled pair"
