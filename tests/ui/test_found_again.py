"""A page that is reloaded, or whose connection goes away for a while, finds its run and its place in the line again."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, expect

from citer_core.web.settings import WebSettings
from tests.fakes import FakeEngine, FakeRun
from tests.ui.conftest import Served, Visitor, script
from tests.ui.cut_line import CutLine
from tests.ui.test_page import wait_until

pytestmark = pytest.mark.ui
Enter = Callable[..., Visitor]


@pytest.fixture(scope="module")
def room(make_server: Callable[..., Served]) -> Served:
    """Two places, and three seconds of grace."""
    served = make_server(FakeEngine(script, delay_s=0.03), grace_s=3.0)
    served.may_load.set()
    assert served.slot.wait(30) is not None
    return served


@pytest.fixture(scope="module")
def patient_room(make_server: Callable[..., Served]) -> Served:
    """Two places, and a grace that no reload on a busy machine is longer than."""
    served = make_server(FakeEngine(script), grace_s=60.0)
    served.may_load.set()
    assert served.slot.wait(30) is not None
    return served


@pytest.fixture
def enter(browser: Browser, room: Served) -> Iterator[Enter]:
    """Opens windows; in the end all runs are ended."""
    yield from windows(browser, room)


@pytest.fixture
def enter_patient(browser: Browser, patient_room: Served) -> Iterator[Enter]:
    """The same where nobody's place is lost."""
    yield from windows(browser, patient_room)


def windows(browser: Browser, room: Served) -> Iterator[Enter]:
    visitors: list[Visitor] = []

    def opened(url: str | None = None) -> Visitor:
        visitor = Visitor(browser, url or room.url)
        expect(visitor.tokens.first).to_be_visible(timeout=15_000)
        visitors.append(visitor)
        return visitor

    yield opened
    room.engine.delay_s = 0.03
    for visitor in visitors:
        visitor.leave()
    for run in room.engine.runs:
        run.cancel()
    wait_until(lambda: all(run.finish_reason for run in room.engine.runs), 5.0)


def run_of(served: Served, question: str) -> FakeRun:
    found = [run for run in served.engine.runs if run.problem.question == question]
    assert len(found) == 1, "asked once, begun once"
    return found[0]


def test_a_reload_during_a_run_goes_on_where_it_was(enter: Enter, room: Served) -> None:
    visitor = enter()
    visitor.ask("A long story that is reloaded.")
    visitor.wait_live()
    visitor.page.reload()
    visitor.wait_live()
    expect(visitor.page.locator("#cx-prompt textarea")).to_have_value("A long story that is reloaded.")
    expect(visitor.page.locator("button#cx-stop")).to_be_enabled()
    n_tokens = visitor.tokens.count()
    wait_until(lambda: visitor.tokens.count() > n_tokens, 5.0)  # not only what was there: it goes on
    run = run_of(room, "A long story that is reloaded.")
    visitor.page.wait_for_timeout(4_000)  # longer than the grace: asking for the run keeps it
    assert run.finish_reason is None
    visitor.page.locator("button#cx-stop").click()
    visitor.wait_idle()
    assert visitor.text() == run.trace().completion and run.finish_reason == "cancelled"


def test_a_reload_after_the_end_shows_the_run_and_another_one_makes_it_forgotten(enter: Enter, room: Served) -> None:
    visitor = enter()
    visitor.ask("A short one.")
    expect(visitor.page.locator(".citer-viewer")).to_contain_text("answer 42", timeout=10_000)
    visitor.wait_idle()
    visitor.page.reload()
    visitor.wait_live()
    visitor.wait_idle()
    assert visitor.text() == run_of(room, "A short one.").trace().completion
    expect(visitor.page.locator(".citer-viewer")).to_contain_text("answer 42")
    visitor.page.locator(".cx-preset").nth(1).click()
    expect(visitor.page.locator(".cv-mode")).to_have_text("Recorded")
    visitor.page.reload()
    expect(visitor.tokens.first).to_be_visible(timeout=15_000)
    expect(visitor.page.locator(".cv-mode")).to_have_text("Recorded")


def test_places_are_shown_and_a_reload_keeps_the_place(enter_patient: Enter, patient_room: Served) -> None:
    enter, room = enter_patient, patient_room
    room.engine.delay_s = 0.3
    going = [enter(), enter()]
    for visitor in going:
        visitor.ask("A long story.")
        visitor.wait_live()
    first, second = enter(), enter()
    first.ask("I am first.")
    expect(first.page.locator("#cx-notice")).to_contain_text("You are next in line", timeout=10_000)
    second.ask("I am second.")
    expect(second.page.locator("#cx-notice")).to_contain_text("You are 2nd in line", timeout=10_000)
    second.page.reload()
    expect(second.page.locator("#cx-notice")).to_contain_text("You are 2nd in line", timeout=15_000)
    expect(second.page.locator("#cx-prompt textarea")).to_have_value("I am second.")
    room.engine.delay_s = 0.03
    going[0].page.locator("button#cx-stop").click()
    first.wait_live()
    expect(first.page.locator("#cx-notice")).to_be_empty()
    going[1].page.locator("button#cx-stop").click()
    second.wait_live()
    second.wait_idle()
    assert second.text() == run_of(room, "I am second.").trace().completion
    assert re.search(r"about \d+ s|not known yet", second.page.locator("#cx-notice").inner_text()) is None


def test_stop_leaves_the_line_after_a_reload_too(enter_patient: Enter, patient_room: Served) -> None:
    enter, room = enter_patient, patient_room
    room.engine.delay_s = 0.3
    for _ in range(2):
        going = enter()
        going.ask("A long story.")
        going.wait_live()
    waiting = enter()
    waiting.ask("I wait and give up.")
    expect(waiting.page.locator("#cx-notice")).to_contain_text("You are next in line", timeout=10_000)
    waiting.page.reload()
    expect(waiting.page.locator("#cx-notice")).to_contain_text("You are next in line", timeout=15_000)
    # The page shows at once that it does not wait any more; the line has heard of it when the server has answered.
    with waiting.page.expect_response(lambda answer: answer.url.endswith("ask/stop_run")):
        waiting.page.locator("button#cx-stop").click()
    waiting.wait_idle()
    expect(waiting.page.locator("#cx-notice")).to_be_empty()
    for run in room.engine.runs:
        run.cancel()
    waiting.page.wait_for_timeout(500)
    assert "I wait and give up." not in [run.problem.question for run in room.engine.runs]


def test_a_closed_pages_run_ends_after_its_grace(enter: Enter, room: Served) -> None:
    visitor = enter()
    visitor.ask("A long story that nobody waits for.")
    visitor.wait_live()
    run = run_of(room, "A long story that nobody waits for.")
    visitor.page.close()
    time.sleep(1.5)
    assert run.finish_reason is None, "it might be a reload"
    wait_until(lambda: run.finish_reason is not None, 8.0)
    assert run.finish_reason == "cancelled"


def test_a_connection_that_comes_back_brings_the_run_back(browser: Browser, make_server: Callable[..., Served]) -> None:
    # The relay has a port of its own, and the server answers to the names that it knows.
    room = make_server(FakeEngine(script, delay_s=0.05), web=WebSettings(allowed_hosts=("127.0.0.1",)))
    room.may_load.set()
    line = CutLine(room.url)
    visitor = Visitor(browser, line.url)
    expect(visitor.tokens.first).to_be_visible(timeout=15_000)
    visitor.ask("A long story over a bad line.")
    visitor.wait_live()
    run = run_of(room, "A long story over a bad line.")
    line.cut()
    notice = visitor.page.locator("#cx-notice")
    expect(notice).to_contain_text("connection to the server is lost", timeout=15_000)
    line.mend()
    expect(notice).to_contain_text("The connection is back", timeout=15_000)
    visitor.wait_idle()
    ends_by = time.monotonic() + 30
    while run.finish_reason is None and time.monotonic() < ends_by:
        time.sleep(0.05)
    assert run.finish_reason == "length", "nobody ended it"
    # The page asks for what is new every 0.4 s.
    shown = "window.citer?.viewer.trace()?.finish_reason"
    wait_until(lambda: visitor.page.evaluate(shown) == run.finish_reason, 10.0)
    assert visitor.text() == run.trace().completion
    line.cut()
    visitor.leave()
