"""The tour, done by acting; predict and reveal; formulas; presenter mode."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from citer_core.cost import H100_SXM
from tests.traces import opening_run, recorded
from tests.ui.axe import grave, overflow
from tests.ui.conftest import Served, Visitor

pytestmark = pytest.mark.ui
Visit = Callable[..., Visitor]
# Of a grid of points of what the tour speaks of: the share that is in the window, and how many lie under the card.
SEEN = """() => {
  const [here, card] = [".cx-tour-here", ".citer-tour"].map((name) => document.querySelector(name));
  const { left, top, width, height } = here.getBoundingClientRect();
  let [inside, covered] = [0, 0];
  for (let i = 0; i < 144; i++) {
    const [x, y] = [left + ((i % 12) + 0.5) * width / 12, top + (Math.floor(i / 12) + 0.5) * height / 12];
    const hit = document.elementFromPoint(x, y); // null outside of the window
    if (!hit) continue;
    inside++;
    if (card.contains(hit)) covered++;
  }
  return { inside: inside / 144, covered };
}"""


@pytest.fixture(autouse=True)
def _patience() -> Iterator[None]:
    expect.set_options(timeout=20_000)
    yield
    expect.set_options(timeout=5_000)


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_every_step_of_the_tour_ends_when_it_has_been_done(
    visit: Visit, served: Served, theme: str, width: int
) -> None:
    visitor = visit(theme=theme, width=width)
    page = visitor.page
    expect(page.locator("#cx-device")).to_have_attribute("data-state", "ready")
    visitor.head("#cx-tour")
    card = page.locator(".citer-tour")

    def at_step(number: int) -> None:
        expect(card).to_have_attribute("data-step", str(number))
        here = page.locator(".cx-tour-here")
        expect(here).to_have_count(1)
        expect(here).to_be_in_viewport()
        expect(card).to_be_in_viewport(ratio=0.99)
        seen = page.evaluate(SEEN)
        assert seen["covered"] == 0 and seen["inside"] > 0.3, (number, seen)

    def next_step(number: int) -> None:
        """What was done is seen first; the tour goes on when one wants it to."""
        expect(card.locator(".ct-place")).to_contain_text("done ✓")
        card.get_by_role("button", name="Next").click()
        at_step(number)

    at_step(1)
    assert grave(page) == []
    page.locator(".cx-preset").nth(3).click()
    next_step(2)
    page.locator(".cv-key-button").nth(1).click()
    next_step(3)
    page.locator(".cv-key-button").nth(1).click()  # acting elsewhere does not end a step
    page.wait_for_timeout(400)
    at_step(3)
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
    assert overflow(page) == 0
    page.get_by_role("button", name="Close").click()
    expect(card).to_have_count(0)
    visitor.wait_idle()


def test_the_tour_by_keyboard_skipped_and_ended(visit: Visit) -> None:
    page = visit().page
    page.locator("#cx-tour").press("Enter")
    card = page.locator(".citer-tour")
    expect(page.locator(".ct-title")).to_be_focused()
    page.keyboard.press("F6")
    expect(page.locator(".cv-play")).to_be_focused()
    page.keyboard.press("F6")
    expect(page.get_by_role("button", name="Skip this step")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    expect(card).to_have_attribute("data-step", "3")
    page.get_by_role("button", name="Go there").press("Enter")
    expect(page.locator(".cv-t[tabindex]")).to_be_focused()
    page.keyboard.press("Enter")
    expect(card.locator(".ct-place")).to_contain_text("done ✓")
    page.keyboard.press("F6")
    expect(page.get_by_role("button", name="Next", exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    expect(card).to_have_attribute("data-step", "4")
    page.keyboard.press("Escape")
    expect(card).to_have_count(0)
    expect(page.locator("#cx-tour")).to_be_focused()


def test_predict_then_reveal_scores_the_marks(visit: Visit) -> None:
    visitor = visit()
    page = visitor.page
    visitor.open_view("Learn")
    tokens = page.locator(".cx-guess")
    n_marks = opening_run().n_tokens - 1  # the end of the text has nothing to mark
    expect(tokens).to_have_count(n_marks)
    expect(tokens.locator(".cv-mark-tex[data-mark='×']")).to_have_count(2)  # LaTeX is spelled as in Explore
    truth = page.evaluate("window.citer.viewer.events.map((event) => event.source === 'llm')")
    llm = [index for index, is_llm in enumerate(truth[:n_marks]) if is_llm]
    tokens.nth(llm[0]).click()
    tokens.nth(llm[1]).focus()
    page.keyboard.press(" ")
    slm = truth.index(False)
    tokens.nth(slm).click()
    page.keyboard.press("ArrowRight")
    expect(tokens.nth(slm + 1)).to_be_focused()
    page.get_by_role("button", name="Reveal").click()
    result = page.locator(".cx-learn-result")
    expect(result).to_contain_text(f"You found 2 of {len(llm)} tokens (✓), missed {len(llm) - 2} (▲) and marked 1")
    expect(page.locator(".cx-guess-missed")).to_have_count(len(llm) - 2)
    expect(tokens.nth(slm)).to_have_attribute("aria-checked", "true")
    page.get_by_label("What counts as needing the LLM").select_option("changed")
    expect(result).to_contain_text("Score")
    page.get_by_role("button", name="Try again").click()
    expect(result).to_be_empty()


def test_the_formulas_have_the_numbers_of_the_run_on_the_screen(visit: Visit) -> None:
    visitor = visit()
    page = visitor.page
    visitor.open_view("Learn")
    formulas = page.locator(".cx-formulas")
    run = opening_run()
    cost = run.cost(H100_SXM)
    routed, alone = (
        f"{n / 1e9:.2f} GB" if n >= 1e9 else f"{n / 1e6:.0f} MB" for n in (cost.routed.n_bytes, cost.llm_only.n_bytes)
    )
    expect(formulas).to_contain_text(f"{run.n_llm_tokens} / {run.n_tokens} = {run.n_llm_tokens / run.n_tokens:.1%}")
    expect(formulas).to_contain_text(f"{routed} / {alone} = {cost.routed.n_bytes / cost.llm_only.n_bytes:.1%}")
    visitor.open_view("Explore")
    page.locator(".cx-preset").nth(2).click()
    visitor.open_view("Learn")  # the run that is shown comes along
    expect(formulas).to_contain_text(f"{(n := recorded('bakery-llm').n_tokens)} / {n} = 100.0%")


@pytest.mark.parametrize(
    ("view", "seen"), [("Compare", ".cq-column"), ("Evidence", ".ce-plot[data-drawn]"), ("Learn", ".cx-glossary")]
)
def test_presenter_mode_shows_the_view_that_one_is_in_in_large_type(visit: Visit, view: str, seen: str) -> None:
    page = (visitor := visit()).page
    visitor.open_view(view)
    part = page.locator(seen).first
    expect(part).to_be_visible()
    plain = part.evaluate("(node) => node.currentCSSZoom")
    page.locator("#cx-present").click()
    expect(part).to_be_visible()
    expect(page.locator(".cx-header")).to_be_hidden()
    expect(page.locator(".cp-title")).to_have_text(view)
    expect(page.locator(".cp-tau")).to_be_empty()
    if view != "Evidence":  # a chart keeps its size, so that it knows where a pointer is, and has larger type
        assert part.evaluate("(node) => node.currentCSSZoom") == pytest.approx(1.4 * plain)
    else:
        expect(part.locator(".xtick text").first).to_have_css("font-size", f"{12 * 1.4:.4g}px")
    assert overflow(page) == 0
    page.keyboard.press("n")  # of a run; here it is nothing
    page.keyboard.press("Escape")
    expect(page.locator(".citer-presenter")).to_have_count(0)
    expect(part).to_be_visible()


def test_the_text_size_holds_in_every_view(visit: Visit) -> None:
    page = (visitor := visit()).page
    visitor.open_view("Learn")
    expect(page.locator(".cx-glossary")).to_be_visible()
    page.locator("#cx-size").click()
    assert page.locator(".cx-glossary").evaluate("(node) => node.currentCSSZoom") == pytest.approx(1.2)
    assert overflow(page) == 0


@pytest.mark.parametrize("width", [1280, 1920])
def test_presenting_cuts_nothing_of_the_inspector(visit: Visit, width: int) -> None:
    page = visit(width=width).page
    page.locator(".cv-t").nth(5).click()
    page.locator("#cx-present").click()
    cut = page.evaluate("""() => [...document.querySelectorAll(".cv-inspector, .cv-inspector-body > *")]
      .filter((node) => node.scrollWidth > node.clientWidth + 1).map((node) => node.className)""")
    assert cut == []


def test_presenter_mode_is_driven_by_keys(visit: Visit) -> None:
    page = visit().page
    tau = opening_run().settings.threshold
    page.locator("#cx-present").click()
    expect(page.locator("#cx-controls")).to_be_hidden()
    page.keyboard.press("n")
    expect(page.locator(".cp-title")).to_have_text("The same, SLM alone")
    page.keyboard.press("p")
    expect(page.locator(".cp-title")).to_have_text("Change at the bakery")
    page.keyboard.press("]")
    expect(page.locator(".cv-inspector")).to_contain_text("pinned")
    page.keyboard.press("-")
    expect(page.locator(".cp-tau")).to_have_text(f"τ {tau - 0.05:.2f}")
    expect(page.locator(".cv-notice")).to_contain_text(f"At τ {tau - 0.05:.2f}")
    page.keyboard.press("r")
    expect(page.locator(".cp-tau")).to_have_text(f"τ {tau:.2f}")
    page.keyboard.press("?")
    expect(page.locator(".cp-keys")).to_be_visible()
    assert overflow(page) == 0
    assert grave(page) == []
    page.keyboard.press("Escape")
    expect(page.locator(".cv-t[data-pinned]")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(page.locator(".citer-presenter")).to_have_count(0)
    expect(page.locator("#cx-present")).to_be_focused()
