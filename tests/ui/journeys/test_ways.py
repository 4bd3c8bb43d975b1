"""The ways through the page: the tour, presenting, the keyboard alone; on a wide screen and on a phone."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from tests.sampling import few_or_all
from tests.traces import opening_run
from tests.ui.axe import sound
from tests.ui.conftest import on_one_host
from tests.ui.visitor import Visitor

pytestmark = pytest.mark.ui
Enter = Callable[..., Visitor]
# What has the focus, and whether it or the frame around it looks otherwise than without.
STOP = """() => {
  const node = document.activeElement;
  if (!node || node === document.body) return null;
  const around = [node];
  while (around.length < 4) around.push(around.at(-1).parentElement);
  const looks = () => around.map((one) => {
    const style = getComputedStyle(one);
    return [style.outline, style.boxShadow, style.borderColor, style.backgroundColor].join();
  }).join();
  for (const one of around) one.style.transition = 'none';
  const box = node.getBoundingClientRect();
  const focused = looks();
  node.blur();
  const differs = looks() !== focused;
  node.focus({ preventScroll: true, focusVisible: true });
  const text = node.getAttribute('aria-label') || node.textContent || node.labels?.[0]?.textContent || '';
  const inView = box.bottom > 0 && box.top < innerHeight;
  return { name: text.trim().replace(/\\s+/g, ' '), kind: node.className, seen: differs, inView };
}"""
ON_THE_WAY = (
    "Explore", "Tour", "Present", "Copy link", "Play", "SLM wrote it", "LLM wrote it", "certainty",
    "Generate", "Another one", "Tokens shown", "Playback speed", "Search the text", "Budget", "Find τ", "Seconds",
    "Trace (JSON)", "Page (HTML)", "Open a trace",
)  # fmt: skip
ON_A_PHONE = ("Menu", *ON_THE_WAY[4:])

# Views that are presented, each with something that it shows.
PRESENTED = (("Compare", ".cq-column"), ("Learn", ".cx-glossary"))


@pytest.fixture(autouse=True)
def _patience() -> Iterator[None]:
    expect.set_options(timeout=20_000)
    yield
    expect.set_options(timeout=5_000)


@on_one_host("static")
def test_every_step_of_the_tour_ends_when_it_has_been_done(enter: Enter, look: dict[str, object]) -> None:
    visitor = enter(**look)
    page = visitor.page
    visitor.ready()
    visitor.head("#cx-tour")
    card = page.locator(".citer-tour")

    def at_step(number: int) -> None:
        expect(card).to_have_attribute("data-step", str(number))
        here = page.locator(".cx-tour-here")
        expect(here).to_have_count(1)
        expect(here).to_be_in_viewport()
        expect(card).to_be_in_viewport(ratio=0.99)

    def next_step(number: int) -> None:
        """What was done is seen first; the tour goes on when one wants it to."""
        expect(card.locator(".ct-place")).to_contain_text("done ✓")
        card.get_by_role("button", name="Next").click()
        at_step(number)

    at_step(1)
    sound(page, ".citer-tour")
    page.locator('.cx-preset[data-file="capital.json"]').click()
    next_step(2)
    page.locator(".cv-key-button").nth(1).click()
    next_step(3)
    visitor.tokens.nth(2).click()
    next_step(4)
    page.locator(".cv-text").press("]")
    next_step(5)
    page.locator("#cx-tau input[type=range]").press("ArrowLeft")
    next_step(6)
    page.locator(".cv-segment").nth(1).click()
    next_step(7)
    page.locator("button#cx-generate").click()
    next_step(8)
    visitor.open_view("Labels")
    next_step(9)
    visitor.head("#cx-copy-link")
    card.get_by_role("button", name="Next").click()
    expect(card).to_have_attribute("data-step", "end")
    page.get_by_role("button", name="Close").click()
    expect(card).to_have_count(0)
    visitor.wait_idle()


@on_one_host("static")
def test_presenting_by_keys_and_in_every_view(enter: Enter) -> None:
    visitor = enter(width=1920)
    page = visitor.page
    tau = opening_run().settings.threshold
    page.locator("#cx-present").click()
    expect(page.locator("#cx-controls")).to_be_hidden()
    title = page.locator(".cp-title")
    page.keyboard.press("n")
    expect(title).not_to_have_text("Change at the bakery")
    page.keyboard.press("p")
    expect(title).to_have_text("Change at the bakery")
    page.keyboard.press("]")
    expect(page.locator(".cv-inspector")).to_contain_text("pinned")
    page.keyboard.press("-")
    expect(page.locator(".cp-tau")).to_have_text(f"τ {tau - 0.05:.2f}")
    expect(page.locator(".cv-notice")).to_contain_text(f"τ {tau - 0.05:.2f}")
    page.keyboard.press("r")
    expect(page.locator(".cp-tau")).to_have_text(f"τ {tau:.2f}")
    page.keyboard.press("?")
    expect(page.locator(".cp-keys")).to_be_visible()
    sound(page)
    page.keyboard.press("Escape")
    expect(page.locator(".cv-t[data-pinned]")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(page.locator(".citer-presenter")).to_have_count(0)
    expect(page.locator("#cx-present")).to_be_focused()

    for view, seen in PRESENTED:
        visitor.open_view(view)
        part = page.locator(seen).first
        expect(part).to_be_visible()
        page.locator("#cx-present").click()
        expect(part).to_be_visible()
        expect(page.locator(".cx-header")).to_be_hidden()
        expect(page.locator(".cp-title")).to_have_text(view)
        page.keyboard.press("Escape")
        expect(page.locator(".citer-presenter")).to_have_count(0)
        expect(part).to_be_visible()


@on_one_host("static")
@pytest.mark.parametrize("width", few_or_all(1280, 390))
def test_every_stop_of_the_tab_key_can_be_seen(enter: Enter, width: int) -> None:
    visitor = enter(width=width)
    page = visitor.page
    visitor.ready()
    way = ON_THE_WAY if width == 1280 else ON_A_PHONE
    stops = []
    for _ in range(80):
        page.keyboard.press("Tab")
        stop = page.evaluate(STOP)
        if stop is None:
            continue  # the list of the picker closes
        stops.append(stop)
        if stop["name"] == way[-1]:
            break
    assert [stop["name"] for stop in stops if not stop["seen"]] == []
    assert [stop["name"] for stop in stops if not stop["inView"]] == []
    names = [stop["name"] for stop in stops]
    places = [names.index(name) for name in way]
    assert places == sorted(places)
    assert sum("cx-preset" in stop["kind"] for stop in stops) == 1  # a row of cards is one stop
    # Nothing catches the keyboard: Shift and Tab lead back.
    page.keyboard.press("Shift+Tab")
    assert page.evaluate(STOP)["name"] == names[-2]
    # Arrows go along a row of cards, and Enter plays one.
    cards = page.locator(".cx-preset")
    cards.first.focus()
    for key, place in (("ArrowRight", 1), ("End", -1), ("ArrowRight", -1), ("Home", 0), ("ArrowRight", 1)):
        page.keyboard.press(key)
        expect(cards.nth(place)).to_be_focused()
    page.keyboard.press("Enter")
    expect(cards.nth(1)).to_have_attribute("aria-pressed", "true")
    # The tour by keyboard: F6 leads from its card to what it speaks of and back.
    if width == 1280:
        page.locator("#cx-tour").press("Enter")
        expect(page.locator(".ct-title")).to_be_focused()
        page.keyboard.press("F6")
        expect(page.locator(".cv-play")).to_be_focused()
        page.keyboard.press("F6")
        expect(page.get_by_role("button", name="Skip this step")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator(".citer-tour")).to_have_attribute("data-step", "2")
        page.keyboard.press("Escape")
        expect(page.locator("#cx-tour")).to_be_focused()
