"""The way through the page with Tab alone: everything is on it, once, and one always sees where one is."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.ui.conftest import Visitor

pytestmark = pytest.mark.ui
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
    "Explore", "API", "Tour", "Present", "Copy link", "Play", "SLM wrote it", "LLM wrote it", "certainty",
    "Generate", "Another one", "Tokens shown", "Playback speed", "Search the text", "Budget", "Find τ", "Seconds",
    "Trace (JSON)", "Page (HTML)", "Open a trace",
)  # fmt: skip
ON_A_PHONE = ("Menu", *ON_THE_WAY[5:])


@pytest.mark.parametrize(
    ("theme", "width", "way"), [("light", 1280, ON_THE_WAY), ("dark", 1280, ON_THE_WAY), ("light", 390, ON_A_PHONE)]
)
def test_every_stop_of_the_tab_key_can_be_seen(
    visit: Callable[..., Visitor], theme: str, width: int, way: tuple[str, ...]
) -> None:
    visitor = visit(theme=theme, width=width)
    page = visitor.page
    expect(page.locator("#cx-device")).to_have_attribute("data-state", "ready", timeout=20_000)
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


def test_arrows_go_along_a_row_of_cards_and_enter_plays_one(visit: Callable[..., Visitor]) -> None:
    page = visit().page
    cards = page.locator(".cx-preset")
    expect(page.locator(".citer-viewer .cv-t").first).to_be_visible()
    cards.first.focus()
    for key, place in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", -1), ("ArrowRight", -1),
                       ("Home", 0), ("ArrowLeft", 0), ("ArrowRight", 1)):  # fmt: skip
        page.keyboard.press(key)
        expect(cards.nth(place)).to_be_focused()
    page.keyboard.press("Enter")
    expect(cards.nth(1)).to_have_attribute("aria-pressed", "true")
    # A row that has the focus itself, as scrolling ones do in some browsers, changes nothing.
    page.evaluate("""() => { const row = document.querySelector('.cx-presets'); row.tabIndex = 0; row.focus(); }""")
    expect(page.locator(".cx-presets").first).to_be_focused()
    page.keyboard.press("Tab")
    expect(cards.nth(1)).to_be_focused()
    page.evaluate("document.querySelector('.cx-presets').removeAttribute('tabindex')")
    # Back in the row, one is where one was.
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    expect(cards.nth(1)).to_be_focused()
