"""The bundled pair in the visitor's browser, on a page whose server has no models: tau alive, and all that runs can."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Browser, Route, expect

from citer_core.tasks.datasets import bundled_rows
from tests.fakes import FakeEngine
from tests.traces import recorded
from tests.ui.serving import Served, script
from tests.ui.visitor import Visitor

pytestmark = pytest.mark.ui
READY = "window.citer.browser.client?.state === 'ready'"
STATUS = re.compile(r"/citer/ask/(engine_status|foreign_problem)")  # what a page asks by itself


def move(visitor: Visitor, tau: float) -> None:
    """In one go: who types it moves it to each of what stands there meanwhile."""
    number = visitor.page.locator("#cx-tau input[type=number]")
    number.fill(f"{tau:g}")
    number.press("Enter")


@pytest.fixture(scope="module")
def without_models(make_server: Callable[..., Served]) -> Any:
    """A page whose models do not come while it is looked at."""
    served = make_server(FakeEngine(script), loads_after_s=3600)
    yield served
    served.may_load.set()


HOLD = """() => {
  const { worker } = window.citer.browser.client;
  const take = worker.onmessage;
  const held = [];
  worker.onmessage = (message) => held.push(message);
  window.isWritten = () => held.some(({ data }) => data.end);
  window.release = () => { worker.onmessage = take; held.forEach((message) => take(message)); };
}"""


def test_what_is_asked_stopped_and_moved_while_the_pair_loads_or_writes(
    browser: Browser, without_models: Served
) -> None:
    """One page for all: it loads the pair once."""
    visitor = Visitor(browser, without_models.url, computes="browser")
    page, sentence = visitor.page, visitor.page.locator(".cv-notice .cv-sentence")
    held: list[Route] = []
    visitor.context.route("**/*.safetensors", lambda route: held.append(route))
    expect(visitor.tokens.first).to_be_visible(timeout=15_000)
    page.locator('.cx-preset[data-file="bakery.json"]').click()
    expect(page.locator(".cv-mode")).to_have_text("Recorded")
    page.wait_for_function("() => window.citer.browser.client?.state === 'loading'", timeout=15_000)
    # A run that is stopped before the pair is here is not written.
    problem = bundled_rows("math")[3].problem
    visitor.ask(problem.question)
    expect(page.locator(".cv-status")).to_contain_text("Loading the bundled pair")
    page.locator("button#cx-stop").click()
    visitor.wait_idle()
    assert page.evaluate("window.citer.run") is None
    # Tau that moves meanwhile does not end the run that is asked for then.
    move(visitor, 0.57)
    visitor.ask(problem.question)
    expect(page.locator(".cv-status")).to_contain_text("Loading the bundled pair")
    move(visitor, 0.3)  # too late for the run
    visitor.context.route("**/*.safetensors", lambda route: route.continue_())
    while held:
        held.pop().continue_()
    visitor.wait_idle()
    expect(sentence).to_contain_text("τ 0.30, written in this browser", timeout=30_000)
    page.get_by_role("button", name="Back to the run’s τ 0.57").click()
    expect(sentence).to_contain_text("Written at τ 0.57")
    trace = visitor.shown()
    assert trace.prompt.text == problem.prompt and trace.settings.threshold == 0.57
    assert trace.finish_reason == "eos" and trace.parent is None

    # What comes late is not shown in place of another run.
    page.locator('.cx-preset[data-file="bakery.json"]').click()
    expect(page.locator(".cv-mode")).to_have_text("Recorded")
    page.evaluate(HOLD)
    move(visitor, 0)
    page.wait_for_function("() => window.isWritten()", timeout=15_000)
    page.locator('.cx-preset[data-file="trip.json"]').click()
    page.wait_for_function("() => window.citer.viewer.view.isPending === false")
    before = visitor.shown().key
    assert before == recorded("trip").key
    release(visitor)
    assert visitor.shown().key == before
    # Nor of one that was stopped before its first token was here.
    page.evaluate(HOLD)
    visitor.ask(problem.question)
    page.wait_for_function("() => window.isWritten()", timeout=15_000)
    page.locator("button#cx-stop").click()
    visitor.wait_idle()
    release(visitor)
    assert visitor.shown().key == before and page.locator(".cv-mode").inner_text() == "Recorded"

    visitor.leave()
    assert visitor.complaints == []


@pytest.mark.slow
def test_tau_that_moved_while_a_run_is_shown_token_by_token_is_followed_once_it_is_whole(
    browser: Browser, without_models: Served
) -> None:
    visitor = Visitor(browser, without_models.url, computes="browser", moves=True)
    page = visitor.page
    expect(visitor.tokens.first).to_be_visible(timeout=15_000)
    visitor.ask(bundled_rows("math")[3].problem.question)
    page.wait_for_function("() => window.citer.viewer.view.isComing && !window.citer.isLive", timeout=30_000)
    move(visitor, 0)
    assert page.evaluate("window.citer.viewer.view.isComing"), "the run was whole before tau moved"
    expect(page.locator(".cv-notice .cv-sentence")).to_contain_text("τ 0.00, written in this browser", timeout=30_000)
    visitor.leave()
    assert visitor.complaints == []


def release(visitor: Visitor) -> None:
    visitor.page.evaluate("window.release()")
    visitor.page.evaluate("new Promise(requestAnimationFrame)")


def test_a_page_without_its_server_writes_at_every_tau_and_generates(browser: Browser, without_models: Served) -> None:
    visitor = Visitor(browser, without_models.url, computes="browser")
    page, complaints = visitor.page, visitor.complaints
    expect(visitor.tokens.first).to_be_visible(timeout=15_000)
    # A visitor who only looks loads neither the models nor the choices.
    expect(page.locator("#cx-device")).to_have_attribute("data-state", "loading", timeout=20_000)
    visitor.rest()
    chosen = re.compile(r"\.safetensors|datasets/.*\.jsonl")
    assert [url for url in visitor.requests if chosen.search(url)] == []
    page.locator('.cx-preset[data-file="bakery.json"]').click()
    page.wait_for_function(f"() => {READY}", timeout=30_000)
    assert any("datasets/math.jsonl" in url for url in visitor.requests), "not even when the page is used"
    n_before = len(visitor.requests)

    # Tau is alive: the text of either model alone, as recorded by Python, its verdict, and nothing hatched.
    sentence = page.locator(".cv-notice .cv-sentence")
    for tau, name in ((0, "bakery-slm"), (1, "bakery-llm")):
        move(visitor, tau)
        expect(sentence).to_contain_text(f"τ {tau}.00, written in this browser", timeout=15_000)
        alone = recorded(name)
        assert visitor.shown().key == alone.key and visitor.shown().answer == alone.answer
        expect(page.locator(".cv-text .cv-hyp")).to_have_count(0)
        expect(page.locator(".cv-mode")).to_have_text("Rewritten here")
    assert visitor.shown().settings.threshold == 1
    page.get_by_role("button", name="Keep it as a branch").click()
    expect(page.locator(".cv-branch")).to_have_count(2)

    # Generate, with a verdict where the answer is known.
    problem = bundled_rows("math")[3].problem
    visitor.ask(problem.question)
    visitor.wait_live()
    visitor.wait_idle()
    trace = visitor.shown()
    assert trace.prompt.text == problem.prompt and trace.answer is not None
    assert trace.answer.true_answer == problem.true_answer and trace.answer.is_correct is not None
    assert trace.pair.revision == recorded("bakery").pair.revision and "WebAssembly" in trace.record.hardware
    assert [url for url in visitor.requests[n_before:] if not STATUS.search(url)] == []

    # A person may want the server all the same.
    where = page.locator("#cx-where")
    expect(where).to_have_value("browser")
    where.select_option("server")
    page.locator('.cx-preset[data-file="bakery.json"]').click()
    expect(page.locator(".cv-mode")).to_have_text("Recorded")  # till it comes, tau is the last run's
    move(visitor, 0)
    expect(page.locator(".cv-text .cv-hyp").first).to_be_visible()
    visitor.ask("Which server?\nA. this one\nB. another one")
    expect(page.locator(".cv-status")).to_contain_text("models are loading", timeout=10_000)
    assert not without_models.engine.runs
    # A run that waits for the engine starts by itself.
    without_models.may_load.set()
    visitor.wait_live()
    visitor.wait_idle()
    assert "boxed" in visitor.text()
    visitor.leave()
    assert complaints == []
