"""A page that is reloaded, or whose connection goes away for a while, finds its run and its place in the line again."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, expect

from citer_core.web.settings import WebSettings
from tests.fakes import FakeEngine, FakeRun
from tests.ui.cut_line import CutLine
from tests.ui.endpoints import going
from tests.ui.serving import Served, script
from tests.ui.visitor import Visitor, wait_until

pytestmark = pytest.mark.ui
PATIENT_S = 60.0  # a grace that no reload on a busy machine is longer than


@pytest.fixture(scope="module")
def served(make_server: Callable[..., Served]) -> Served:
    """Two places, and two more in the line. A relay has a port of its own, and a server answers to names it knows."""
    served = make_server(FakeEngine(script), n_queued_runs=2, web=WebSettings(allowed_hosts=("127.0.0.1",)))
    served.may_load.set()
    assert served.slot.wait(30) is not None
    return served


@pytest.fixture
def room(served: Served) -> Iterator[Served]:
    """The same; in the end all runs are ended."""
    served.desk.grace_s, served.engine.delay_s = PATIENT_S, 0.1
    yield served
    for run in served.engine.runs:
        run.cancel()
    wait_until(lambda: all(run.finish_reason for run in served.engine.runs))


def run_of(served: Served, question: str) -> FakeRun:
    wait_until(lambda: any(run.problem.question == question for run in served.engine.runs))
    found = [run for run in served.engine.runs if run.problem.question == question]
    assert len(found) == 1, "asked once, begun once"
    return found[0]


def test_a_reload_goes_on_where_it_was_and_a_closed_pages_run_ends(visit: Callable[..., Visitor], room: Served) -> None:
    visitor = visit()
    page = visitor.page
    visitor.ask("A long story that is reloaded.")
    visitor.wait_live()
    page.reload()
    visitor.wait_live()
    expect(page.locator("#cx-prompt textarea")).to_have_value("A long story that is reloaded.")
    run = run_of(room, "A long story that is reloaded.")
    # It goes on, for longer than the grace: asking for the run keeps it.
    room.desk.grace_s = 1.0
    n_tokens = visitor.tokens.count() + 15
    wait_until(lambda: visitor.tokens.count() > n_tokens)
    assert run.finish_reason is None
    room.desk.grace_s, room.engine.delay_s = PATIENT_S, 0.02
    page.locator("button#cx-stop").click()
    visitor.wait_idle()
    assert visitor.text() == run.trace().completion and run.finish_reason == "cancelled"

    # A run that is over is shown again too.
    visitor.ask("A short one.")
    expect(page.locator(".citer-viewer")).to_contain_text("answer 42", timeout=10_000)
    visitor.wait_idle()
    page.reload()
    visitor.wait_live()
    visitor.wait_idle()
    assert visitor.text() == run_of(room, "A short one.").trace().completion
    visitor.ask("A long story without a reader.")
    visitor.wait_live()
    run = run_of(room, "A long story without a reader.")
    room.desk.grace_s = 0.5
    page.close()
    wait_until(lambda: run.finish_reason == "cancelled")


def test_a_reload_keeps_the_place_and_stop_leaves_the_line(visit: Callable[..., Visitor], room: Served) -> None:
    room.engine.delay_s = 0.3
    with going(room) as runs:
        first, second = visit(), visit()
        for visitor, question, said in (
            (first, "I wait and give up.", "You are next in line"),
            (second, "I am second.", "You are 2nd in line"),
        ):
            visitor.ask(question)
            expect(visitor.page.locator("#cx-notice")).to_contain_text(said, timeout=10_000)
        for visitor, said in ((first, "You are next in line"), (second, "You are 2nd in line")):
            visitor.page.reload()
            expect(visitor.page.locator("#cx-notice")).to_contain_text(said, timeout=15_000)
        # The page shows at once that it does not wait any more; the line has heard of it when the server has answered.
        with first.page.expect_response(lambda answer: answer.url.endswith("ask/stop_run")):
            first.page.locator("button#cx-stop").click()
        first.wait_idle()
        expect(first.page.locator("#cx-notice")).to_be_empty()
        notice = second.page.locator("#cx-notice")
        expect(notice).to_contain_text("You are next in line", timeout=15_000)
        room.engine.delay_s = 0.03
        runs[0].cancel()
        second.wait_live()
        second.wait_idle()
        assert second.text() == run_of(room, "I am second.").trace().completion
    assert "I wait and give up." not in {run.problem.question for run in room.engine.runs}


def test_a_connection_that_comes_back_brings_the_run_back(browser: Browser, room: Served) -> None:
    line = CutLine(room.url)
    visitor = Visitor(browser, line.url)
    expect(visitor.tokens.first).to_be_visible(timeout=15_000)
    visitor.ask("A long story over a bad line.")
    visitor.wait_live()
    run = run_of(room, "A long story over a bad line.")
    line.cut()
    notice = visitor.page.locator("#cx-notice")
    expect(notice).to_contain_text("connection to the server is lost", timeout=15_000)
    assert run.finish_reason is None, "it was not ended"
    line.mend()
    expect(notice).to_contain_text("The connection is back", timeout=15_000)
    room.engine.delay_s = 0
    visitor.wait_idle()
    wait_until(lambda: visitor.page.evaluate("window.citer?.viewer.trace()?.finish_reason") == "length")
    assert visitor.text() == run.trace().completion and run.finish_reason == "length"
    line.cut()
    visitor.leave()
