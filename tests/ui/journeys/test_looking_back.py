"""Look-back: what the LLM takes back is seen where it stood, both dials are one plane, and a slip is to be found."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import expect

from citer_core.engine import Engine
from citer_core.tasks.datasets import bundled_rows
from citer_core.types import DecodeSettings, Discarded, Judged, settled
from tests.traces import opening_run
from tests.ui.axe import findings
from tests.ui.conftest import on_one_host
from tests.ui.journeys.conftest import ids
from tests.ui.visitor import Visitor, until

pytestmark = pytest.mark.ui
Enter = Callable[..., Visitor]
VIEW = "window.citer.viewer.view"


@on_one_host("static")
def test_what_the_llm_takes_back(enter: Enter, engine: Engine) -> None:
    """It is struck where it stood, folds, and can be opened; the text goes on as Python's does."""
    how = {"take_back": 0.3, "doubt_budget": 0.5, "max_new_tokens": 200}
    settings = DecodeSettings(threshold=0.1, **how)  # type: ignore[arg-type]
    runs = ((row.problem, list(engine.start(row.problem, settings=settings))) for row in bundled_rows("math"))
    problem, told = next((problem, told) for problem, told in runs if sum(len(event.discarded) for event in told) > 3)
    expected = settled(told)
    visitor = enter()
    page = visitor.page
    visitor.ready()
    visitor.set_tau(0.1)
    page.get_by_text("Router, decoding and price").click()
    for name, value in how.items():
        page.locator(f"#cx-settings [data-name={name}]").fill(str(value))
    visitor.ask(problem.question)
    visitor.wait_live()
    visitor.wait_idle()
    run = visitor.shown()
    assert ids(run.events) == ids(expected)
    assert [[gone[0] for gone in event.discarded] for event in run.events] == [
        [gone.token_id for gone in event.discarded] for event in expected
    ]
    at = next(event.index for event in expected if event.discarded)
    n_gone = len(expected[at].discarded)
    mark = page.get_by_role("button", name=f"{n_gone} token").first
    gone = page.locator("del.cv-gone").first
    expect(gone).to_be_hidden()
    mark.press("Enter")
    expect(gone).to_be_visible()
    expect(page.locator(".cv-figures")).to_contain_text(f"took {sum(len(e.discarded) for e in expected)} token")
    expect(page.locator(".cv-rule")).to_contain_text("When its doubts add up or its confidence is below τ, the large")

    # In the order of time stands what was taken back too; a cell of it opens it where it stood, and its look is chosen.
    mark.press("Enter")
    expect(gone).to_be_hidden()
    expect(page.locator(".cv-minimap")).to_be_hidden()
    strip = page.locator(".cv-time-svg")
    n_all = sum(len(event.discarded) for event in expected)
    looks = [event.index for event in expected if event.llm_tokens_fed]
    words = f"{len(expected) + n_all} tokens written, {n_all} of them taken back. {len(looks)} look"
    expect(strip).to_have_attribute("aria-label", re.compile(re.escape(words)))
    assert strip.locator(".cv-time-doubts").get_attribute("d")
    box = strip.bounding_box()
    assert box
    x = box["width"] * (at + n_gone - 0.5) / (len(expected) + n_all)  # of the last one
    strip.click(position={"x": x, "y": box["height"] * 0.7})
    expect(gone).to_be_visible()
    expect(gone.locator("[data-pinned]")).to_have_count(1)
    assert gone.evaluate("(node) => node.lastElementChild.hasAttribute('data-pinned')")
    assert page.evaluate(f"{VIEW}.pinned") == at
    expect(page.locator(".cv-inspector")).to_contain_text("The LLM looked back")
    page.evaluate(f"window.citer.viewer.playback.scrub({at})")
    before = [index for index in looks if index < at]
    expect(page.locator(".cv-in-time > .cv-caption")).to_contain_text(f"{len(before)} look")
    n_read = before[-1] + 1 if before else 0
    expect(page.locator(".cv-t.cv-unread:not(.cv-off)")).to_have_count(at - n_read)
    assert findings(page, ".citer-viewer") == []


BUDGETS, RATIOS = [0, 3, 1.5, 0.7, 0.35, 0.15, 0.05], [0, 0.02, 0.1, 0.2, 0.4, 0.7, 1]
# Made up: of 200 answers 150 are right and one more with each place; the LLM alone has 194.
POINTS = {
    "n": 200,
    "grid": [[[150 + 7 * x + y, 3e6 + 1e5 * (7 * x + y)] for y in range(7)] for x in range(7)],
    "alone": {"slm": [100, 1.8e6], "llm": [194, 18.7e6], "speculative": [194, 4.8e6]},
}
PLANE = {
    "router": "citer-outcome", "final_doubt": 0.02, "budgets": BUDGETS, "ratios": RATIOS,
    "points": {"math": POINTS, "mc": POINTS},
}  # fmt: skip
MEASURED = """(plane) => { window.citer.browser.facts.advice = { best: plane.router, said: {}, plane };
  window.citer.form.router.value = plane.router; window.citer.routerChosen(); }"""


@on_one_host("static")
def test_the_dials_of_look_back_are_one_plane(enter: Enter, engine: Engine) -> None:
    """A point that moves rewrites the run as Python writes it there; fields, link and plane say the same."""
    visitor = enter(computes="browser")
    page = visitor.page
    visitor.ready()
    page.evaluate(MEASURED, PLANE)
    problem = bundled_rows("math")[3].problem
    visitor.ask(problem.question)
    visitor.wait_live()
    visitor.wait_idle()
    own = visitor.shown()
    tau = own.settings.threshold

    def sees(budget: float, ratio: float, threshold: float = 0.0) -> None:
        how: dict[str, Any] = {"take_back": ratio, "doubt_budget": budget, "final_doubt": 0.02}
        settings = DecodeSettings(threshold=threshold, **how)
        wanted = ids(settled(engine.start(problem, router="citer-outcome", settings=settings)))
        values = {"threshold": threshold, **how}.items()
        stands = [f"({VIEW}.head.settings.{name} ?? 0) === {value}" for name, value in values]
        until(page, " && ".join([*stands, f"!{VIEW}.isPending"]))
        assert ids(visitor.shown().events) == wanted
        for name, value in how.items():
            assert float(page.locator(f"[data-name={name}]").input_value()) == value

    box, plane = page.get_by_label("The LLM may take tokens back"), page.locator(".cx-plane")
    tops = [page.locator(at).bounding_box() for at in ("#cx-presets", "#cx-controls")]
    expect(plane).to_be_hidden()
    box.check()
    expect(page.locator("#cx-tau")).to_be_hidden()
    expect(plane).to_contain_text("Look when doubts add up, take back clear slips.")
    expect(plane).to_contain_text("90.5% right")
    expect(plane).to_contain_text("200 math problems, ±4 points, citer-outcome")
    sees(0.35, 0.2)
    page.evaluate("scrollTo(0, 0)")
    assert [page.locator(at).bounding_box() for at in ("#cx-presets", "#cx-controls")] == tops

    # Four arrows on either slider, in words; then a pointer, to the column of the LLM alone.
    when, what = (page.get_by_role("slider", name=name) for name in ("When the LLM looks", "What it takes back"))
    when.press("ArrowRight")
    when.press("ArrowUp")
    expect(when).to_have_attribute("aria-valuetext", "looks after little doubt; 94.5% right, 6.90 MB a token")
    expect(what).to_have_attribute("aria-valuetext", re.compile("^takes back what it likes less;"))
    sees(0.15, 0.4)
    area = page.locator(".cx-plane-area")
    size = area.bounding_box()
    assert size is not None
    area.click(position={"x": size["width"] - 3, "y": 3})
    expect(plane).to_contain_text("Look at every token, take back any difference.")
    sees(0, 1, threshold=1.0)
    area.click(position={"x": 3, "y": size["height"] - 3})
    sees(0, 0)
    expect(plane).to_be_visible()

    # What is typed off the grid has no number here; another router has none at all.
    page.locator("#cx-settings summary").click()
    page.locator("[data-name=doubt_budget]").fill("0.3")
    expect(plane).to_contain_text("not measured here")
    expect(page.locator(".cx-plane-ring")).to_have_class(re.compile("cx-plane-near"))
    page.locator("#cx-router select").select_option("max-probability")
    expect(plane).to_contain_text("Measured with citer-outcome only.")
    expect(plane.locator("dl")).to_be_hidden()
    expect(page.locator(".cx-plane-fewer")).to_have_count(0)
    page.locator("#cx-router select").select_option("citer-outcome")
    assert findings(page, "#cx-side") == []

    # A link and the way back.
    page.locator("[data-name=doubt_budget]").fill("0.35")
    page.locator("[data-name=take_back]").fill("0.2")
    sees(0.35, 0.2)
    address = page.evaluate("window.citer.link.address()")
    box.uncheck()
    until(page, f"{VIEW}.origin === null")
    assert ids(visitor.shown().events) == ids(own.events)
    expect(page.locator("#cx-tau input[type=number]")).to_have_value(f"{tau:g}")
    expect(plane).to_be_hidden()
    page.goto(address)
    visitor.wait_live()
    visitor.wait_idle()
    expect(page.get_by_label("The LLM may take tokens back")).to_be_checked()
    sees(0.35, 0.2)

    # What was measured is one router's: with the tick it writes.
    page.locator("#cx-settings summary").click()
    chosen = page.locator("#cx-router select")
    chosen.select_option("max-probability")
    box.uncheck()
    box.check()
    expect(chosen).to_have_value("citer-outcome")
    visitor.wait_idle()
    sees(0.35, 0.2)


@on_one_host("served")
def test_the_slip_is_found(enter: Enter) -> None:
    """The text is that which the LLM saw; a mark is answered with what it gave that token and its own."""
    run = opening_run()
    at, after = 5, 9
    gone = tuple(Discarded(event.token_id, event.text, event.slm_confidence) for event in run.events[at:after])
    read = tuple(Judged(*both) for both in ((0.9, 0.9), (0.02, 0.95), (0.7, 0.7), (0.6, 0.6), (0.5, 0.5)))
    look = replace(run.events[at], source="llm", text="7", llm_tokens_fed=20, discarded=gone, read=read)
    told = replace(run, events=(*run.events[:at], look))
    visitor = enter()
    page = visitor.page
    page.route(
        "**/traces/bakery.json", lambda route: route.fulfill(body=told.to_json(), content_type="application/json")
    )
    page.locator('.cx-preset[data-file="bakery.json"]').evaluate("(card) => (card.dataset.takesBack = '')")
    page.locator(".cx-preset[data-takes-back]:not([data-file='bakery.json'])").evaluate_all(
        "(cards) => cards.forEach((card) => card.removeAttribute('data-takes-back'))"
    )
    visitor.open_view("Learn")
    card = page.get_by_role("region", name="Find the slip")
    tokens = card.locator(".cx-guess")
    expect(tokens).to_have_count(after, timeout=20_000)
    result = card.locator(".cx-learn-result")
    tokens.nth(0).click()
    tokens.nth(at + 1).click()
    expect(card.locator("[aria-checked=true]")).to_have_count(1)  # the later one
    card.get_by_role("button", name="Reveal").click()
    wrong, slip = (run.events[i].text.replace(" ", "·") for i in (at + 1, at))
    expect(result).to_have_text(
        f"Not found. To the LLM, “{wrong}” had 0.70. It took back “{slip}”, which had 0.02, and 3 tokens behind it; "
        "its own “7” had 0.95."
    )
    expect(tokens.nth(at)).to_have_class(re.compile("cx-guess-missed"))
    card.get_by_role("button", name="Try again").click()
    tokens.nth(at).focus()
    page.keyboard.press(" ")
    card.get_by_role("button", name="Reveal").click()
    expect(result).to_contain_text("Found. It took back")
    assert findings(page, ".cx-learn") == []
