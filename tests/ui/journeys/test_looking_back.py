"""Look-back: what the LLM takes back is seen where it stood, both dials are one plane, and a slip is to be found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from citer_core.engine import Engine
from citer_core.tasks.datasets import bundled_rows
from citer_core.types import DecodeSettings, settled
from tests.ui.axe import findings
from tests.ui.conftest import on_one_host
from tests.ui.journeys.conftest import ids
from tests.ui.visitor import Visitor, type_over, until

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
        type_over(page.locator(f"#cx-settings [data-name={name}]"), str(value))
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

    # In the order of time stands what was taken back too; a cell of it opens it where it stood, and its look is chosen.
    mark.press("Enter")
    expect(gone).to_be_hidden()
    strip = page.locator(".cv-time-svg")
    n_all = sum(len(event.discarded) for event in expected)
    looks = [event.index for event in expected if event.llm_tokens_fed]
    box = strip.bounding_box()
    assert box
    x = box["width"] * (at + n_gone - 0.5) / (len(expected) + n_all)  # of the last one
    strip.click(position={"x": x, "y": box["height"] * 0.7})
    expect(gone).to_be_visible()
    assert gone.evaluate("(node) => node.lastElementChild.hasAttribute('data-pinned')")
    assert page.evaluate(f"{VIEW}.pinned") == at
    page.evaluate(f"window.citer.viewer.playback.scrub({at})")
    before = [index for index in looks if index < at]
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
    expect(plane).to_be_hidden()
    box.check()
    expect(page.locator("#cx-tau")).to_be_hidden()
    expect(plane).to_contain_text("90.5% right")
    sees(0.35, 0.2)

    # Four arrows on either slider, in words; then a pointer, to the column of the LLM alone.
    when = page.get_by_role("slider", name="When the LLM looks")
    when.press("ArrowRight")
    when.press("ArrowUp")
    expect(when).to_have_attribute("aria-valuetext", "looks after little doubt; 94.5% right, 6.90 MB a token")
    area = page.locator(".cx-plane-area")
    size = area.bounding_box()
    assert size is not None
    area.click(position={"x": size["width"] - 3, "y": 3})
    sees(0, 1, threshold=1.0)

    # What is typed off the grid has no number here; another router has none at all.
    page.locator("#cx-settings summary").click()
    page.locator("[data-name=doubt_budget]").fill("0.3")
    expect(plane).to_contain_text("not measured here")
    page.locator("#cx-router select").select_option("max-probability")
    expect(plane).to_contain_text("Measured with citer-outcome only.")
    page.locator("#cx-router select").select_option("citer-outcome")
    assert findings(page, "#cx-side") == []

    box.uncheck()
    until(page, f"{VIEW}.origin === null")
    assert ids(visitor.shown().events) == ids(own.events)
    expect(page.locator("#cx-tau input[type=number]")).to_have_value(f"{tau:g}")
    expect(plane).to_be_hidden()
