"""How fast the bundled pair is in a real browser, printed; for an idle machine, with `-m slow`.

Limits are those that the page promises on two cores: what is slower is a finding, on a busy machine a false one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.ui.serving import hosted
from tests.ui.visitor import READY, Visitor, until

pytestmark = [pytest.mark.ui, pytest.mark.slow]
ROOT = Path(__file__).resolve().parents[2]
LEAST = {"SLM alone": 2500, "LLM alone": 400, "routed, a fifth by chance": 700}
MOST_MOVE_MS, MOST_BLOCKED_MS = 150, 50
WORKER = """(url) => new Promise((resolve, reject) => {
  const found = [];
  const worker = new Worker(url, { type: "module" });
  worker.onerror = (event) => reject(new Error(event.message));
  worker.onmessage = ({ data }) => (data ? found.push(data) : resolve(found));
})"""
# Tau to 40 places over the run on the screen, each until its text is drawn; and how long the page was blocked.
MOVES = """async () => {
  const { viewer, browser } = window.citer;
  let blocked = 0;
  const watch = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) blocked = Math.max(blocked, duration);
  });
  watch.observe({ entryTypes: ["longtask"] });
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const times = [];
  for (let i = 0; i < 40; i++) {
    const tau = ((i * 17) % 40) / 40 + 0.005;
    const start = performance.now();
    window.citer.moveTau(tau);
    while (viewer.view.runTau !== tau || browser.live.isBusy) await frame();
    times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  return { median: times[20], slowest: times[39], blocked, n: viewer.view.n };
}"""


def test_tokens_a_second_in_a_worker(browser: Browser, capsys: pytest.CaptureFixture[str]) -> None:
    with hosted(ROOT) as url:
        page = browser.new_page()
        page.goto(f"{url}assets/app/favicon.svg")
        found = page.evaluate(WORKER, f"{url}tests/viewer/engine_speed_worker.mjs")
        page.close()
    with capsys.disabled():
        print("", *(one["words"] for one in found), sep="\n  ")
    speeds = {one["name"]: one.get("perSecond") for one in found}
    assert {name: speeds[name] for name, least in LEAST.items() if speeds[name] < least} == {}


def test_tau_on_the_page(browser: Browser, site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with hosted(site) as url:
        visitor = Visitor(browser, f"{url}?preset=trip")
        expect(visitor.tokens.first).to_be_visible(timeout=15_000)
        until(visitor.page, f"({READY})()")
        ready_s = visitor.page.evaluate("performance.now()") / 1000
        found: dict[str, Any] = visitor.page.evaluate(MOVES)
        visitor.leave()
    with capsys.disabled():
        print(f"\n  ready to generate {ready_s:.1f} s after opening; tau moved over {found['n']} tokens until drawn:")
        print("  {median:.0f} ms in the median, {slowest:.0f} at most; page blocked {blocked:.0f}".format(**found))
    assert found["median"] <= MOST_MOVE_MS and found["blocked"] <= MOST_BLOCKED_MS
