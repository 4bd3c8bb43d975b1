"""The Lab: a router that is guessed at, labelled, trained and tried in the browser; Python reads its file."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from citer_core.engine import Engine
from citer_core.routing.catalog import load_router
from citer_core.tasks.datasets import bundled_rows
from citer_core.types import DecodeSettings
from tests.ui.axe import sound
from tests.ui.conftest import on_one_host
from tests.ui.journeys.conftest import ids
from tests.ui.visitor import Visitor, until

pytestmark = pytest.mark.ui
Enter = Callable[..., Visitor]
MINUTES = 180_000  # milliseconds: on two cores, beside other tests


@on_one_host("static")
def test_a_recipe_is_labelled_until_it_is_stopped(enter: Enter) -> None:
    """What is trained of labels, and what it then writes, the slow tests look at here, and node's every time."""
    page = enter(theme="dark", width=390, computes="browser").page
    page.goto(page.url + "?view=lab&break=few")
    act = page.locator(".cb-primary")
    expect(act).to_be_disabled(timeout=60_000)  # nothing begins without a guess
    page.get_by_label("Your guess: right answers of 100").press("ArrowRight")
    expect(page.locator(".cb-number")).to_have_text("76%")
    sound(page, ".cx-lab")
    act.click()
    until(page, "[...document.querySelectorAll('.cb-key b')].some((node) => Number(node.textContent) > 0)", 180)
    act.click()
    expect(act).to_have_text("Go on")


@pytest.mark.slow
def test_a_router_of_ones_own(enter: Enter, engine: Engine, tmp_path: Path) -> None:
    """Ten problems by outcome; it is stopped while it is tried, and what it writes then Python writes too."""
    visitor = enter(computes="browser")
    page = visitor.page
    visitor.open_view("Lab")
    train = page.locator(".cb-primary")
    expect(page.locator(".cb-words")).to_contain_text("max-probability")
    page.get_by_label("How many problems").select_option("10")
    page.get_by_label("What is trained").select_option("mlp-32")
    train.click()
    expect(page.locator(".cb-eta")).to_contain_text("unseen problems", timeout=MINUTES)
    until(page, "window.citer.views.filled.get('lab').run.points[0].n >= 2", 180)
    expect(train).to_have_text("Cancel")
    train.click()
    expect(train).to_have_text("Use in Explore")
    n, right = page.evaluate("(({ n, right }) => [n, right])(window.citer.views.filled.get('lab').run.points[1])")
    assert page.locator(".cb-number").inner_text() == f"{100 * right / n:.0f}%"
    sound(page, ".cx-lab")

    path = tmp_path / "own.safetensors"
    path.write_bytes(visitor.saved("Save file"))
    router = load_router(path, engine.pair)
    tau = page.evaluate("window.citer.views.filled.get('lab').tau")
    train.click()
    expect(page.locator("#cx-explore")).to_be_visible()
    problem = bundled_rows("math")[5].problem
    visitor.ask(problem.question)
    visitor.wait_live()
    visitor.wait_idle()
    run = visitor.shown()
    assert run.settings.threshold == pytest.approx(tau, abs=1e-9)
    settings = DecodeSettings(threshold=run.settings.threshold, max_new_tokens=run.settings.max_new_tokens)
    own = Engine(engine.pair, {"own": router})
    assert ids(run.events) == ids(own.start(problem, router="own", settings=settings))
    assert run.router.revision == router.revision


@pytest.mark.slow
def test_an_experiment_is_guessed_first(enter: Enter) -> None:
    """On a phone: its link opens it, nothing begins without a guess, and it says what was right."""
    page = enter(theme="dark", width=390, computes="browser").page
    page.goto(page.url + "?view=lab&break=few")
    act = page.locator(".cb-primary")
    expect(act).to_have_text("Train and see", timeout=60_000)
    expect(act).to_be_disabled()
    expect(page.get_by_label("How many problems")).to_have_value("10")
    expect(page.locator(".cb-key")).to_have_text("10 problems, none labelled yet")
    guess = page.get_by_label("Your guess: right answers of 100")
    guess.press("ArrowRight")
    expect(page.locator(".cb-number")).to_have_text("76%")
    sound(page, ".cx-lab")
    act.click()
    until(page, "window.citer.views.filled.get('lab').run.points[0]?.n >= 4", 180)
    act.click()
    expect(page.locator(".cb-note h3")).to_contain_text("and you said 76%")
    expect(page.get_by_role("button", name="Ten problems")).to_have_attribute("data-result", re.compile(r"\d+%"))
    sound(page, ".cx-lab")
    page.get_by_role("button", name="Put it back").click()
    expect(act).to_have_text("Train")
    expect(page.get_by_label("How many problems")).to_have_value("100")
