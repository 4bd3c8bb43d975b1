"""What one sees without scrolling: the whole answer, at three sizes, at first, after a card and after Generate."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.sampling import sampled
from tests.ui.axe import overflow
from tests.ui.serving import Served
from tests.ui.visitor import Visitor

pytestmark = pytest.mark.ui
SIZES = [(390, 844), (1440, 900), (1920, 1080)]
MOST_SHIFT = 0.02
# Top of the first token, bottom of the last, and where what stands in front of the foot of the window begins.
PLACES = """() => {
  const tokens = document.querySelectorAll('.citer-viewer .cv-t');
  const side = document.querySelector('#cx-side');
  const isBar = getComputedStyle(side).position === 'fixed';
  return [tokens[0].getBoundingClientRect().top, tokens[tokens.length - 1].getBoundingClientRect().bottom,
          isBar ? side.getBoundingClientRect().top : innerHeight];
}"""
SHIFT = """() => new Promise((resolve) => {
  let sum = 0;
  const what = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      sum += entry.value;
      what.push(...entry.sources.map(({ node }) => node?.id || node?.className || node?.nodeName));
    }
  }).observe({ type: 'layout-shift', buffered: true });
  setTimeout(() => resolve([sum, what.join()]), 300);
})"""
IS_SEEN = "document.querySelector('#cx-explore').checkVisibility({ visibilityProperty: true })"


def see_whole_answer(page: Page) -> None:
    """First and last token are in the window, above the bar that a phone has."""
    page.wait_for_function("() => window.citer.viewer.frame === null")
    top, bottom, foot = page.evaluate(PLACES)
    assert top >= 0 and bottom <= foot


@pytest.mark.parametrize(("width", "height"), sampled(SIZES, 3))
def test_the_answer_is_above_the_fold_at_first_after_a_card_and_after_generate(
    visit: Callable[..., Visitor], width: int, height: int
) -> None:
    visitor = visit(width=width, height=height)
    page = visitor.page
    expect(page.locator("#cx-device")).to_have_attribute("data-state", "ready", timeout=20_000)
    see_whole_answer(page)
    shift, moved = page.evaluate(SHIFT)
    assert shift < MOST_SHIFT, moved
    assert overflow(page) == 0
    page.locator(".cx-preset").nth(1).click()
    expect(page.locator(".cx-preset").nth(1)).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".cv-question")).to_have_text(page.locator("#cx-prompt textarea").input_value())
    see_whole_answer(page)
    visitor.ask("A short one.")
    visitor.wait_live()
    visitor.wait_idle()
    see_whole_answer(page)


def test_theme_and_text_size_are_chosen_and_kept(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = visitor.page
    page.locator("#cx-theme").click()
    expect(page.locator("body")).to_have_class(re.compile(r"(^| )dark( |$)"))
    page.locator("#cx-size").click()
    page.reload(wait_until="load")
    expect(visitor.tokens.first).to_be_visible(timeout=20_000)
    expect(page.locator("#cx-theme")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#cx-size")).to_have_attribute("aria-label", "Text size 120%")


def test_once_the_script_has_begun_nothing_is_seen_before_the_run_is_there(browser: Browser, served: Served) -> None:
    """After ten seconds the page is seen without it, for those who get no script: a slow machine is none of those."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    held: list[Route] = []
    page.route(re.compile(r"/traces/.*\.json"), lambda route: held.append(route))
    page.goto(served.url)
    page.wait_for_function("() => document.body.dataset.drawing !== undefined", timeout=20_000)
    fallback = "getComputedStyle(document.querySelector('#cx-explore')).animationName"
    assert page.evaluate(fallback) == "none" and not page.evaluate(IS_SEEN)
    page.evaluate("delete document.body.dataset.drawing")
    assert page.evaluate(fallback) == "cx-seen"
    page.evaluate("document.body.dataset.drawing = ''")
    for route in held:
        route.continue_()
    expect(page.locator(".citer-viewer .cv-t").first).to_be_visible(timeout=20_000)
    assert page.evaluate(IS_SEEN)
    context.close()


def test_an_address_with_something_in_it_and_a_run_of_ones_own_open_with_that(browser: Browser, served: Served) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{served.url}?view=learn")
    assert page.locator("#cx-early").count() == 0
    page.evaluate("sessionStorage.setItem('citer-run', '{}')")
    page.goto(served.url)
    assert page.locator("#cx-early").count() == 0
    page.wait_for_selector("body[data-drawn]")
    context.close()


def is_alone(page: Page) -> bool:
    """Whether nothing but a large panel can be reached."""
    return page.locator("header").evaluate("(node) => getComputedStyle(node).visibility") == "hidden"


def test_a_panel_as_large_as_the_window(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = visitor.page
    page.evaluate("window.citer.viewer.goTo(3)")
    for panel, name in ((".citer-viewer", "The run"), (".cv-inspector", "Token inspector")):
        button = page.get_by_role("button", name=f"{name}: as large as the window")
        button.click()
        box = page.locator(panel).bounding_box()
        assert box == {"x": 0, "y": 0, "width": 1280, "height": 900} and is_alone(page)
        page.keyboard.press("Escape")
        expect(button).to_be_focused()
        assert not is_alone(page) and page.evaluate("window.citer.viewer.view.pinned") == 3
    # A panel that is shown no more takes nothing with it.
    page.get_by_role("button", name="Token inspector: as large as the window").click()
    page.get_by_role("button", name="Close the inspector").click()
    expect(page.locator("header")).to_be_visible()
    assert not is_alone(page)
