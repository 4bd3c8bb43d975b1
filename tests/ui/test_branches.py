"""What branches, probes and tau are beside a server that computes; what both hosts do is in `journeys`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Route, expect

from citer_core.trace import event_to_dict
from citer_core.types import TokenEvent, prefers_llm
from tests.ui.axe import grave
from tests.ui.conftest import Served, Visitor

pytestmark = pytest.mark.ui
Visit = Callable[..., Visitor]
VIEW = "window.citer.viewer.view"


def asked(visitor: Visitor, text: str, tau: float = 0.93) -> None:
    """A finished live run."""
    expect(visitor.page.locator("#cx-device")).to_have_attribute("data-state", "ready", timeout=20_000)
    number = visitor.page.locator("#cx-tau input[type=number]")
    number.fill(f"{tau:g}")
    number.press("Enter")
    visitor.ask(text)
    visitor.wait_live()
    visitor.wait_idle()


def focus_token(visitor: Visitor, index: int) -> None:
    visitor.page.evaluate(f"window.citer.viewer.goTo({index})")


def strip(visitor: Visitor) -> object:
    return visitor.page.locator(".cv-branch")


def test_any_of_twenty_tokens_or_a_typed_one_is_written(visit: Visit, served: Served) -> None:
    visitor = visit()
    page = visitor.page
    asked(visitor, "Which of twenty?")
    parent = served.engine.runs[-1]
    focus_token(visitor, 4)
    inspector = page.locator(".cv-inspector")
    expect(inspector).to_contain_text("Greedy (temperature 0): the most probable token is taken.")
    page.get_by_role("button", name="Show 20 of both models").press("Enter")
    expect(inspector.locator(".cv-candidates li")).to_have_count(40, timeout=20_000)
    assert grave(page) == []
    focus_token(visitor, 3)  # they stay open
    page.get_by_role("button", name="Branch with ·large20, by the LLM").press("Enter")
    expect(strip(visitor)).to_have_count(2, timeout=20_000)
    visitor.wait_idle()
    fork = served.engine.runs[-1].fork
    assert fork is not None and (fork.n_shared, fork.source, fork.token_id) == (3, "llm", 220)

    page.get_by_role("button", name="Original").first.press("Enter")
    focus_token(visitor, 3)
    typed = page.get_by_role("textbox", name="A token of your own")
    typed.press("Enter")
    expect(inspector).to_contain_text("Type the text of one token")
    typed.fill(" two words")
    typed.press("Enter")
    expect(inspector).to_contain_text("This text is 2 tokens, and one is written here.", timeout=20_000)
    expect(typed).to_be_focused()
    expect(strip(visitor)).to_have_count(2)
    page.get_by_role("button", name="Write ·two").press("Enter")
    expect(strip(visitor)).to_have_count(3, timeout=20_000)
    visitor.wait_idle()
    fork = served.engine.runs[-1].fork
    assert fork is not None and (fork.source, fork.token_id) == (parent.events[3].source, len(" two"))

    page.get_by_role("button", name="Original").first.press("Enter")
    held: list[Route] = []
    page.route("**/citer/ask/next_tokens", lambda route: held.append(route), times=1)
    focus_token(visitor, 2)  # of which the twenty are asked for
    expect(inspector).to_contain_text("The models read the text up to here.")
    typed.fill(" alone")
    typed.press("Enter")  # meanwhile
    assert len(held) == 1
    held[0].continue_()
    expect(strip(visitor)).to_have_count(4, timeout=20_000)
    visitor.wait_idle()
    fork = served.engine.runs[-1].fork
    assert fork is not None and fork.token_id == len(" alone")


def test_another_tau_is_continued_for_real(visit: Visit, served: Served) -> None:
    visitor = visit()
    asked(visitor, "Where does it go on?")
    parent = served.engine.runs[-1]
    slider = visitor.page.locator("#cx-tau input[type=range]")
    tau = float(slider.input_value())
    slider.focus()
    while tau > 0.5:
        slider.press("ArrowLeft")
        tau = round(tau - 0.01, 2)
    # Positions in between may say the same on the button, which asks for the last one that was replayed.
    visitor.page.wait_for_function(f"() => {VIEW}.whatIf === {tau}")
    go_on = visitor.page.get_by_role("button", name="for real")
    first = next(e.index for e in parent.events if (e.source == "llm") != prefers_llm(e.slm_confidence, tau))
    expect(go_on).to_have_text(f"Continue from token {first + 1} for real")
    go_on.press("Enter")
    expect(strip(visitor)).to_have_count(2, timeout=20_000)
    visitor.wait_idle()
    branch = served.engine.runs[-1]
    assert branch.fork is not None and branch.fork.n_shared == first and branch.settings.threshold == tau
    assert visitor.page.evaluate(f"{VIEW}.whatIf") is None  # exact at its own tau: nothing is hypothetical
    visitor.page.get_by_role("button", name="Original").first.click()
    expect(slider).to_have_value(f"{parent.settings.threshold:g}")


def test_a_probe_whose_answer_is_lost_can_be_asked_for_again(visit: Visit, served: Served) -> None:
    """Gradio may drop a message between the server and our script."""
    visitor = visit()
    page = visitor.page
    asked(visitor, "Ask twice.")
    focus_token(visitor, next(event.index for event in served.engine.runs[-1].events if event.source == "slm"))
    page.route("**/citer/ask/probe", lambda route: route.fulfill(content_type="application/x-ndjson", body=""), times=1)
    page.get_by_role("button", name="Ask the LLM everywhere").press("Enter")
    expect(page.locator("#cx-notice")).to_contain_text("were lost on the way", timeout=20_000)
    page.get_by_role("button", name="Ask the LLM everywhere").press("Enter")
    expect(page.locator(".cv-inspector")).to_contain_text("That pass is not in the cost.", timeout=20_000)
    expect(page.locator("#cx-notice")).to_have_text("")


def test_a_budget_finds_tau_without_a_request(visit: Visit, served: Served) -> None:
    visitor = visit()
    page = visitor.page
    visitor.begins()
    visitor.requests.clear()
    page.get_by_label("Budget", exact=True).fill("20")
    page.get_by_role("button", name="Find τ").press("Enter")
    said = page.locator(".cv-budget output")
    expect(said).to_contain_text("% of tokens by the LLM, by replay: the nearest reachable; the next is")
    n_llm = page.evaluate(f"{VIEW}.series.totals().nLlmTokens")
    # The run's confidences are all different: any number of tokens can be had.
    assert n_llm == page.evaluate(f"{VIEW}.n") // 5
    # Between two steps of the slider, and it stays there when Gradio has taken it over.
    number = page.locator("#cx-tau input[type=number]")
    page.wait_for_function("() => window.citer.viewer.frame === null")
    assert float(number.input_value()) == page.evaluate(f"{VIEW}.whatIf")
    assert visitor.requests == []


@pytest.mark.parametrize(
    "change",
    [
        lambda request: request["events"][1].update(slm_confidence=7),
        lambda request: request.update(pair_revision="another"),
    ],
)
def test_a_forged_request_is_answered_calmly(visit: Visit, served: Served, change: Callable[[Any], None]) -> None:
    visitor = visit()
    asked(visitor, "What may be forged?")
    n_runs = len(served.engine.runs)

    def forge(route: Route) -> None:
        request = route.request.post_data_json
        change(request)
        route.continue_(post_data=json.dumps(request))

    visitor.page.route("**/citer/ask/branch", forge)
    focus_token(visitor, 3)
    visitor.page.keyboard.press("f")
    expect(visitor.page.locator("#cx-notice")).not_to_be_empty(timeout=20_000)
    visitor.wait_idle()
    assert len(served.engine.runs) == n_runs and "script" not in visitor.page.locator("#cx-notice").inner_html()


def test_four_thousand_tokens_scrub_and_move_tau_within_a_tenth_of_a_second(visit: Visit) -> None:
    """Processor time of the page's main thread per step, drawing included: what a machine of its own would need."""
    visitor = visit()
    page = visitor.page
    events = []
    for i in range(4000):
        confidence = ((i * 37) % 101) / 101
        by_llm = confidence < 0.5
        text, source = f" word{i % 97}", "llm" if by_llm else "slm"
        event = TokenEvent(i, i % 900, text, source, 1, confidence, 0.5, 1, int(by_llm), 20 + i, 1e-3, 1e-4, 0)
        events.append(event_to_dict(event))
    page.evaluate(
        """(events) => { const { viewer } = window.citer, trace = viewer.trace();
             viewer.showTrace({ ...trace, events, settings: { ...trace.settings, threshold: 0.5 } }); }""",
        events,
    )
    page.wait_for_timeout(500)
    devtools = visitor.context.new_cdp_session(page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})

    def busy_ms() -> float:
        metrics = devtools.send("Performance.getMetrics")["metrics"]
        return 1000 * next(m["value"] for m in metrics if m["name"] == "TaskDuration")

    wrong = f"""(ends) => {{ const {{ tokens }} = window.citer.viewer, box = tokens.scroller.getBoundingClientRect();
      return tokens.nodes.filter((node, i) => {{
        const at = node.getBoundingClientRect();
        return (ends || (at.top > box.top && at.bottom < box.bottom))
          && node.classList.contains('cv-llm') !== Boolean({VIEW}.decisions.isLlm[i]); }}).length; }}"""
    # Those in sight at once, wherever the reader goes next, and the others soon.
    # Asked in one go: a busy machine takes longer between two questions than the others wait.
    in_sight, of_all = page.evaluate(
        f"""() => {{ const wrong = {wrong}; window.citer.viewer.setThreshold(0.9); window.citer.viewer.flush();
          return [wrong(false), wrong(true)]; }}"""
    )
    assert in_sight == 0 < of_all
    page.evaluate("window.citer.viewer.tokens.scroller.scrollTop = 1e6")
    page.evaluate("new Promise(requestAnimationFrame)")
    assert page.evaluate(wrong, False) == 0
    page.wait_for_function("() => window.citer.viewer.tokens.restTimer === null")
    assert page.evaluate(wrong, True) == 0
    page.evaluate("window.citer.viewer.setThreshold(0.5)")
    page.wait_for_function("() => window.citer.viewer.frame === null && window.citer.viewer.tokens.restTimer === null")

    for what, step in (
        ("scrub", "playback.scrub((i * 1777) % 4000)"),
        ("tau", "setThreshold(((i * 37) % 100) / 100)"),
        ("tau, one step of the slider", "setThreshold(0.3 + i / 100)"),
    ):
        before = busy_ms()
        page.evaluate(
            f"""async () => {{
              const {{ viewer }} = window.citer;
              for (let i = 1; i <= 20; i++) {{
                await new Promise(requestAnimationFrame);
                viewer.{step};
              }} }}"""
        )
        each = (busy_ms() - before) / 20
        print(f"{what}: {each:.1f} ms")
        assert 0 < each < 100
