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


def test_a_run_of_another_pair_leaves_the_box_alone_and_lends_no_tau(browser: Browser, all_runs: Served) -> None:
    visitor = Visitor(browser, all_runs.url)
    page = visitor.page
    expect(page.locator("#cx-device")).to_have_attribute("data-state", "ready", timeout=20_000)
    text = page.locator("#cx-prompt textarea").input_value()
    other = page.locator('.cx-preset:not([data-pair="Bundled pair"])').nth(1)
    other.click()
    expect(other).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#cx-notice")).to_contain_text("Generate asks the pair that is loaded, Bundled pair.")
    tau = page.evaluate("window.citer.viewer.trace().settings.threshold")
    expect(page.locator("#cx-tau input[type=range]")).to_have_value(f"{tau:g}")
    expect(page.locator("#cx-prompt textarea")).to_have_value(text)
    visitor.ask("Own question.")
    visitor.wait_idle()
    assert all_runs.engine.runs[-1].settings.threshold == 0.7 != tau  # the tau that the router recommends
    other.click()
    expect(page.locator("#cx-tau input[type=range]")).to_have_value(f"{tau:g}")  # or what it brings would undo the key
    page.locator("#cx-tau input[type=range]").press("ArrowLeft")
    moved = float(page.locator("#cx-tau input[type=range]").input_value())
    visitor.ask("And again.")
    visitor.wait_idle()
    assert all_runs.engine.runs[-1].settings.threshold == moved
    page.locator("#cx-tau input[type=number]").fill(f"{tau:g}")  # the same number, but chosen by the person now
    page.keyboard.press("Tab")
    visitor.ask("Once more.")
    visitor.wait_idle()
    assert all_runs.engine.runs[-1].settings.threshold == tau
    visitor.leave()


def test_a_tau_that_came_by_link_is_kept_beside_a_run_of_another_pair(browser: Browser, all_runs: Served) -> None:
    first = Visitor(browser, all_runs.url)
    card = first.page.locator(".cx-preset").first
    assert card.get_attribute("data-pair") != "Bundled pair"  # or this would test nothing
    expect(first.tokens.first).to_be_visible()
    tau = first.page.evaluate("window.citer.viewer.trace().settings.threshold")
    first.leave()
    visitor = Visitor(browser, f"{all_runs.url}?type=open&q=By+link%3F&at={tau:g}")
    expect(visitor.page.locator("#cx-device")).to_have_attribute("data-state", "ready", timeout=20_000)
    expect(visitor.page.locator("#cx-notice")).to_contain_text("Press Generate")
    visitor.page.locator("button#cx-generate").click()
    visitor.wait_live()
    visitor.wait_idle()
    run = all_runs.engine.runs[-1]
    assert (run.problem.question, run.settings.threshold) == ("By link?", tau)
    visitor.leave()
