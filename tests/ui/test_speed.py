"""How long a person waits for a long run to follow a scrub, a step of tau or a jump of it; what streaming costs.

`pytest -m slow -s tests/ui/test_speed.py` prints the medians, for a machine that does nothing else.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from citer_core.trace import event_to_dict
from citer_core.types import Candidate, TokenEvent
from tests.fakes import FakeEngine
from tests.ui.serving import Served
from tests.ui.visitor import Visitor

pytestmark = [pytest.mark.ui, pytest.mark.slow]
N_TOKENS = 4000
N_STEPS = 100
LIMIT_MS = 100
N_TRIES = 3
# From the input event to the frame that shows what it asked for: the browser calls back before it paints that frame,
# and the first task after that callback runs when it has. Gradio hands a new tau on in a later task: waited for too.
TIMED = """async ({ selector, values, reached }) => {
  const input = document.querySelector(selector);
  const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set;
  const isThere = new Function('viewer', 'value', `return ${reached}`);
  const frame = () => new Promise(requestAnimationFrame);
  const task = () => new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = resolve;
    port2.postMessage(null);
  });
  const waits = [];
  for (const value of values) {
    // A person's input comes at any time of a frame, and not while the last one is still drawn.
    await frame();
    await new Promise((resolve) => setTimeout(resolve, 20 + Math.random() * 17));
    const start = performance.now();
    set.call(input, String(value));
    input.dispatchEvent(new Event('input', { bubbles: true }));
    do {
      await frame();
      await task();
    } while (!isThere(window.citer.viewer, Number(input.value)));
    waits.push(performance.now() - start);
  }
  return waits;
}"""


def long_run(page: Page, n_tokens: int = N_TOKENS) -> None:
    """Shows a run with all that a real one has, as a recorded one's continuation would look."""
    top = tuple(Candidate(i, f" word{i}", 0.5 / 2**i) for i in range(5))
    empty = TokenEvent(0, 0, "", "slm", 1, 0.0, 0.5, 1, 0, 0, 1e-3, 1e-4, 0, slm_top=top)
    events, llm_cached = [], 0
    for i in range(n_tokens):
        confidence = ((i * 37) % 1009) / 1009
        by_llm = confidence < 0.5
        event = replace(empty, index=i, token_id=i % 900, text=f" word{i % 97}", slm_confidence=confidence)
        event = replace(event, context_len=20 + i)
        if by_llm:
            event = replace(event, source="llm", llm_tokens_fed=20 + i - llm_cached, llm_s=5e-3, llm_top=top)
            llm_cached = 20 + i
        events.append(event_to_dict(event))
    page.evaluate(
        """(events) => { const { viewer } = window.citer, trace = viewer.trace();
             viewer.showTrace({ ...trace, events, settings: { ...trace.settings, threshold: 0.5 } });
             window.citer.moveTau(0.5); }""",
        events,
    )
    page.wait_for_function("() => window.citer.viewer.frame === null")


SLIDER, TAU_THERE = "#cx-tau input[type=range]", "viewer.frame === null && (viewer.view.whatIf ?? 0.5) === value"
RANDOM = [(i * 61) % 101 / 100 for i in range(N_STEPS)]
KINDS: dict[str, dict[str, Any]] = {
    "scrub step": {
        "selector": ".cv-playback input[type=range]",
        "values": [1500 + i for i in range(N_STEPS)],
        "reached": "viewer.frame === null && viewer.view.shown === value",
    },
    "tau jump": {"selector": SLIDER, "values": RANDOM, "reached": TAU_THERE},
}


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_step_is_on_the_screen_within_a_tenth_of_a_second(visit: Callable[..., Visitor], kind: str) -> None:
    page = visit().page
    long_run(page)
    page.evaluate("window.citer.viewer.pin(1200)")
    p95s: list[float] = []
    # Whatever else the machine does is no fault of the page: it gets another try, and every one is said.
    while len(p95s) < N_TRIES and min(p95s, default=LIMIT_MS) >= LIMIT_MS:
        waits = sorted(page.evaluate(TIMED, KINDS[kind]))
        assert len(waits) == N_STEPS and waits[0] > 0
        p95s.append(waits[int(0.95 * N_STEPS)])
        print(f"{kind}, {N_TOKENS:,} tokens: median {statistics.median(waits):.1f} ms, p95 {p95s[-1]:.1f} ms")
    assert min(p95s) < LIMIT_MS


def test_a_thousand_streamed_tokens_take_a_second_and_a_half_of_the_main_thread(
    browser: Browser, make_server: Callable[..., Served]
) -> None:
    """All that the main thread does meanwhile, Gradio's own work included, in time that it really ran."""
    n_tokens = 1000
    served = make_server(FakeEngine(" ".join(f"word{i % 97}" for i in range(n_tokens - 1)), delay_s=0.008))
    served.may_load.set()
    visitor = Visitor(browser, served.url)
    page = visitor.page
    page.get_by_text("Router, decoding and price").click()
    page.wait_for_timeout(300)  # gradio fills in the fields of a panel just after it opens
    limit = page.get_by_role("spinbutton", name="number input for Most new tokens")
    limit.fill(str(n_tokens))
    limit.press("Tab")
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})

    def busy_s() -> float:
        metrics = devtools.send("Performance.getMetrics")["metrics"]
        return float(next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration"))

    before, start = busy_s(), time.perf_counter()
    visitor.ask("How does a long story go?")
    visitor.wait_live()
    # Waited for without a question every tenth of a second, each of which is work of the main thread.
    page.evaluate(
        """() => new Promise((ended) => {
             const button = document.querySelector("button#cx-generate");
             const look = () => { if (!button.disabled) ended(); };
             new MutationObserver(look).observe(button, { attributes: true });
             look(); })"""
    )
    busy = busy_s() - before
    print(f"{n_tokens:,} tokens in {time.perf_counter() - start:.1f} s: {busy:.2f} s of the main thread")
    assert page.evaluate("window.citer.viewer.events.length") == n_tokens
    assert busy < 1.5
    visitor.leave()
