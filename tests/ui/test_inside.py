"""The inside of a decision, from this browser's engine and from the server; and panels as large as the window."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from citer_core.cost import H100_SXM, CostModel
from citer_core.tasks.datasets import bundled_rows
from citer_core.trace import RoutingTrace
from tests.sampling import few_or_all
from tests.ui.axe import findings
from tests.ui.serving import Served
from tests.ui.visitor import Visitor

pytestmark = pytest.mark.ui
PROBLEM = bundled_rows("math")[2].problem
TAU = 0.57


def open_inside(page: Page, index: int) -> None:
    page.evaluate(f"window.citer.viewer.goTo({index})")
    page.get_by_role("button", name="See inside this decision").click()
    expect(page.locator(".ci-network")).to_be_visible(timeout=20_000)


def is_alone(page: Page) -> bool:
    """Whether nothing but a large panel can be reached."""
    return page.locator("header").evaluate("(node) => getComputedStyle(node).visibility") == "hidden"


@pytest.mark.parametrize("computes", few_or_all("browser", "server"))
def test_the_inside_of_a_token(visit: Callable[..., Visitor], labelled: Served, computes: str) -> None:
    visitor = visit(url=labelled.url, computes=computes)
    page = visitor.page
    expect(page.locator("#cx-device")).to_have_attribute("data-state", "ready", timeout=20_000)
    page.evaluate(f"window.citer.moveTau({TAU})")
    page.locator("#cx-settings summary").click()
    page.select_option("#cx-router select", "citer-outcome")
    visitor.ask(PROBLEM.question)
    visitor.wait_live()
    visitor.wait_idle()
    assert not any("inside/" in url for url in visitor.requests)  # which is fetched when it is opened
    events = page.evaluate("window.citer.viewer.events")
    at = next(e["index"] for e in reversed(events) if e["llm_tokens_fed"] > 1)
    open_inside(page, at)
    asked = [url for url in visitor.requests if url.endswith("/citer/ask/inside")]
    assert len(asked) == (computes == "server")

    engine = labelled.slot.wait(0)
    assert engine is not None
    written = [e["token_id"] for e in events[:at]]
    found = engine.inside(PROBLEM, written, router="citer-outcome", after_llm=events[at - 1]["source"] == "llm")
    layers = found.layers
    assert layers is not None
    forward = sum(push for push in layers.pushes if push > 0)
    back = sum(push for push in layers.pushes if push < 0)
    said = page.locator(".ci-network").get_attribute("aria-label") or ""
    numbers = [float(number.replace("−", "-")) for number in re.findall(r"[+−]\d+\.\d+", said)]
    assert numbers == pytest.approx([layers.logit - forward - back, forward, back, layers.logit], abs=0.02)
    assert page.locator(".ci-big").inner_text() == f"{events[at]['slm_confidence']:.3f}"

    # What it reads, what enters its cache and what that moved, by Python's own cost model.
    event = RoutingTrace.from_dict(page.evaluate("window.citer.viewer.trace()")).events[at]
    info = engine.pair_info
    costs = CostModel(info.slm, info.llm, H100_SXM, engine.router("citer-outcome").n_params)
    fed = events[at]["llm_tokens_fed"]
    expect(page.locator(".ci-low")).to_contain_text(f"It held {event.context_len - fed}; now {event.context_len}.")
    moved = costs.step(event).n_bytes
    shown = page.locator(".ci-cost").inner_text()
    assert shown.endswith(" MB") and float(shown.removesuffix(" MB")) == pytest.approx(moved / 1e6, rel=5e-3)

    # Keys, focus, readers.
    dialog = page.get_by_role("dialog", name=re.compile("Who writes after"))
    expect(dialog).to_be_visible()
    expect(dialog.get_by_role("button", name="Close")).to_be_focused()
    assert is_alone(page) and findings(page, ".cv-inside") == []
    page.keyboard.press("ArrowLeft")
    expect(dialog.locator(".ci-place")).to_have_text(f"token {at} of {len(events)}")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(page.get_by_role("button", name="See inside this decision")).to_be_focused()
    assert not is_alone(page) and page.evaluate("window.citer.viewer.view.pinned") == at - 1


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
