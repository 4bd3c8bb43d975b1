"""What branches, probes and tau are beside a server that computes; what both hosts do is in `journeys`."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from playwright.sync_api import Route, expect

from citer_core.trace import event_to_dict
from citer_core.types import TokenEvent, prefers_llm
from tests.ui.axe import findings
from tests.ui.serving import Served
from tests.ui.visitor import Visitor, wait_until

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
    assert findings(page, ".cv-inspector") == []
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
    wait_until(lambda: bool(page.evaluate("true") and held))  # routes are told of while the browser is asked
    typed.fill(" alone")
    typed.press("Enter")  # meanwhile
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
    slider.fill("0.52")
    for _ in range(2):
        slider.press("ArrowLeft")
    tau = 0.5
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


def forge(change: Callable[[Any], None], route: Route) -> None:
    request = route.request.post_data_json
    change(request)
    route.continue_(post_data=json.dumps(request))


def test_a_lost_answer_can_be_asked_for_again_and_a_forged_request_is_answered_calmly(
    visit: Visit, served: Served
) -> None:
    visitor = visit()
    page, notice = visitor.page, visitor.page.locator("#cx-notice")
    asked(visitor, "What may be lost and forged?")
    # Gradio may drop a message between the server and our script.
    focus_token(visitor, next(event.index for event in served.engine.runs[-1].events if event.source == "slm"))
    page.route("**/citer/ask/probe", lambda route: route.fulfill(content_type="application/x-ndjson", body=""), times=1)
    page.get_by_role("button", name="Ask the LLM everywhere").press("Enter")
    expect(notice).to_contain_text("were lost on the way", timeout=20_000)
    page.get_by_role("button", name="Ask the LLM everywhere").press("Enter")
    expect(page.locator(".cv-inspector")).to_contain_text("That pass is not in the cost.", timeout=20_000)
    expect(notice).to_have_text("")

    n_runs = len(served.engine.runs)
    changes: list[Callable[[Any], None]] = [
        lambda request: request["events"][1].update(slm_confidence=7),
        lambda request: request.update(pair_revision="another"),
    ]
    said = ""
    for change in changes:
        page.route("**/citer/ask/branch", partial(forge, change), times=1)
        focus_token(visitor, 3)
        page.keyboard.press("f")
        expect(notice).not_to_have_text(said, timeout=20_000)
        expect(notice).not_to_be_empty(timeout=20_000)
        visitor.wait_idle()
        said = notice.inner_text()
        assert len(served.engine.runs) == n_runs and "script" not in notice.inner_html()


def test_a_budget_finds_tau_and_its_slider_recolours_without_a_request(visit: Visit, served: Served) -> None:
    visitor = visit()
    page = visitor.page
    visitor.begins()
    slider = page.locator("#cx-tau input[type=range]")
    recorded = float(slider.input_value())
    visitor.requests.clear()
    for _ in range(10):
        slider.press("ArrowLeft")
    expect(page.locator(".citer-viewer")).to_contain_text(f"At τ {recorded - 0.1:.2f}")
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


# Steps of a hand, one after another in one go: what is brought up to date later has no time to be.
STEPS = {
    "scrub": "playback.scrub((i * 1777) % viewer.view.n)",
    "tau": "setThreshold(((i * 37) % 100) / 100)",
    "tau, one step of the slider": "setThreshold(0.3 + i / 100)",
}
N_STEPS = 5
TAKE_STEPS = """() => {{
  const {{ viewer }} = window.citer, seen = new MutationObserver(() => {{}});
  seen.observe(document.body, {{ subtree: true, childList: true, attributes: true, characterData: true }});
  let most = 0;
  for (let i = 1; i <= {n}; i++) {{
    viewer.{step};
    viewer.flush();
    most = Math.max(most, new Set(seen.takeRecords().map((record) => record.target)).size);
  }}
  seen.disconnect();
  return most;
}}"""
SHOW = """([n, events]) => { const { viewer } = window.citer, trace = viewer.trace();
  viewer.showTrace({ ...trace, events: events.slice(0, n), settings: { ...trace.settings, threshold: 0.5 } }); }"""


def test_to_scrub_and_to_move_tau_takes_as_much_work_however_long_the_run(visit: Visit) -> None:
    """Elements that a step touches before it is seen, and layouts that it asks for: with these a drag would stutter."""
    visitor = visit()
    page = visitor.page
    events = []
    for i in range(2400):
        confidence = ((i * 37) % 101) / 101
        by_llm = confidence < 0.5
        text, source = f" word{i % 97}", "llm" if by_llm else "slm"
        event = TokenEvent(i, i % 900, text, source, 1, confidence, 0.5, 1, int(by_llm), 20 + i, 1e-3, 1e-4, 0)
        events.append(event_to_dict(event))
    devtools = visitor.context.new_cdp_session(page)
    devtools.send("Performance.enable")

    def n_layouts() -> int:
        metrics = devtools.send("Performance.getMetrics")["metrics"]
        return int(next(m["value"] for m in metrics if m["name"] == "LayoutCount"))

    at_rest = "() => window.citer.viewer.frame === null && window.citer.viewer.tokens.restTimer === null"
    work: dict[int, dict[str, tuple[int, int]]] = {}
    for n in (1200, 2400):
        page.evaluate(SHOW, [n, events])
        work[n] = {}
        for what, step in STEPS.items():
            page.wait_for_function(at_rest)
            before = n_layouts()
            n_touched = page.evaluate(TAKE_STEPS.format(n=N_STEPS, step=step))
            work[n][what] = n_touched, n_layouts() - before
    print(work)
    for what in STEPS:
        (touched, layouts), (touched_of_more, layouts_of_more) = (work[n][what] for n in (1200, 2400))
        assert 0 < touched_of_more < 1.1 * touched + 20 and touched_of_more < 1000, what
        assert layouts_of_more <= layouts + N_STEPS and layouts_of_more <= 4 * N_STEPS, what

    # Those in sight are right at once, wherever the reader goes next, and the others soon.
    wrong = f"""(ends) => {{ const {{ tokens }} = window.citer.viewer, box = tokens.scroller.getBoundingClientRect();
      return tokens.nodes.filter((node, i) => {{
        const at = node.getBoundingClientRect();
        return (ends || (at.top > box.top && at.bottom < box.bottom))
          && node.classList.contains('cv-llm') !== Boolean({VIEW}.decisions.isLlm[i]); }}).length; }}"""
    page.wait_for_function(at_rest)
    # Asked in one go: a busy machine takes longer between two questions than the others wait.
    in_sight, of_all = page.evaluate(
        f"""() => {{ const wrong = {wrong}; window.citer.viewer.setThreshold(0.9); window.citer.viewer.flush();
          return [wrong(false), wrong(true)]; }}"""
    )
    assert in_sight == 0 < of_all
    page.evaluate("window.citer.viewer.tokens.scroller.scrollTop = 1e6")
    page.evaluate("new Promise(requestAnimationFrame)")
    assert page.evaluate(wrong, False) == 0
    page.wait_for_function(at_rest)
    assert page.evaluate(wrong, True) == 0
