"""The Compare tab in a browser: recorded without a model, drafts coloured, a blind test, a link, and live."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from citer_core.assets import ASSETS
from citer_core.comparison import Comparison, read_comparisons
from tests.ui.axe import grave, overflow
from tests.ui.conftest import Visitor

FOLDER = ASSETS / "comparisons"
FIRST = read_comparisons(FOLDER)[0]
pytestmark = pytest.mark.ui


def opened(visitor: Visitor) -> Page:
    visitor.open_view("Compare")
    expect(visitor.page.locator(".cq-column").first).to_be_visible(timeout=20_000)
    return visitor.page


# How many pieces of tokens stand out of their column, to the right.
PAST_THE_EDGE = """(text) => {
  const { right } = text.getBoundingClientRect();
  const rects = [...text.querySelectorAll('.cq-t')].flatMap((token) => [...token.getClientRects()]);
  return rects.filter((rect) => rect.right > right + 0.5).length;
}"""


def texts(page: Page) -> list[str]:
    return page.locator(".cq-text").all_inner_texts()


def test_recorded_ways_stand_side_by_side_and_a_link_restores_them(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = opened(visitor)
    there = Comparison.read(FOLDER / FIRST["file"])
    expect(page.locator(".cq-column")).to_have_count(3)
    shown = page.locator(".cq-text").evaluate_all("all => all.map((one) => one.textContent)")
    assert shown == [there.runs[k].completion.lstrip() for k in (0, 1, -1)]
    expect(page.locator(".cq-findings li").first).to_contain_text("Speculative decoding moved")
    # A token's space is not drawn where its line ends, wherever that is.
    for width in range(1440, 1250, -19):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.locator(".cq-text").nth(2).evaluate(PAST_THE_EDGE) == 0
    # Speculative decoding comes as a fourth column: kept and rejected drafts, and what speaks against routing first.
    page.get_by_role("button", name="Add a column").click()
    page.locator(".cq-column").nth(3).get_by_label("Who writes").select_option("speculative")
    drafts = page.locator(".cq-column").nth(3)
    assert there.speculative is not None
    expect(drafts.locator(".cq-kept")).to_have_count(there.speculative.n_accepted)
    n_rejected = there.speculative.n_drafted - there.speculative.n_accepted
    expect(drafts.locator(".cq-rejected")).to_have_count(n_rejected)
    # At the clock's start nothing is there; on its way drafts wait for the LLM.
    slider = page.get_by_label("How far the clock has come")
    slider.fill("0")
    expect(page.locator(".cq-column .cq-t:not(.cq-off)")).to_have_count(0)
    slider.fill("20")
    assert drafts.locator(".cq-draft").count() > 0
    slider.fill("1000")
    expect(page.locator(".cq-column .cq-off")).to_have_count(0)
    assert grave(page, "#cx-compare") == []
    assert overflow(page) == 0
    wider = "all => all.filter((one) => one.scrollWidth > one.clientWidth + 1).length"
    assert page.locator(".cq-column").evaluate_all(wider) == 0, "a column runs into the next one"
    # Without a clipboard the link is shown.
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('no')); }")
    page.get_by_label("What the clock counts").select_option("tokens")
    page.locator("#cx-copy-link").click()
    note = page.locator("#cx-link-said")
    expect(note).to_contain_text("view=compare")
    query = parse_qs(urlsplit(note.inner_text().removeprefix("Copy this link: ")).query)
    assert query["columns"][0].split(",")[-1] == "speculative" and query["clock"] == ["tokens"]
    page.goto(note.inner_text().removeprefix("Copy this link: "))
    opened(visitor)
    expect(page.locator(".cq-column")).to_have_count(4)
    expect(page.get_by_label("What the clock counts")).to_have_value("tokens")


def test_the_comparison_that_was_chosen_last_is_shown_whichever_file_comes_first(visit: Callable[..., Visitor]) -> None:
    page = opened(visit())
    late, last = (Comparison.read(FOLDER / one["file"]) for one in read_comparisons(FOLDER)[1:3])
    page.evaluate("""() => {
      const [ask, files] = [window.fetch, []];
      window.fetch = (...how) => new Promise((give) => files.push(() => give(ask(...how))));
      window.release = (place) => files[place]();
    }""")
    picker, question = page.get_by_label("Recorded problem"), page.locator(".cq-question")
    for comparison in (late, last):
        picker.select_option(label=comparison.title)
    page.evaluate("window.release(1)")
    expect(question).to_have_text(last.runs[0].prompt.question)
    page.evaluate("window.release(0)")
    page.wait_for_timeout(300)
    expect(question).to_have_text(last.runs[0].prompt.question)
    assert picker.evaluate("one => one.selectedOptions[0].label") == last.title


def test_where_rounding_turned_a_choice_speculative_decoding_is_not_said_to_write_the_llms_text(
    visit: Callable[..., Visitor],
) -> None:
    page = opened(visit())
    claim = page.locator(".cq-findings li", has_text="keeps the LLM's distribution")
    expect(claim).to_contain_text("token for token. Routing does not")
    for file in ("qwen-yeast.json", "qwen-umbrella.json"):
        there = Comparison.read(FOLDER / file)
        assert there.speculative is not None
        ours, theirs = there.speculative.token_ids, [event.token_id for event in there.runs[-1].events]
        at = next(k for k, (one, other) in enumerate(zip(ours, theirs, strict=False)) if one != other)
        page.get_by_label("Recorded problem").select_option(label=there.title)
        expect(page.locator(".cq-column")).to_have_count(3)  # a router at another tau takes the place of the last one's
        expect(claim).to_contain_text(f"but for rounding: the LLM reads several tokens at once, and here that turned "
                                      f"a choice at token {at + 1}. Routing does not")  # fmt: skip


def test_the_blind_test_hides_who_wrote_and_keeps_a_score(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = opened(visitor)
    page.get_by_role("button", name="Blind test").click()
    expect(page.locator(".cq-column")).to_have_count(2)
    expect(page.locator(".cq-figures").first).to_be_hidden()
    assert page.locator(".cq-name").all_inner_texts() == ["Text A", "Text B"]
    background = page.locator(".cq-text .cq-t").evaluate_all(
        "all => [...new Set(all.map((one) => getComputedStyle(one).backgroundColor))]"
    )
    assert background == ["rgba(0, 0, 0, 0)"]  # no colour tells who wrote
    page.get_by_role("button", name="A is better").click()
    panel = page.locator(".cq-blind-panel")
    expect(panel).to_contain_text(re.compile(r"A was .+; B was .+ So far you preferred .+ 1 of 1"))
    expect(page.locator(".cq-figures").first).to_be_visible()
    page.get_by_role("button", name="Another pair").click()
    page.get_by_role("button", name="No difference").click()
    expect(page.get_by_role("button", name="End the blind test")).to_be_visible()
    page.get_by_role("button", name="End the blind test").click()
    expect(page.locator(".cq-column")).to_have_count(3)
    expect(page.get_by_role("button", name="Blind test (2 so far)")).to_be_visible()
    page.reload()
    opened(visitor)
    expect(page.get_by_role("button", name="Blind test (2 so far)")).to_be_visible()


def test_a_problem_of_ones_own_is_written_live_in_every_way(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = opened(visitor)
    # The run of Explore travels along: one press fills the form in with it.
    shown = page.evaluate("window.citer.viewer.trace()")
    page.get_by_role("button", name="Take the run from Explore").click()
    form = page.locator(".cq-form")
    expect(form.get_by_label("The problem")).to_have_value(shown["prompt"]["question"])
    form.get_by_label("The problem").fill("What is 2 + 3?")
    go = page.get_by_role("button", name="Write it now")
    expect(go).to_be_enabled()
    form.get_by_label("at τ").first.fill("1.5")
    go.click()
    expect(form.locator(".cq-note")).to_contain_text("threshold")  # refused in words; what is shown stays
    expect(page.locator(".cq-question")).not_to_contain_text("2 + 3")
    form.get_by_label("at τ").first.fill("0.5")
    go.click()
    expect(page.locator(".cq-question")).to_have_text("What is 2 + 3?")
    expect(page.locator(".cx-compare")).to_contain_text("Written live")
    expect(go).to_be_enabled()
    # The same share for both: each router's tau from what was measured on this pair.
    measured = [("citer", 0.15607), ("max-probability", 0.515619)]
    points = [{"router": name, "share_wanted": 0.1, "tau": tau, "n": 1000} for name, tau in measured]
    regime = {"pair_revision": "fake-revision", "kinds": {"math": {"points": points}}}
    message = json.dumps({"evidence": {"regimes": [regime]}})
    page.route(
        "**/citer/ask/evidence", lambda route: route.fulfill(content_type="application/x-ndjson", body=message + "\n")
    )
    form.get_by_label("and by the router").select_option("max-probability")
    form.get_by_label("LLM tokens").select_option("10% for both")
    expect(form.locator(".cq-note")).to_contain_text("over the 1,000 problems of this kind in Evidence")
    assert [form.get_by_label("at τ").nth(k).input_value() for k in range(2)] == ["0.1561", "0.5156"]
    form.get_by_label("Kind").select_option("Free text")
    expect(form.locator(".cq-note")).to_contain_text("Not measured here at 10%: citer, max-probability.")
    form.get_by_label("Kind").select_option("Math")
    form.get_by_label("at τ").first.fill("0.5")
    expect(form.get_by_label("LLM tokens")).to_have_value("")
    assert len(set(texts(page))) == 1  # the scripted engine writes one text, whoever writes
    assert "boxed{42}" in texts(page)[0]
    # Sampled, without drafts; and a link that fills all of it in again.
    expect(form.get_by_label("Seed")).to_be_hidden()
    form.get_by_label("Temperature").fill("0.8")
    form.get_by_label("Seed").fill("7")
    go.click()
    expect(page.locator(".cx-compare")).to_contain_text("Sampled at temperature 0.8, seed 7.")
    expect(go).to_be_enabled()
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('no')); }")
    page.locator("#cx-copy-link").click()
    note = page.locator("#cx-link-said")
    expect(note).to_contain_text("live_question")
    page.goto(note.inner_text().removeprefix("Copy this link: "))
    expect(form.locator(".cq-note")).to_have_text("This is what the link asks for. Write it when you like.")
    expect(form.get_by_label("The problem")).to_have_value("What is 2 + 3?")
    expect(form.get_by_label("at τ").first).to_have_value("0.5")
    expect(form.get_by_label("Seed")).to_have_value("7")
