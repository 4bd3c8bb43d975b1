"""What a person does with the page."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from citer_core.errors import RouterError, ServerError
from tests.fakes import FakeEngine
from tests.ui.conftest import HOSTILE, Served, Visitor, script

pytestmark = pytest.mark.ui
Visit = Callable[..., Visitor]


def wait_until(holds: Callable[[], bool], within_s: float) -> float:
    """Seconds until `holds`; fails after `within_s`."""
    start = time.monotonic()
    while not holds():
        assert time.monotonic() - start < within_s, f"not within {within_s} s"
        time.sleep(0.02)
    return time.monotonic() - start


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


def test_a_router_that_does_not_fit_is_said_and_the_page_goes_on(
    browser: Browser, make_server: Callable[..., Served]
) -> None:
    engine = FakeEngine(script)
    engine.problems = (RouterError('The router "mine" reads hidden states of 64 numbers, but the SLM gives 96.'),)
    served = make_server(engine)
    served.may_load.set()
    visitor = Visitor(browser, served.url)
    expect(visitor.page.locator("#cx-notice")).to_contain_text('router "mine" reads', timeout=10_000)
    visitor.ask("A good question.")
    visitor.wait_live()
    visitor.wait_idle()
    assert "42" in visitor.text()
    visitor.leave()


def test_a_run_streams_and_ends_with_its_answer(visit: Visit, served: Served) -> None:
    visitor = visit()
    visitor.ask("A long story, twelve words of it.")
    visitor.wait_live()
    counts = []
    for _ in range(4):
        counts.append(visitor.tokens.count())
        time.sleep(0.4)
    assert counts == sorted(set(counts)), "tokens arrive while the run goes on"
    visitor.page.locator("button#cx-stop").click()
    visitor.wait_idle()
    visitor.ask("A short one.")
    expect(visitor.page.locator(".citer-viewer")).to_contain_text("answer 42", timeout=10_000)
    visitor.wait_idle()
    run = served.engine.runs[-1]
    assert visitor.text() == run.trace().completion
    assert run.finish_reason == "eos"


def test_stop_ends_the_run_within_a_second_and_keeps_what_was_written(visit: Visit, served: Served) -> None:
    visitor = visit()
    visitor.ask("A long story to be stopped.")
    visitor.wait_live()
    run = served.engine.runs[-1]
    visitor.page.locator("button#cx-stop").click()
    assert wait_until(lambda: run.finish_reason is not None, 1.0) <= 1.0
    assert run.finish_reason == "cancelled"
    visitor.wait_idle()
    assert visitor.text() == run.trace().completion
    assert visitor.page.evaluate("window.citer.viewer.trace().finish_reason") == "cancelled"


def test_tau_recolours_a_finished_run_without_a_request(visit: Visit) -> None:
    visitor = visit()
    visitor.begins()
    slider = visitor.page.locator("#cx-tau input[type=range]")
    slider.focus()
    visitor.page.wait_for_timeout(500)
    visitor.requests.clear()
    recorded = float(slider.input_value())
    for _ in range(10):
        slider.press("ArrowLeft")
    expect(visitor.page.locator(".citer-viewer")).to_contain_text(f"At τ {recorded - 0.1:.2f}")
    visitor.page.wait_for_timeout(300)
    assert visitor.requests == []


def test_hostile_text_is_shown_literally(visit: Visit, served: Served) -> None:
    visitor = visit()
    visitor.ask(f"hostile {HOSTILE}")
    visitor.wait_live()
    visitor.wait_idle()
    run = served.engine.runs[-1]
    assert visitor.text() == run.trace().completion
    assert "<script>window.hacked=1</script>" in visitor.page.locator(".citer-viewer").inner_text()
    assert visitor.page.evaluate("window.hacked === undefined")
    assert visitor.page.locator(".citer-viewer img, .citer-viewer script").count() == 0


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


def test_a_lost_message_is_fetched_again(visit: Visit, served: Served) -> None:
    visitor = visit()
    visitor.page.evaluate(
        """() => { const page = window.citer, receive = page.viewer.receive.bind(page.viewer); let n = 0;
           page.viewer.receive = (message) => { if (n++ % 3 !== 1) receive(message); }; }"""
    )
    visitor.ask("Some messages of this long story get lost.")
    visitor.wait_live()
    visitor.page.wait_for_timeout(1500)
    visitor.page.locator("button#cx-stop").click()
    visitor.wait_idle()
    written = served.engine.runs[-1].trace().completion
    assert visitor.text() == written


def test_a_failing_model_keeps_what_was_written(browser: Browser, make_server: Callable[..., Served]) -> None:
    served = make_server(FakeEngine(script, fail_at=3, error=RuntimeError("secret path")))
    served.may_load.set()
    visitor = Visitor(browser, served.url)
    visitor.ask("This will break.")
    expect(visitor.page.locator(".citer-viewer")).to_contain_text("went wrong on the server", timeout=10_000)
    expect(visitor.page.locator("body")).not_to_contain_text("secret path")
    assert visitor.page.evaluate("window.citer.viewer.events.length") == 3
    visitor.leave()


def test_a_lost_server_keeps_what_was_written_and_may_come_back(
    browser: Browser, make_server: Callable[..., Served]
) -> None:
    lost = "The LLM's server gave no answer. Start it again if it has ended, and run again."
    served = make_server(FakeEngine(script, fail_at=3, error=ServerError(lost)))
    served.may_load.set()
    visitor = Visitor(browser, served.url)
    visitor.ask("This will break.")
    expect(visitor.page.locator(".citer-viewer")).to_contain_text(lost, timeout=10_000)
    visitor.wait_idle()
    assert visitor.page.evaluate("window.citer.viewer.events.length") == 3
    visitor.tokens.nth(1).click()
    expect(visitor.page.locator(".cv-inspector")).to_contain_text("Token 2 of 3")
    served.engine.fail_at = None
    visitor.page.locator("button#cx-generate").click()
    expect(visitor.page.locator(".citer-viewer")).not_to_contain_text(lost)
    visitor.wait_idle()
    assert visitor.page.evaluate("window.citer.viewer.events.length") > 3
    assert visitor.complaints == []
    visitor.leave()


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


def test_a_full_line_is_said_and_stop_leaves_the_line(browser: Browser, make_server: Callable[..., Served]) -> None:
    served = make_server(FakeEngine(script, delay_s=0.05), n_queued_runs=1)
    served.may_load.set()
    visitors = [Visitor(browser, served.url) for _ in range(4)]
    for visitor in visitors:
        expect(visitor.tokens.first).to_be_visible(timeout=15_000)
    for running in visitors[:2]:
        running.ask("A long story.")
        running.wait_live()
    waiting, refused = visitors[2:]
    waiting.ask("I wait.")
    expect(waiting.page.locator("#cx-notice")).to_contain_text("You are next in line", timeout=10_000)
    refused.ask("I am refused.")
    expect(refused.page.locator("#cx-notice")).to_contain_text("1 runs are waiting", timeout=10_000)
    refused.wait_idle()
    waiting.page.locator("button#cx-stop").click()
    waiting.wait_idle()
    expect(waiting.page.locator("#cx-notice")).to_be_empty()
    for running in visitors[:2]:
        running.page.locator("button#cx-stop").click()
        running.wait_idle()
    for visitor in visitors:
        visitor.leave()
    wait_until(lambda: all(run.finish_reason for run in served.engine.runs), 2.0)
    assert "I wait." not in [run.problem.question for run in served.engine.runs]
