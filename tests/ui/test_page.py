"""What a person does with the page."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from citer_core.errors import RouterError, ServerError
from citer_core.trace import RoutingTrace
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


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "empty"), ("   \n", "empty"), ("x" * 100_000, "100,000 characters")],
    ids=["empty", "blank", "too long"],
)
def test_bad_input_is_answered_calmly_and_the_page_goes_on(visit: Visit, text: str, message: str) -> None:
    visitor = visit()
    visitor.ask(text)
    expect(visitor.page.locator("#cx-notice")).to_contain_text(message, timeout=10_000)
    visitor.wait_idle()
    expect(visitor.tokens.first).to_be_visible()
    visitor.ask("A good question.")
    visitor.wait_live()
    visitor.wait_idle()
    expect(visitor.page.locator("#cx-notice")).to_be_empty()
    assert "42" in visitor.text()


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


def test_a_run_can_be_priced_for_another_pair_without_a_request(visit: Visit) -> None:
    visitor = visit()
    visitor.page.get_by_text("Router, decoding and price").click()
    expect(visitor.page.locator("#cx-device")).to_have_attribute("data-state", "ready")
    visitor.page.wait_for_timeout(300)
    visitor.requests.clear()
    visitor.page.locator("#cx-price select").select_option("Qwen2-1.5B / 72B")
    expect(visitor.page.locator(".citer-viewer")).to_contain_text(re.compile(r"\d (TB|GB)"))
    assert visitor.requests == []


def test_the_downloads_hold_the_run(visit: Visit) -> None:
    visitor = visit()
    with visitor.page.expect_download() as waiting:
        visitor.page.get_by_role("button", name="Trace (JSON)").click()
    trace = RoutingTrace.from_json(waiting.value.path().read_text(encoding="utf-8"))
    with visitor.page.expect_download() as waiting:
        visitor.page.get_by_role("button", name="Table (CSV)").click()
    lines = waiting.value.path().read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + trace.n_tokens


def test_a_bundled_problem_is_found_by_its_number_and_asked_with_its_answer(visit: Visit, served: Served) -> None:
    visitor = visit()
    picker = visitor.page.locator("#cx-picker input")
    visitor.page.wait_for_timeout(500)  # problems to pick come with the server's state
    picker.click()
    # The problems come at the first sign of somebody who uses the page.
    expect(visitor.page.locator("#cx-problems option")).to_have_count(400)
    picker.press_sequentially("mc 17 ")
    picker.press("Enter")
    expect(picker).to_have_value(re.compile("^mc 17 · "))
    expect(visitor.page.locator("#cx-type input:checked")).to_have_value("mc")
    expect(visitor.page.locator("#cx-prompt textarea")).to_have_value(re.compile(r"\nA\. "))
    visitor.page.locator("button#cx-generate").click()
    visitor.wait_live()
    visitor.wait_idle()
    assert served.engine.runs[-1].problem.true_answer is not None


@pytest.mark.parametrize("computes", ["browser", "server"])
def test_after_a_refusal_nobody_is_said_to_wait(visit: Visit, computes: str) -> None:
    page = visit(computes=computes, width=1440, height=900).page
    page.locator("#cx-prompt textarea").fill("")
    page.locator("button#cx-generate").click()
    expect(page.locator("#cx-notice")).to_have_text("The question is empty: write one.")
    expect(page.locator("#cx-notice")).to_be_in_viewport(ratio=0.99)  # it stands below the fold of this window
    page.wait_for_timeout(700)  # the screen reader's region lags behind
    waiting = page.get_by_role("status").filter(has_text="Waiting for the first token")
    expect(waiting).to_have_count(0)
    expect(page.locator("button#cx-generate")).to_be_enabled()


def test_an_answer_that_one_expects_is_what_ones_own_problem_is_judged_by(visit: Visit, served: Served) -> None:
    visitor = visit()
    field = visitor.page.get_by_label("Expected answer")
    for expected, verdict in (
        ("7", "Right"),
        ("", "Not checked"),
    ):  # the scripted engine writes what is expected, or 42
        field.fill(expected)
        visitor.ask("What is 6 times 7, in words of one's own?")
        expect(visitor.page.locator(".cv-answer .cv-verdict")).to_contain_text(verdict)
        visitor.wait_idle()
        assert served.engine.runs[-1].problem.true_answer == (expected or None)
        assert visitor.page.evaluate("window.citer.viewer.trace().answer.true_answer") == (expected or None)
    field.fill("42")
    visitor.page.locator("#cx-another").click()
    expect(field).to_have_value("")  # it was of another problem


def test_a_figure_shows_the_tokens_that_it_counts(visit: Visit) -> None:
    page = visit().page
    n_decisive = page.locator(".cv-t.cv-decisive").count()
    plain = page.locator(".cv-t.cv-slm").first.evaluate("(node) => getComputedStyle(node).backgroundColor")
    page.locator(".cv-figure-decisive").click()
    expect(page.locator(".cv-text")).to_have_attribute("data-filter", "decisive")
    lit = page.locator(".cv-t").evaluate_all(
        "nodes => nodes.filter(node => getComputedStyle(node).backgroundColor !== 'rgba(0, 0, 0, 0)').length"
    )
    assert 0 < lit == n_decisive
    page.locator(".cv-figure-share").click()
    expect(page.locator(".cv-text")).to_have_attribute("data-filter", "llm")
    page.locator(".cv-figure-share").click()
    expect(page.locator(".cv-t.cv-slm").first).to_have_css("background-color", plain)


def test_a_word_leads_to_the_glossary_without_a_new_page(visit: Visit) -> None:
    page = visit().page
    page.evaluate("window.isTheSame = true")
    page.locator(".cv-figures .cv-term").click()
    here = page.locator(".cx-here")
    expect(here).to_contain_text("Decisive token")
    expect(here).to_be_in_viewport()
    assert page.evaluate("window.isTheSame") is True
    page.go_back()
    expect(page.locator(".cv-figures")).to_be_visible()
    page.locator(".cv-t").nth(5).click()
    page.locator(".cv-inspector .cv-term").click()
    expect(page.locator(".cx-here")).to_contain_text("Nats")
    page.locator("a[data-view=evidence]").first.click()
    page.locator(".ce-lesson .cv-term", has_text="round").first.click(timeout=60_000)
    expect(page.locator(".cx-here")).to_contain_text("One training of a router")


def test_a_problem_is_found_by_its_words_and_chosen_from_the_list(visit: Visit) -> None:
    page = visit().page
    picker, editor = page.locator("#cx-picker input"), page.locator("#cx-prompt textarea")
    expect(picker).to_have_attribute("list", "cx-problems")
    picker.click()
    expect(page.locator("#cx-problems option")).to_have_count(400)
    before = editor.input_value()
    picker.fill("no such words anywhere")
    picker.press("Enter")
    expect(editor).to_have_value(before)
    picker.fill("museum")
    picker.press("Enter")
    expect(editor).to_have_value(re.compile("museum"))
    # What the browser's own list does when one of it is chosen.
    picker.fill(page.locator("#cx-problems option").last.get_attribute("value") or "")
    expect(page.locator("#cx-type input:checked")).to_have_value("mc")
    expect(editor).to_have_value(re.compile(r"\nA\. "))
    page.get_by_role("button", name="Another one").click()
    expect(picker).to_have_value(re.compile("^mc [0-9]+ · "))
