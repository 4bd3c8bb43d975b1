"""A tab that is left open: fifty runs later it holds no more than after the first ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.browser import LAUNCH_ARGS, provide_browser
from tests.fakes import FakeEngine
from tests.ui.serving import Served, script
from tests.ui.visitor import Visitor

pytestmark = [pytest.mark.ui, pytest.mark.slow]
N_RUNS = 50
N_FIRST = 8  # caches fill
# A run of 256 tokens that is kept by mistake is ten times this. What is left grows to a bound: the browser's own
# timeline keeps the last 150 paints with their elements.
MOST_BYTES_PER_RUN = 8_000
MOST_NODES_PER_RUN = 4
MOST_LISTENERS_PER_RUN = 1


@pytest.fixture
def browser(browser: Browser) -> Iterator[Browser]:
    """One that compiles nothing: compiled code counts as heap, and grows for as long as code becomes hot."""
    args = [*LAUNCH_ARGS, "--js-flags=--jitless"]
    other = browser.browser_type.launch(executable_path=str(provide_browser()), args=args)
    yield other
    other.close()


@pytest.fixture
def quick(make_server: Callable[..., Served]) -> Served:
    """A server whose engine does not take its time."""
    server = make_server(FakeEngine(script))
    server.may_load.set()
    return server


def held(visitor: Visitor, devtools: Any) -> dict[str, float]:
    """Bytes of the heap, nodes and listeners that nothing could collect."""
    for _ in range(3):
        devtools.send("HeapProfiler.collectGarbage")
        visitor.page.evaluate("new Promise(requestAnimationFrame)")
    counters = devtools.send("Memory.getDOMCounters")
    heap = devtools.send("Runtime.getHeapUsage")
    return {"bytes": heap["usedSize"], "nodes": counters["nodes"], "listeners": counters["jsEventListeners"]}


def one_run(visitor: Visitor, number: int) -> None:
    """A run with all that a person does to it: a pin, another tau, a probe, a branch, a comparison, pictures."""
    page = visitor.page
    visitor.ask(f"How long is question {number % 7}?")
    visitor.wait_live()
    visitor.wait_idle()
    page.evaluate("window.citer.viewer.goTo(3)")
    page.evaluate("window.citer.moveTau(0.5)")
    page.get_by_role("button", name="Ask the LLM everywhere").click()
    expect(page.locator(".cv-inspector")).to_contain_text("That pass is not in the cost.", timeout=20_000)
    page.evaluate("window.citer.moveTau(window.citer.viewer.trace().settings.threshold)")
    page.evaluate("window.citer.viewer.goTo(3)")
    page.keyboard.press("f")
    expect(page.locator(".cv-branch")).to_have_count(2, timeout=20_000)
    visitor.wait_idle()
    for mark in (page.get_by_role("checkbox", name="Compare").nth(i) for i in range(2)):
        mark.check()
    expect(page.get_by_role("region", name="Two runs compared")).to_be_visible()
    page.locator(".cx-preset").nth(number % 3).click()  # word problems, as ours are
    expect(page.locator(".cv-mode")).to_have_text("Recorded")


def test_fifty_runs_leave_nothing_behind(visit: Callable[..., Visitor], quick: Served) -> None:
    """Learn and the recorded profile are open too: both follow the runs, and charts are plotly's."""
    visitor = visit(url=quick.url)
    page = visitor.page
    expect(page.locator("#cx-device")).to_have_attribute("data-state", "ready", timeout=20_000)
    visitor.open_view("Worth it here?")
    expect(page.locator('.citer-profile .cl-plot[data-drawn="true"]')).to_have_count(2, timeout=30_000)
    visitor.open_view("Learn")
    expect(page.locator(".cx-guess").first).to_be_visible(timeout=20_000)
    visitor.open_view("Explore")
    devtools = visitor.context.new_cdp_session(page)
    devtools.send("HeapProfiler.enable")
    seen = []
    for number in range(N_RUNS):
        one_run(visitor, number)
        # A theme is changed now and then: the charts are drawn anew.
        page.evaluate(f"document.body.classList.toggle('dark', {str(number % 2 == 0).lower()})")
        if number + 1 >= N_FIRST and (number + 1 - N_FIRST) % 7 == 0:
            seen.append(held(visitor, devtools))
            print(number + 1, seen[-1])
    n_runs = (len(seen) - 1) * 7
    growth = {name: (seen[-1][name] - seen[0][name]) / n_runs for name in seen[0]}
    print("per run:", growth)
    assert growth["bytes"] < MOST_BYTES_PER_RUN
    assert growth["nodes"] < MOST_NODES_PER_RUN
    assert growth["listeners"] < MOST_LISTENERS_PER_RUN
