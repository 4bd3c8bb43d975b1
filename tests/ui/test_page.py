"""What a person does with the page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from citer_core.errors import RouterError, ServerError
from tests.fakes import FakeEngine
from tests.ui.serving import HOSTILE, Served, script
from tests.ui.visitor import Visitor, wait_until

pytestmark = pytest.mark.ui
Visit = Callable[..., Visitor]


def test_the_first_recorded_run_is_shown_before_any_model_is_loaded(
    browser: Browser, make_server: Callable[..., Served]
) -> None:
    served = make_server(FakeEngine(script))
    visitor = Visitor(browser, served.url)
    expect(visitor.tokens.first).to_be_visible(timeout=5_000)
    expect(visitor.page.locator(".cv-mode")).to_have_text("Recorded")
    expect(visitor.page.locator("#cx-device")).to_have_attribute("data-state", "loading")
    assert served.engine.n_loads == 0
    # A run that is asked for now waits for the engine and then starts by itself.
    visitor.ask("How much is it?")
    served.may_load.set()
    visitor.wait_live()
    visitor.wait_idle()
    expect(visitor.page.locator("#cx-device")).to_have_attribute("data-state", "ready")
    assert "boxed" in visitor.text()
    visitor.leave()


def test_an_engine_that_cannot_be_loaded_leaves_the_recorded_runs(
    browser: Browser, make_server: Callable[..., Served]
) -> None:
    engine = FakeEngine(script)
    engine.load = lambda *_, **__: (_ for _ in ()).throw(RuntimeError("secret path"))  # type: ignore[method-assign]
    served = make_server(engine)
    served.may_load.set()
    visitor = Visitor(browser, served.url)
    expect(visitor.page.locator("#cx-notice")).to_contain_text("could not be loaded", timeout=5_000)
    expect(visitor.page.locator("body")).not_to_contain_text("secret path")
    expect(visitor.tokens.first).to_be_visible()
    visitor.leave()


def test_a_router_that_does_not_fit_a_failing_model_and_a_lost_server_are_said_and_the_page_goes_on(
    visit: Visit, make_server: Callable[..., Served]
) -> None:
    engine = FakeEngine(script)
    engine.problems = (RouterError('The router "mine" reads hidden states of 64 numbers, but the SLM gives 96.'),)
    served = make_server(engine)
    served.may_load.set()
    visitor = visit(url=served.url)
    page, viewer = visitor.page, visitor.page.locator(".citer-viewer")
    expect(page.locator("#cx-notice")).to_contain_text('router "mine" reads', timeout=10_000)
    visitor.ask("A good question.")
    visitor.wait_live()
    visitor.wait_idle()
    assert "42" in visitor.text()
    # What was written is kept, and what broke may come back.
    lost = "The LLM's server gave no answer. Start it again if it has ended, and run again."
    engine.fail_at = 3
    for error, said in ((RuntimeError("secret path"), "went wrong on the server"), (ServerError(lost), lost)):
        engine.error = error
        visitor.ask(f"This will break: {type(error).__name__}.")
        expect(viewer).to_contain_text(said, timeout=10_000)
        visitor.wait_idle()
        assert page.evaluate("window.citer.viewer.events.length") == 3
        expect(page.locator("body")).not_to_contain_text("secret path")
    visitor.tokens.nth(1).click()
    expect(page.locator(".cv-inspector")).to_contain_text("Token 2 of 3")
    engine.fail_at = None
    page.locator("button#cx-generate").click()
    expect(viewer).not_to_contain_text(lost)
    visitor.wait_idle()
    assert page.evaluate("window.citer.viewer.events.length") > 3


def test_a_run_streams_is_stopped_and_ends_whole_whatever_it_writes_and_is_lost(visit: Visit, served: Served) -> None:
    visitor = visit()
    page = visitor.page
    stop = page.locator("button#cx-stop")
    visitor.ask("A long story, twelve words of it.")
    visitor.wait_live()
    run = served.engine.runs[-1]
    for _ in range(4):
        n_tokens = visitor.tokens.count()
        wait_until(lambda n=n_tokens: visitor.tokens.count() > n)  # type: ignore[misc]
        assert run.finish_reason is None, "tokens arrive while the run goes on"
    stop.click()
    wait_until(lambda: run.finish_reason == "cancelled")
    visitor.wait_idle()
    assert visitor.text() == run.trace().completion
    assert page.evaluate("window.citer.viewer.trace().finish_reason") == "cancelled"

    visitor.ask(f"hostile {HOSTILE}")
    visitor.wait_live()
    visitor.wait_idle()
    run = served.engine.runs[-1]
    assert visitor.text() == run.trace().completion and run.finish_reason == "eos"
    expect(page.locator(".citer-viewer")).to_contain_text("answer 42")
    assert "<script>window.hacked=1</script>" in page.locator(".citer-viewer").inner_text()
    assert page.evaluate("window.hacked === undefined")
    assert page.locator(".citer-viewer img, .citer-viewer script").count() == 0

    # A lost message is fetched again.
    page.evaluate(
        """() => { const page = window.citer, receive = page.viewer.receive.bind(page.viewer); window.nMessages = 0;
           page.viewer.receive = (message) => { if (window.nMessages++ % 3 !== 1) receive(message); }; }"""
    )
    visitor.ask("Some messages of this long story get lost.")
    page.wait_for_function("() => window.nMessages > 9")
    stop.click()
    visitor.wait_idle()
    run = served.engine.runs[-1]
    wait_until(lambda: run.finish_reason == "cancelled")
    wait_until(lambda: visitor.text() == run.trace().completion)


def test_two_visitors_see_only_their_own_run(visit: Visit, served: Served) -> None:
    one, other = visit(), visit()
    one.ask("I ask something.")
    other.ask("The other one asks something else entirely.")
    one.wait_live()
    other.wait_live()
    one.wait_idle()
    other.wait_idle()
    assert one.text() != other.text()
    by_question = {run.problem.question: run.trace().completion for run in served.engine.runs}
    assert one.text() == by_question["I ask something."]
    assert other.text() == by_question["The other one asks something else entirely."]


class ServedEngine(FakeEngine):
    """Its LLM is on a server that comes up late."""

    llm_is_here = False
    is_up = False

    def load(self, *arguments: Any, **options: Any) -> FakeEngine:
        if not self.is_up:
            raise ServerError("The LLM's server gave no answer.")
        return super().load(*arguments, **options)


def test_a_server_that_comes_up_late_is_waited_for_and_offers_what_it_can(
    browser: Browser, make_server: Callable[..., Served]
) -> None:
    engine = ServedEngine(script, fail_at=0, error=ServerError("The LLM's server was lost."))
    served = make_server(engine)
    served.may_load.set()
    visitor = Visitor(browser, served.url)
    page = visitor.page
    expect(page.locator("#cx-notice")).to_contain_text("gave no answer. This page looks for it every", timeout=10_000)
    expect(page.locator("#cx-device")).to_have_text("Recorded runs only")
    engine.is_up = True
    expect(page.locator("#cx-device")).to_have_text("CPU, float32; LLM on a server", timeout=15_000)
    expect(page.locator("#cx-notice")).to_be_empty()
    visitor.ask("Lost at once.")
    expect(page.locator(".citer-viewer")).to_contain_text("Ended before the first token.", timeout=10_000)
    expect(page.locator(".citer-viewer")).not_to_contain_text("Reading the prompt.")
    engine.fail_at = None
    visitor.ask("Good now.")
    visitor.wait_live()
    visitor.wait_idle()
    visitor.tokens.first.click()
    expect(page.get_by_role("button", name="Flip:")).to_be_visible()
    expect(page.get_by_role("button", name="Ask the LLM everywhere")).to_have_count(0)
    visitor.leave()
