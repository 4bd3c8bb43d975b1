"""Explore: a run is written, flipped, branched, probed and looked through; both hosts write what Python writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from citer_core.engine import Engine
from citer_core.evaluation.label_view import label_texts
from citer_core.fork import Fork
from citer_core.labelling.teacher_forcing import example_of
from citer_core.tasks.datasets import bundled_rows
from citer_core.tasks.problems import Problem
from citer_core.types import DecodeSettings
from tests.traces import recorded
from tests.ui.axe import sound
from tests.ui.conftest import on_one_host
from tests.ui.journeys.conftest import ids
from tests.ui.visitor import Visitor

pytestmark = pytest.mark.ui
Enter = Callable[..., Visitor]
VIEW = "window.citer.viewer.view"
TAU = 0.93


def written(engine: Engine, problem: Problem, fork: Fork | None = None) -> list[Any]:
    settings = DecodeSettings(threshold=TAU, max_new_tokens=256)
    return list(engine.start(problem, settings=settings, fork=fork))


@on_one_host("static")
def test_generate_flip_branch_and_probe(enter: Enter, engine: Engine) -> None:
    visitor = enter()
    page = visitor.page
    visitor.ready()
    problem = bundled_rows("math")[3].problem
    visitor.set_tau(TAU)
    visitor.ask(problem.question)
    visitor.wait_live()
    visitor.wait_idle()
    run = visitor.shown()
    expected = written(engine, problem)
    assert ids(run.events) == ids(expected) and run.prompt.text == problem.prompt
    assert [event.source for event in run.events] == [event.source for event in expected]
    assert run.answer is not None and run.answer.true_answer == problem.true_answer
    assert run.answer.is_correct is not None and run.settings.threshold == TAU
    assert run.pair.revision == recorded("bakery").pair.revision

    # A flip by key: the other model writes token 4, and the pair goes on from there.
    at = 3
    source = "slm" if run.events[at].source == "llm" else "llm"
    page.evaluate("(index) => window.citer.viewer.goTo(index)", at)
    page.keyboard.press("f")
    strip = page.locator(".cv-branch")
    expect(strip).to_have_count(2, timeout=20_000)
    visitor.wait_idle()
    branch = visitor.shown()
    assert branch.parent is not None and branch.parent.key == run.key
    assert branch.events[at].forced and branch.events[at].source == source
    assert ids(branch.events) == ids(written(engine, problem, Fork(tuple(expected[:at]), source)))
    assert page.locator("#cx-notice").inner_text() == ""

    # Compared and deleted, each with the keyboard alone.
    for mark in (page.get_by_role("checkbox", name="Compare").nth(i) for i in range(2)):
        mark.press("Space")
        expect(mark).to_be_checked()  # the list is drawn anew after each
    compared = page.get_by_role("region", name="Two runs compared")
    expect(compared).to_be_visible()
    sound(page)
    page.get_by_role("button", name="Original").first.press("Enter")
    assert visitor.text() == run.completion
    page.get_by_role("button", name="Delete Branch 1").press("Enter")
    expect(page.locator(".cv-branches")).to_be_hidden()
    expect(compared).to_be_hidden()

    # A chosen candidate is written by its model.
    at = next(event.index for event in run.events if event.source == "llm" and event.token_id != event.slm_token_id)
    page.evaluate("(index) => window.citer.viewer.goTo(index)", at)
    page.locator(".cv-choose").first.press("Enter")
    expect(strip).to_have_count(2, timeout=20_000)
    visitor.wait_idle()
    chosen = visitor.shown().events[at]
    assert (chosen.source, chosen.token_id) == ("slm", run.events[at].slm_token_id)

    # The probe fills what was not asked and costs nothing; the problem's known solution gives cases and labels.
    page.get_by_role("button", name="Original").first.click()
    page.evaluate(
        "(index) => window.citer.viewer.goTo(index)",
        next(event.index for event in run.events if event.source == "slm"),
    )
    moved = page.locator(".cv-counter-moved dd")
    before = moved.inner_text()
    page.get_by_role("button", name="Ask the LLM everywhere").press("Enter")
    expect(page.locator(".cv-inspector")).to_contain_text("That pass is not in the cost.", timeout=20_000)
    assert moved.inner_text() == before
    probed = list(engine.probe(problem, ids(expected)))
    found = page.evaluate(f"{VIEW}.probe.map((token) => token.kl)")
    assert found == pytest.approx([token.kl for token in probed], abs=1e-3)
    page.wait_for_function(f"() => {VIEW}.truth !== null")
    truth = page.evaluate(f"{VIEW}.truth")
    # As far as the run follows that solution, they are those of the view Labels.
    example = example_of(bundled_rows("math")[3].row, "math", engine.pair)
    (text,) = label_texts(engine.pair, [], [example])
    n_labelled = len(truth["case"])
    assert n_labelled >= 1 and ids(run.events)[: n_labelled - 1] == list(example.truth_ids[: n_labelled - 1])
    assert truth["case"] == "".join(map(str, text.case[:n_labelled].tolist()))
    assert truth["label"] == "".join(map(str, text.label[:n_labelled].tolist()))
    expect(page.locator(".cv-truth")).to_contain_text("Case ")

    # The inside of a decision, as a dialog.
    page.evaluate("window.citer.viewer.goTo(4)")
    page.get_by_role("button", name="See inside this decision").click()
    expect(page.locator(".ci-network")).to_be_visible(timeout=20_000)
    inside = engine.inside(problem, ids(expected)[:4], router=run.router.name, after_llm=expected[3].source == "llm")
    assert inside.layers is not None
    assert page.locator(".ci-big").inner_text() == f"{run.events[4].slm_confidence:.3f}"
    said = page.locator(".ci-network").get_attribute("aria-label") or ""
    assert f"{inside.layers.logit:+.2f}".replace("-", "−") in said
    dialog = page.get_by_role("dialog", name="Who writes after")
    expect(dialog.get_by_role("button", name="Close")).to_be_focused()
    sound(page, ".cv-inside")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(page.get_by_role("button", name="See inside this decision")).to_be_focused()


@on_one_host("static")
def test_what_a_person_may_do_with_a_recorded_run_needs_no_request(enter: Enter, is_served: bool) -> None:
    """Search, a budget, what a figure counts and a price; then a problem is found, and a word in the glossary."""
    visitor = enter()
    page = visitor.page
    visitor.ready()
    expect(page.locator("#cx-problems option")).to_have_count(400)
    page.evaluate("window.isTheSame = true")
    visitor.requests.clear()
    page.evaluate("window.citer.viewer.goTo(0)")
    page.keyboard.press("/")
    page.keyboard.type("DOLLARS")
    note = page.locator(".cv-tools output")
    expect(note).to_contain_text("matches")
    page.keyboard.press("Enter")
    expect(note).to_contain_text("1 of")
    first = page.evaluate(f"{VIEW}.pinned")
    page.keyboard.press("Enter")
    assert page.evaluate(f"{VIEW}.pinned") > first
    page.keyboard.press("Escape")
    expect(note).to_be_empty()

    # A figure shows the tokens that it counts.
    page.keyboard.press("Escape")
    page.evaluate("window.citer.viewer.pin(null)")
    n_decisive = page.locator(".cv-t.cv-decisive").count()
    page.locator(".cv-figure-decisive").click()
    expect(page.locator(".cv-text")).to_have_attribute("data-filter", "decisive")
    lit = page.locator(".cv-t").evaluate_all(
        "nodes => nodes.filter(node => getComputedStyle(node).backgroundColor !== 'rgba(0, 0, 0, 0)').length"
    )
    assert 0 < lit == n_decisive

    page.locator("#cx-settings summary").click()
    page.locator("#cx-price select").select_option("Qwen2-1.5B / 72B")
    expect(page.locator(".citer-look", has_text="Priced as Qwen2-1.5B / 72B").first).to_be_visible()
    slider = page.locator("#cx-tau input[type=range]")
    recorded_tau = float(slider.input_value())
    for _ in range(10):
        slider.press("ArrowLeft")
    expect(page.locator(".cv-notice")).to_contain_text(f"τ {recorded_tau - 0.1:.2f}")
    page.get_by_label("Budget", exact=True).fill("20")
    page.get_by_role("button", name="Find τ").press("Enter")
    if not is_served:  # it is written again with the tau that was found
        page.wait_for_function("() => window.citer.viewer.view.origin !== null")
    expect(page.locator(".cv-budget output")).to_contain_text("% of tokens by the LLM")
    assert visitor.requests == []

    a_problem_is_found_by_its_number_and_by_its_words(visitor)

    # A word leads to the glossary on the same page.
    page.locator(".cv-figures .cv-term").click()
    here = page.locator(".cx-here")
    expect(here).to_contain_text("Decisive token")
    expect(here).to_be_in_viewport()
    page.go_back()
    expect(page.locator(".cv-figures")).to_be_visible()
    assert page.evaluate("window.isTheSame") is True


def a_problem_is_found_by_its_number_and_by_its_words(visitor: Visitor) -> None:
    page = visitor.page
    picker, editor = page.locator("#cx-picker input"), page.locator("#cx-prompt textarea")
    before = editor.input_value()
    for words in ("no such words anywhere", "museum"):
        picker.fill(words)
        picker.press("Enter")
        expect(editor).to_have_value(before) if "no such" in words else expect(editor).not_to_have_value(before)
    assert "museum" in editor.input_value()
    picker.fill("mc 17 ")
    picker.press("Enter")
    expect(editor).to_have_value(bundled_rows("mc")[16].problem.question)
    page.locator("button#cx-generate").click()
    visitor.wait_live()
    visitor.wait_idle()
    answer = visitor.shown().answer
    assert answer is not None and answer.true_answer == bundled_rows("mc")[16].problem.true_answer

    # What cannot be asked is answered calmly, in view, and no wait is shown.
    page.set_viewport_size({"width": 1440, "height": 900})
    notice = page.locator("#cx-notice")
    for text, message in (("", "The question is empty"), ("No choices.", "ends with two choices or more")):
        visitor.ask(text)
        expect(notice).to_contain_text(message)
        expect(notice).to_be_in_viewport(ratio=0.99)
        visitor.wait_idle()
    expect(visitor.tokens.first).to_be_visible()

    # The answer that one expects is what one's own problem is judged by, and of that one only.
    page.locator('#cx-type input[value="math"]').check()
    expected = page.get_by_label("Expected answer")
    question = bundled_rows("math")[3].problem.question.replace("?", " then?")
    for answer in ("7", ""):
        expected.fill(answer)
        visitor.ask(question)
        visitor.wait_live()
        visitor.wait_idle()
        run = visitor.shown()
        judged = run.answer
        assert judged is not None and judged.true_answer == (answer or None)
        assert judged.is_correct == (judged.predicted_answer == answer if answer else None)
        verdict = {True: "Right", False: "Wrong", None: "Not checked"}[judged.is_correct]
        expect(page.locator(".cv-answer .cv-verdict")).to_contain_text(verdict)
