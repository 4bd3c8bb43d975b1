"""The Compare tab in a browser: recorded without a model, drafts coloured, a blind test, a link, and live."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from citer_core.assets import ASSETS
from citer_core.comparison import Comparison, read_comparisons
from tests.ui.conftest import Visitor

FOLDER = ASSETS / "comparisons"
FIRST = read_comparisons(FOLDER)[0]
pytestmark = pytest.mark.ui


def opened(visitor: Visitor) -> Page:
    visitor.open_view("Compare")
    expect(visitor.page.locator(".cq-column").first).to_be_visible(timeout=20_000)
    return visitor.page


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
