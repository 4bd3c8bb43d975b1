"""What a person does with the page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from citer_core.errors import RouterError, ServerError
from tests.fakes import FakeEngine
from tests.ui.serving import Served, script
from tests.ui.visitor import Visitor, wait_until

pytestmark = pytest.mark.ui
Visit = Callable[..., Visitor]


def test_a_run_streams_is_stopped_and_ends_whole(visit: Visit, served: Served) -> None:
    visitor = visit()
    page = visitor.page
    stop = page.locator("button#cx-stop")
    visitor.ask("A long story, twelve words of it.")
    visitor.wait_live()
    run = served.engine.runs[-1]
    for _ in range(2):
        n_tokens = visitor.tokens.count()
        wait_until(lambda n=n_tokens: visitor.tokens.count() > n)  # type: ignore[misc]
        assert run.finish_reason is None, "tokens arrive while the run goes on"
    stop.click()
    wait_until(lambda: run.finish_reason == "cancelled")
    visitor.wait_idle()
    assert visitor.text() == run.trace().completion
    assert page.evaluate("window.citer.viewer.trace().finish_reason") == "cancelled"

    visitor.ask("A short one.")
    visitor.wait_live()
    visitor.wait_idle()
    assert visitor.text() == served.engine.runs[-1].trace().completion
    expect(page.locator(".citer-viewer")).to_contain_text("answer 42")


class LateEngine(FakeEngine):
    """Its LLM is on a server that comes up late, and its router fits no state."""

    llm_is_here = False
    is_up = False

    def load(self, *arguments: Any, **options: Any) -> FakeEngine:
        if not self.is_up:
            raise ServerError("The LLM's server gave no answer.")
        return super().load(*arguments, **options)


def test_a_server_that_comes_up_late_a_router_that_does_not_fit_and_a_failing_model_are_said_and_the_page_goes_on(
    browser: Browser, make_server: Callable[..., Served]
) -> None:
    engine = LateEngine(script, fail_at=0, error=ServerError("The LLM's server was lost."))
    engine.problems = (RouterError('The router "mine" reads hidden states of 64 numbers, but the SLM gives 96.'),)
    served = make_server(engine)
    served.may_load.set()
    visitor = Visitor(browser, served.url)
    page, viewer, notice = visitor.page, visitor.page.locator(".citer-viewer"), visitor.page.locator("#cx-notice")
    expect(notice).to_contain_text("gave no answer. This page looks for it every", timeout=10_000)
    expect(page.locator("#cx-device")).to_have_text("Recorded runs only")
    expect(visitor.tokens.first).to_be_visible()
    engine.is_up = True
    expect(page.locator("#cx-device")).to_have_text("CPU, float32; LLM on a server", timeout=15_000)
    expect(notice).to_contain_text('router "mine" reads', timeout=10_000)
    visitor.ask("Lost at once.")
    expect(viewer).to_contain_text("Ended before the first token.", timeout=10_000)
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
    engine.fail_at = None
    page.locator("button#cx-generate").click()
    expect(viewer).not_to_contain_text(lost)
    visitor.wait_idle()
    assert page.evaluate("window.citer.viewer.events.length") > 3
    visitor.tokens.first.click()
    expect(page.get_by_role("button", name="Flip:")).to_be_visible()
    expect(page.get_by_role("button", name="Ask the LLM everywhere")).to_have_count(0)
    visitor.leave()
