"""Axe on all that a person can open, with a finished run on the page; that it fits, sizes of type and of targets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from citer_core.tasks.datasets import bundled_rows
from tests.ui.axe import findings, overflow, repeated_ids, shorten, small_targets, type_sizes
from tests.ui.conftest import on_one_host
from tests.ui.labels import open_own
from tests.ui.visitor import Visitor

pytestmark = pytest.mark.ui
Enter = Callable[..., Visitor]
VIEWS = ("Compare", "Lab", "Labels", "Worth it here?", "Learn", "API", "Evidence")  # API is a server's
OPEN_VIEW = "[data-panel]:not([hidden])"
N_TOUR_STEPS = 9
MOST_SIZES = 6  # of type, in a view


@on_one_host("served")
def test_nothing_grave_anywhere(enter: Enter, look: dict[str, Any], is_served: bool, tmp_path: Path) -> None:
    visitor = enter(**look)
    page, width = visitor.page, look["width"]
    page.set_default_timeout(30_000)
    expect.set_options(timeout=30_000)
    found: dict[str, object] = {}

    def see(state: str, context: str | None = None) -> None:
        found[state] = (overflow(page), findings(page, context))

    def measure(name: str) -> None:
        """As a view opens: few sizes of type, on a phone nothing too small."""
        sizes = type_sizes(page)
        found[f"the view {name}"] = (overflow(page), small_targets(page) if width < 768 else [])
        found[f"sizes in {name}"] = (0, [] if len(sizes) <= MOST_SIZES else [sizes])

    measure("Explore")
    finished_run(visitor)
    see("a finished run at another tau, pinned, probed, with two branches compared and the settings open")
    page.locator(".cv-branch-tools").get_by_role("button", name="Rename Branch 1").click()
    see("a branch being renamed", ".cv-branches")
    page.keyboard.press("Escape")

    bad = tmp_path / "bad.json"
    bad.write_text("{", encoding="utf-8")
    page.set_input_files("#cx-import-file", str(bad))
    expect(page.locator(".cx-export-said")).to_contain_text("not JSON")
    if visitor.context.browser.browser_type.name == "chromium":  # which asks a person
        visitor.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visitor.head("#cx-copy-link")
    expect(page.locator("#cx-copy-link")).to_have_text("Link copied")
    see("a refused import and a copied link", ".cx-export-said, #cx-copy-link")

    visitor.head("#cx-present")
    expect(page.locator(".citer-presenter")).to_be_visible()  # its script is loaded when it is first wanted
    page.keyboard.press("?")
    expect(page.locator(".cp-keys")).to_be_visible()
    see("the presenter with its keys")
    for _ in range(2):
        page.keyboard.press("Escape")
    if page.locator(".citer-presenter").count():
        page.keyboard.press("Escape")
    expect(page.locator(".citer-presenter")).to_have_count(0)

    visitor.head("#cx-tour")
    card = page.locator(".citer-tour")
    for step in range(1, N_TOUR_STEPS + 1):
        expect(card).to_have_attribute("data-step", str(step))
        found[f"targets at step {step} of the tour"] = (0, small_targets(page, ".citer-tour") if width < 768 else [])
        if step in (1, 5):  # beside a row of cards and beside the slider; the card is the same one at every step
            see(f"step {step} of the tour", ".citer-tour, .cx-tour-here")
        page.get_by_role("button", name="Skip this step").click()
    expect(card).to_have_attribute("data-step", "end")
    see("the end of the tour", ".citer-tour")
    card.get_by_role("button", name="Close").click()
    expect(card).to_have_count(0)

    # Last: whatever a view has drawn stays in the page. What is around the views has been looked at by now.
    # And in the other theme and width; in these ones the views are among the slow tests, as is all of it on files.
    visitor.head("#cx-theme")
    width = 390 if width > 390 else 1280
    page.set_viewport_size({"width": width, "height": 900})
    for name in VIEWS if is_served else [view for view in VIEWS if view != "API"]:
        visitor.open_view(name)
        arrived(page, name)
        measure(name)
        settled(visitor, name, is_served)
        shorten(page)
        expect(page.locator(OPEN_VIEW)).to_have_count(1)
        see(f"all of the view {name}", OPEN_VIEW)
    found["ids that stand twice"] = (0, repeated_ids(page))

    expect.set_options(timeout=5_000)
    assert {state: result for state, result in found.items() if result != (0, [])} == {}


def finished_run(visitor: Visitor) -> None:
    """A live run of a bundled question with everything open that a run can have."""
    page = visitor.page
    visitor.ready()
    page.get_by_label("Multiple choice").check()
    visitor.ask(bundled_rows("mc")[7].problem.question)
    visitor.wait_live()
    visitor.wait_idle()
    page.evaluate("window.citer.viewer.goTo(3)")
    page.keyboard.press("f")
    expect(page.locator(".cv-branch")).to_have_count(2)
    visitor.wait_idle()
    for mark in (page.get_by_role("checkbox", name="Compare").nth(i) for i in range(2)):
        mark.check()
    expect(page.get_by_role("region", name="Two runs compared")).to_be_visible()
    page.evaluate("window.citer.viewer.goTo(3)")
    page.get_by_role("button", name="Ask the LLM everywhere").click()
    expect(page.locator(".cv-truth")).to_be_visible()
    page.get_by_role("button", name="Find τ").click()
    page.evaluate("window.citer.moveTau(0.97)")
    expect(page.locator(".cv-notice")).to_contain_text("At τ 0.97")
    page.get_by_label("Search the text").fill("the")
    page.get_by_text("Router, decoding and price").click()


SHOWN = {
    "Compare": ".cq-column", "Lab": ".cb-key", "Labels": ".cl-text .cl-t", "Evidence": ".ce-plot[data-drawn]",
    "Worth it here?": ".citer-profile .cp-number", "Learn": ".cx-guess", "API": ".cx-endpoints",
}  # fmt: skip


def arrived(page: Page, view: str) -> None:
    """Until a view shows what it opens with."""
    expect(page.locator(SHOWN[view]).first).to_be_visible()


def settled(visitor: Visitor, view: str, is_served: bool) -> None:
    """Until a view shows all that it has, with what folds in it open."""
    page = visitor.page
    if view == "Compare":
        expect(page.locator(".cq-column").first).to_be_visible()
    elif view == "Labels":
        expect(page.locator(".cl-text .cl-t").first).to_be_visible()
        if is_served:  # files read and roll out nothing
            open_own(visitor)
            page.get_by_role("button", name="Roll out both branches").click()
            expect(page.locator(".cl-conclusion")).to_be_visible()
        page.locator(".cl-charts").first.scroll_into_view_if_needed()
        expect(page.locator(".citer-labels:not(.citer-profile) .cl-plot[data-drawn]")).to_have_count(4)
        for summary in page.locator(".cl-details summary").all():
            summary.click()
        page.locator("[data-cell=waste]").click()
    elif view == "Evidence":
        expect(page.locator(".ce-plot[data-drawn]")).to_be_visible()
        page.get_by_text("All points as a table").click()
    elif view == "Worth it here?":
        expect(page.locator('.citer-profile .cl-plot[data-drawn="true"]')).to_have_count(2)
        page.get_by_text("All numbers as tables").click()
    elif view == "Learn":
        expect(page.locator(".cx-guess").first).to_be_visible()
        page.locator(".cx-guess").nth(2).click()
        page.get_by_role("button", name="Reveal").first.click()
    elif view == "API":
        expect(page.locator(".cx-endpoints").first).to_be_visible()
