"""The page as files, and its lessons: it asks no other host, and when its own is gone a run and a lesson work."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from citer_core.assets import ASSETS
from citer_core.cost import H100_SXM
from citer_core.ui.build import needed_bytes
from tests.sampling import few_or_all
from tests.traces import recorded
from tests.ui.axe import sound
from tests.ui.serving import hosted
from tests.ui.visitor import READY, Visitor, until

pytestmark = pytest.mark.ui
NAMES = json.loads((ASSETS / "lessons" / "index.json").read_text(encoding="utf-8"))
BAR = ".citer-lesson"
KEPT = "caches.keys().then((names) => caches.open(names[0])).then((cache) => cache.keys()).then((kept) => kept.length)"
# Sheets of which something stands over their edge, or over their foot.
CUT = """[...document.querySelectorAll(".ho-sheet")].filter((sheet) => {
  const foot = sheet.querySelector(".ho-foot").getBoundingClientRect();
  const edge = sheet.getBoundingClientRect();
  return [...sheet.querySelectorAll(":scope > :not(.ho-foot) *")].some((node) => {
    const { bottom, right } = node.getBoundingClientRect();
    return bottom > foot.top || right > edge.right;
  });
}).map((sheet) => sheet.ariaLabel)"""


def play(visitor: Visitor, url: str) -> None:
    """The lesson on what a call costs, from its link to the next one."""
    page = visitor.page
    run = recorded("trip")
    page.goto(f"{url}?lesson=what-a-call-costs")
    words, go = page.locator(f"{BAR} .ls-words"), page.locator(f"{BAR} .ls-act .ls-go")
    expect(words).to_contain_text(f"{run.n_llm_tokens / run.n_tokens:.0%} of these tokens", timeout=20_000)
    assert "tau" not in page.url and "preset=trip&lesson=what-a-call-costs" in page.url
    # Nothing tells the answer, and nothing moves.
    told = f"{run.cost(H100_SXM).bytes_share_of_llm_only:.0%}"
    expect(page.locator(".cv-moved-row-routed dd")).to_be_hidden()
    assert told not in page.inner_text("body")
    expect(go).to_be_disabled()
    page.locator(".cv-t.cv-llm").first.click()
    expect(page.locator(".cv-inspector")).to_be_hidden()
    expect(page.locator(".cx-tau-group")).to_have_attribute("inert", "")
    sound(page, BAR)
    page.locator(f"{BAR} input[type=range]").press("ArrowLeft")
    expect(page.locator(".ls-guess")).to_have_text("49%")
    go.click()
    expect(words).to_contain_text(f"{told}, and you said 49%")
    expect(page.locator(".cv-moved-row-routed dd")).to_be_visible()
    expect(go).to_be_focused()
    page.keyboard.press("Enter")
    # One number to find, with the page as it always is.
    field = page.get_by_label("The number")
    expect(field).to_be_focused()
    page.keyboard.type("1")
    page.keyboard.press("Enter")
    expect(page.locator(f"{BAR} .ls-said")).to_contain_text("Look again")
    page.locator(".cv-t.cv-llm").first.click()
    first = next(event for event in run.events if event.llm_tokens_fed)
    expect(page.locator(".cv-inspector")).to_contain_text(f"it read all {first.llm_tokens_fed} tokens")
    field.fill(str(first.llm_tokens_fed))
    field.press("Enter")
    expect(words).to_contain_text(f"Found: {first.llm_tokens_fed}")
    expect(page.locator(f"{BAR} .cc-code")).to_have_text(re.compile(r"^[0-9A-Z]{4}(-[0-9A-Z]{1,4}){4}$"))
    go.click()
    expect(page.locator(".ls-title")).to_have_text("What the router reads", timeout=20_000)


def test_a_run_and_a_whole_lesson_when_the_host_is_gone(browser: Browser, site: Path) -> None:
    """To keep the folder takes longer than to look at it."""
    assert needed_bytes(site) <= 12e6
    n_files = sum(path.is_file() for path in site.rglob("*"))
    with hosted(site) as url:
        visitor = Visitor(browser, url, computes="server", keeps_offline=True)  # there is none, whatever was chosen
        page = visitor.page
        expect(visitor.tokens.first).to_be_visible(timeout=15_000)
        # Everything is kept, but the worker's own script and what a host reads; then the host goes.
        until(page, "caches.keys().then((names) => names.length === 1)")
        until(page, f"{KEPT}.then((n) => n >= {n_files - 2})", 60)
    page.goto(f"{url}?preset=trip&tau=0.5&show=llm&bw=935.5")
    expect(visitor.tokens.first).to_be_visible(timeout=15_000)
    until(page, f"({READY})()")
    expect(page.locator(".cv-notice")).to_contain_text("written in this browser", timeout=15_000)
    assert visitor.shown().settings.threshold == 0.5
    expect(page.locator("#cx-bandwidth")).to_have_value("935.5")
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme="dark")
    play(visitor, url)
    # Escape leaves it.
    expect(page.locator(".ls-title")).to_be_focused(timeout=20_000)
    page.keyboard.press("Escape")
    expect(page.locator(BAR)).to_have_count(0)
    assert "lesson" not in page.url
    assert visitor.complaints == []
    assert [asked for asked in visitor.requests if not asked.startswith((url, "blob:", "data:"))] == []
    visitor.leave()


def test_marks_are_six_the_writers_are_unseen_and_a_teacher_has_notes(browser: Browser, site: Path) -> None:
    with hosted(site) as url:
        visitor = Visitor(browser, f"{url}?lesson=who-writes-what", width=390, height=844)
        page = visitor.page
        tokens, go = page.locator(".ls-marks .cx-guess"), page.locator(f"{BAR} .ls-act .ls-go")
        expect(tokens.first).to_be_visible(timeout=20_000)
        expect(page.locator(".cv-t.cv-llm").first).to_be_hidden()
        events = recorded("trip").events
        llm = [i for i, event in enumerate(events) if event.source == "llm"]
        slm = [i for i, event in enumerate(events) if event.source == "slm"]
        for i in [*llm[:4], *slm[:2]]:
            expect(go).to_be_disabled()
            tokens.nth(i).click()
        tokens.nth(slm[2]).click()  # a seventh takes the place of the first
        expect(tokens.nth(llm[0])).to_have_attribute("aria-checked", "false")
        go.click()
        expect(page.locator(f"{BAR} .ls-words")).to_contain_text(f"3 of your marks are among the {len(llm)} tokens")
        go.click()
        expect(page.locator(".cv-t.cv-llm").first).to_be_visible()

        # A teacher has notes and no guess; a lesson that is not there is said.
        page.goto(f"{url}?view=learn")
        expect(page.locator(".cx-lessons li")).to_have_count(len(NAMES), timeout=20_000)
        page.get_by_label("What a call costs, for a teacher").click()
        expect(page.locator(".ls-note")).to_contain_text("Note. Give them a minute", timeout=20_000)
        expect(page.locator(f"{BAR} input")).to_have_count(0)
        page.get_by_role("button", name="Show the answer").click()
        expect(page.locator(f"{BAR} .ls-words")).not_to_contain_text("you said")
        page.goto(f"{url}?lesson=../traces/trip")
        expect(page.locator("#cx-notice")).to_contain_text("letters a to z", timeout=20_000)
        expect(visitor.tokens.first).to_be_visible()
        visitor.leave()


@pytest.mark.parametrize("names", few_or_all(["what-a-call-costs"], NAMES))
def test_a_lesson_opens_and_its_handout_is_two_pages_and_solutions_and_nothing_is_cut(
    browser: Browser, site: Path, names: list[str]
) -> None:
    with hosted(site) as url:
        visitor = Visitor(browser, url, theme="dark")
        page = visitor.page
        for name in names:
            page.goto(f"{url}?lesson={name}")
            expect(page.locator(f"{BAR} :is(.ls-guess, .ls-count)")).to_have_text(re.compile(r"^[?0]"), timeout=20_000)
            page.goto(f"{url}?lesson={name}&handout=1")
            expect(page.locator(".ho-sheet")).to_have_count(3, timeout=20_000)
            paper = page.pdf(prefer_css_page_size=True)
            assert len(re.findall(rb"/Type /Page\b", paper)) == 3, name
            page.emulate_media(media="print")
            assert page.evaluate(CUT) == [], name
            page.emulate_media(media="null")
            assert re.search(r"undefined|NaN|null", page.locator(".citer-handout").inner_text()) is None
        sound(page)
        page.get_by_label("with solutions").uncheck()
        expect(page.locator(".ho-sheet:visible")).to_have_count(2)
        visitor.leave()
