"""What branches, probes and tau are beside a server that computes; what both hosts do is in `journeys`."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from citer_core.types import prefers_llm
from tests.ui.serving import Served
from tests.ui.visitor import Visitor

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
    page.get_by_role("button", name="Show 20 of both models").press("Enter")
    expect(inspector.locator(".cv-candidates li")).to_have_count(40, timeout=20_000)
    focus_token(visitor, 3)  # they stay open
    page.get_by_role("button", name="Branch with ·large20, by the LLM").press("Enter")
    expect(strip(visitor)).to_have_count(2, timeout=20_000)
    visitor.wait_idle()
    fork = served.engine.runs[-1].fork
    assert fork is not None and (fork.n_shared, fork.source, fork.token_id) == (3, "llm", 220)

    page.get_by_role("button", name="Original").first.press("Enter")
    focus_token(visitor, 3)
    typed = page.get_by_role("textbox", name="A token of your own")
    typed.fill(" two words")
    typed.press("Enter")
    expect(inspector).to_contain_text("This text is 2 tokens, and one is written here.", timeout=20_000)
    expect(strip(visitor)).to_have_count(2)
    page.get_by_role("button", name="Write ·two").press("Enter")
    expect(strip(visitor)).to_have_count(3, timeout=20_000)
    visitor.wait_idle()
    fork = served.engine.runs[-1].fork
    assert fork is not None and (fork.source, fork.token_id) == (parent.events[3].source, len(" two"))


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


def test_a_lost_answer_can_be_asked_for_again(visit: Visit, served: Served) -> None:
    visitor = visit()
    page, notice = visitor.page, visitor.page.locator("#cx-notice")
    asked(visitor, "What may be lost?")
    # Gradio may drop a message between the server and our script.
    focus_token(visitor, next(event.index for event in served.engine.runs[-1].events if event.source == "slm"))
    page.route("**/citer/ask/probe", lambda route: route.fulfill(content_type="application/x-ndjson", body=""), times=1)
    page.get_by_role("button", name="Ask the LLM everywhere").press("Enter")
    expect(notice).to_contain_text("were lost on the way", timeout=20_000)
    page.get_by_role("button", name="Ask the LLM everywhere").press("Enter")
    expect(page.locator(".cv-inspector")).to_contain_text("That pass is not in the cost.", timeout=20_000)
    expect(notice).to_have_text("")
