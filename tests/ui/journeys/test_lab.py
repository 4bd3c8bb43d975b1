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
from tests.ui.axe import findings, overflow, small_targets
from tests.ui.conftest import on_one_host
from tests.ui.journeys.conftest import ids
from tests.ui.visitor import Visitor, until

pytestmark = pytest.mark.ui
Enter = Callable[..., Visitor]
MINUTES = 180_000  # milliseconds: on two cores, beside other tests
LABELLED = "[...document.querySelectorAll('.cb-key b')].map((node) => Number(node.textContent))"


@on_one_host("static")
def test_a_router_of_ones_own(enter: Enter, engine: Engine, tmp_path: Path) -> None:
    """Ten problems by outcome; it is stopped while it is tried, and what it writes then Python writes too.

    The experiment comes first, in the same window: to label ten problems takes longest, and their labels are kept.
    """
    visitor = enter(theme="dark", width=390, computes="browser")
    page = visitor.page
    an_experiment_is_guessed_first(visitor)
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1280, "height": 900})
    train = page.locator(".cb-primary")
    expect(page.locator(".cb-words")).to_contain_text("max-probability")
    page.get_by_label("How many problems").select_option("10")
    page.get_by_label("What is trained").select_option("mlp-32")
    train.click()
    expect(page.locator(".cb-eta")).to_contain_text("unseen problems", timeout=MINUTES)
    n_llm, n_both, *_ = page.evaluate(LABELLED)
    assert n_llm > 0 and n_both > 0
    expect(page.locator(".cb-sofar")).to_contain_text(f"{n_llm} need")
    expect(page.locator(".cb-head").last).to_contain_text(re.compile(r"pass \d+.* loss \d"))
    until(page, "window.citer.views.filled.get('lab').run.points[0].n >= 4", 180)
    expect(train).to_have_text("Cancel")
    train.click()
    expect(train).to_have_text("Use in Explore")
    n, right = page.evaluate("(({ n, right }) => [n, right])(window.citer.views.filled.get('lab').run.points[1])")
    assert page.locator(".cb-number").inner_text() == f"{100 * right / n:.0f}%"
    expect(page.locator(".cb-head").first).to_contain_text(f"n = {n}")
    expect(page.locator(".cb-outcome").first).to_contain_text("by the LLM", timeout=MINUTES)
    assert (overflow(page), findings(page, ".cx-lab")) == (0, [])

    page.get_by_role("button", name="Hand in to a class").click()
    expect(page.locator(".cc-code")).to_have_text(re.compile("[0-9A-Z]{4}(-[0-9A-Z]{1,4}){3,}"))

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


def an_experiment_is_guessed_first(visitor: Visitor) -> None:
    """On a phone: its link opens it, nothing begins without a guess, and it says what was right."""
    page = visitor.page
    page.goto(f"{visitor.home}?view=lab&break=few")
    act = page.locator(".cb-primary")
    expect(act).to_have_text("Train and see", timeout=60_000)
    expect(act).to_be_disabled()
    expect(page.get_by_label("How many problems")).to_have_value("10")
    expect(page.locator(".cb-key")).to_have_text("10 problems, none labelled yet")
    guess = page.get_by_label("Your guess: right answers of 100")
    guess.press("ArrowRight")
    expect(page.locator(".cb-number")).to_have_text("76%")
    assert (overflow(page), small_targets(page, ".cx-lab"), findings(page, ".cx-lab")) == (0, [], [])
    act.click()
    until(page, "window.citer.views.filled.get('lab').run.points[0]?.n >= 4", 180)
    act.click()
    expect(page.locator(".cb-note h3")).to_contain_text("and you said 76%")
    expect(page.get_by_role("button", name="Ten problems")).to_have_attribute("data-result", re.compile(r"\d+%"))
    assert (overflow(page), small_targets(page, ".cx-lab"), findings(page, ".cx-lab")) == (0, [], [])
    page.get_by_role("button", name="Put it back").click()
    expect(act).to_have_text("Train")
    expect(page.get_by_label("How many problems")).to_have_value("100")
