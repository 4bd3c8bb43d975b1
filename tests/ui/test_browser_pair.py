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
        counted = page.locator(".cv-answer .cv-verdict").inner_text()
        assert ("Right" in counted) == bool(alone.answer and alone.answer.is_correct)
    assert visitor.shown().settings.threshold == 1
    page.get_by_role("button", name="Keep it as a branch").click()
    expect(page.locator(".cv-branch")).to_have_count(2)
    page.get_by_role("button", name="Original").first.click()
    assert visitor.shown().key == recorded("bakery").key
    expect(page.locator(".cv-mode")).to_have_text("Recorded")

    # Generate, with a verdict where the answer is known.
    problem = bundled_rows("math")[3].problem
    visitor.ask(problem.question)
    visitor.wait_live()
    visitor.wait_idle()
    trace = visitor.shown()
    assert trace.prompt.text == problem.prompt and trace.answer is not None
    assert trace.answer.true_answer == problem.true_answer and trace.answer.is_correct is not None
    assert trace.pair.revision == recorded("bakery").pair.revision and "WebAssembly" in trace.record.hardware
    expect(page.locator(".cv-provenance")).to_contain_text("WebAssembly")
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
    page.locator("button#cx-stop").click()
    visitor.leave()
    assert complaints == [] and not without_models.engine.runs


HOLD = """() => {
  const { worker } = window.citer.browser.client;
  const take = worker.onmessage;
  const held = [];
  worker.onmessage = (message) => held.push(message);
  window.isWritten = () => held.some(({ data }) => data.end);
  window.release = () => { worker.onmessage = take; held.forEach((message) => take(message)); };
}"""


@pytest.fixture
def loading(browser: Browser, without_models: Served) -> Any:
    """A visitor whose pair is on its way, the recorded run on the screen, and the way to let the pair come."""
    visitor = Visitor(browser, without_models.url, computes="browser")
    held: list[Route] = []
    visitor.context.route("**/*.safetensors", lambda route: held.append(route))

    def let_come() -> None:
        visitor.context.route("**/*.safetensors", lambda route: route.continue_())
        while held:
            held.pop().continue_()

    expect(visitor.tokens.first).to_be_visible(timeout=15_000)
    visitor.page.locator('.cx-preset[data-file="bakery.json"]').click()
    expect(visitor.page.locator(".cv-mode")).to_have_text("Recorded")
    visitor.page.wait_for_function("() => window.citer.browser.client?.state === 'loading'", timeout=15_000)
    yield visitor, let_come
    visitor.leave()
    assert visitor.complaints == []


def test_tau_that_moved_while_the_pair_loads_does_not_end_the_run_that_is_asked_for_then(loading: Any) -> None:
    visitor, let_come = loading
    problem = bundled_rows("math")[3].problem
    move(visitor, 0.57)
    visitor.ask(problem.question)
    expect(visitor.page.locator(".cv-status")).to_contain_text("Loading the bundled pair")
    move(visitor, 0.3)  # too late for the run, and no reason to end it
    let_come()
    visitor.wait_idle()
    sentence = visitor.page.locator(".cv-notice .cv-sentence")
    expect(sentence).to_contain_text("τ 0.30, written in this browser")
    visitor.page.get_by_role("button", name="Back to the run’s τ 0.57").click()
    expect(sentence).to_contain_text("Written at τ 0.57")
    trace = visitor.shown()
    assert trace.prompt.text == problem.prompt and trace.settings.threshold == 0.57
    assert trace.finish_reason == "eos" and trace.parent is None
    assert visitor.page.locator(".cv-mode").inner_text() == "Live"


def test_a_run_that_is_stopped_before_the_pair_is_here_is_not_written(loading: Any) -> None:
    visitor, let_come = loading
    move(visitor, 0)
    visitor.ask(bundled_rows("math")[3].problem.question)
    expect(visitor.page.locator(".cv-status")).to_contain_text("Loading the bundled pair")
    visitor.page.locator("button#cx-stop").click()
    let_come()
    # The run that is on the screen follows tau, as if nothing else had been asked for.
    sentence = visitor.page.locator(".cv-notice .cv-sentence")
    expect(sentence).to_contain_text("τ 0.00, written in this browser", timeout=30_000)
    assert visitor.shown().key == recorded("bakery-slm").key
    assert visitor.page.evaluate("window.citer.run") is None


def test_what_comes_late_is_not_shown_in_place_of_another_run_or_of_one_that_was_stopped(
    browser: Browser, without_models: Served
) -> None:
    visitor = Visitor(browser, without_models.url, computes="browser")
    page = visitor.page
    expect(visitor.tokens.first).to_be_visible(timeout=15_000)
    page.locator('.cx-preset[data-file="bakery.json"]').click()
    page.wait_for_function(f"() => {READY}", timeout=30_000)

    def release() -> None:
        page.evaluate("window.release()")
        page.evaluate("new Promise(requestAnimationFrame)")

    page.evaluate(HOLD)
    move(visitor, 0)
    page.wait_for_function("() => window.isWritten()", timeout=15_000)
    page.locator('.cx-preset[data-file="trip.json"]').click()
    page.wait_for_function("() => window.citer.viewer.view.isPending === false")
    before = visitor.shown().key
    assert before == recorded("trip").key
    release()
    assert visitor.shown().key == before

    # Stopped before its first token is here.
    page.evaluate(HOLD)
    visitor.ask(bundled_rows("math")[3].problem.question)
    page.wait_for_function("() => window.isWritten()", timeout=15_000)
    page.locator("button#cx-stop").click()
    visitor.wait_idle()
    release()
    assert visitor.shown().key == before
    assert page.locator(".cv-mode").inner_text() == "Recorded"
    visitor.leave()
    assert visitor.complaints == []


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
