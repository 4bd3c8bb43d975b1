"""Recorded runs on the page: what a chosen one brings, and what one of another pair leaves alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, expect

from tests.fakes import FakeEngine
from tests.ui.conftest import Served, Visitor, script

pytestmark = pytest.mark.ui
Visit = Callable[..., Visitor]


def test_a_preset_plays_and_brings_its_problem_and_tau(visit: Visit) -> None:
    visitor = visit()
    card = visitor.page.locator('.cx-preset[data-pair="Bundled pair"]').nth(1)
    card.click()
    expect(card).to_have_attribute("aria-pressed", "true")
    question, tau = visitor.page.evaluate(
        "(() => { const t = window.citer.viewer.trace(); return [t.prompt.question, t.settings.threshold]; })()"
    )
    expect(visitor.page.locator("#cx-prompt textarea")).to_have_value(question)
    expect(visitor.page.locator("#cx-tau input[type=range]")).to_have_value(f"{tau:g}")


@pytest.fixture(scope="module")
def all_runs(make_server: Callable[..., Served]) -> Served:
    """A page whose first recorded runs are another pair's than the loaded one."""
    served = make_server(FakeEngine(script), all_runs=True)
    served.may_load.set()
    return served


def test_tau_is_never_moved_unasked_and_the_box_holds_the_problem_of_the_run(
    browser: Browser, all_runs: Served
) -> None:
    """Beside a run of another pair too; the loaded pair's own tau is one click away."""
    visitor = Visitor(browser, all_runs.url)
    page = visitor.page
    expect(page.locator("#cx-device")).to_have_attribute("data-state", "ready", timeout=20_000)
    other = page.locator('.cx-preset:not([data-pair="Bundled pair"])').nth(1)
    other.click()
    expect(other).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#cx-notice")).to_contain_text("Generate asks the pair that is loaded, Bundled pair.")
    question, tau = page.evaluate(
        "(() => { const t = window.citer.viewer.trace(); return [t.prompt.question, t.settings.threshold]; })()"
    )
    slider, number = page.locator("#cx-tau input[type=range]"), page.locator("#cx-tau input[type=number]")
    expect(slider).to_have_value(f"{tau:g}")
    expect(page.locator("#cx-prompt textarea")).to_have_value(question)
    visitor.ask("Own question.")
    visitor.wait_idle()
    assert all_runs.engine.runs[-1].settings.threshold == tau  # as it stood there
    visitor.ask("")
    expect(page.locator("#cx-notice")).to_contain_text("empty")
    expect(slider).to_have_value(f"{tau:g}")
    # What is no tau is not taken.
    number.fill("9")
    expect(page.locator("#cx-tau-said")).to_have_text(f"τ is a number from 0 to 1. {tau:.2f} is kept.")
    page.keyboard.press("Tab")
    expect(number).to_have_value(f"{tau:g}")
    own = page.get_by_role("button", name="’s τ, 0.70")
    own.click()
    expect(own).to_be_hidden()
    expect(number).to_have_value("0.7")
    expect(page.locator("#cx-tau-said")).to_be_empty()
    visitor.ask("Own question again.")
    visitor.wait_idle()
    assert all_runs.engine.runs[-1].settings.threshold == 0.7
    visitor.leave()


def test_a_tau_that_came_by_link_is_kept_beside_a_run_of_another_pair(browser: Browser, all_runs: Served) -> None:
    first = Visitor(browser, all_runs.url)
    card = first.page.locator('.cx-preset:not([data-pair="Bundled pair"])').first
    card.click()
    expect(card).to_have_attribute("aria-pressed", "true")
    tau = first.page.evaluate("window.citer.viewer.trace().settings.threshold")
    first.leave()
    visitor = Visitor(browser, f"{all_runs.url}?type=open&q=By+link%3F&at={tau:g}")
    expect(visitor.page.locator("#cx-device")).to_have_attribute("data-state", "ready", timeout=20_000)
    expect(visitor.page.locator(".cv-question")).to_have_text("By link?")
    visitor.wait_idle()
    run = all_runs.engine.runs[-1]
    assert (run.problem.question, run.settings.threshold) == ("By link?", tau)
    visitor.leave()
