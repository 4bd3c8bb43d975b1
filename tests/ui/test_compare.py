"""The Compare tab in a browser: recorded without a model, drafts coloured, a blind test, a link, and live."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from citer_core.assets import ASSETS
from citer_core.comparison import COMPARISONS, Comparison
from tests.ui.visitor import Visitor

FOLDER = ASSETS / "comparisons"
pytestmark = pytest.mark.ui


def test_which_file_is_shown_and_what_speculative_decoding_is_said_to_write(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.open_view("Compare")
    page = visitor.page
    expect(page.locator(".cq-column").first).to_be_visible(timeout=20_000)
    # The comparison that was chosen last is shown, whichever file comes first.
    late, last = (Comparison.read(FOLDER / one["file"]) for one in COMPARISONS.read(FOLDER)[1:3])
    page.evaluate("""() => {
      const [ask, files] = [window.fetch, []];
      window.fetch = (...how) => new Promise((give) => files.push(async () => {
        const answer = await ask(...how), copy = answer.clone();
        give(answer);
        return (await copy.text()).length;
      }));
      window.release = (place) => files[place]();
      window.restore = () => { window.fetch = ask; };
    }""")
    picker, question = page.get_by_label("Recorded problem"), page.locator(".cq-question")
    for comparison in (late, last):
        picker.select_option(label=comparison.title)
    page.evaluate("window.release(1)")
    expect(question).to_have_text(last.runs[0].prompt.question)
    page.evaluate("window.release(0)")
    visitor.rest()
    expect(question).to_have_text(last.runs[0].prompt.question)
    assert picker.evaluate("one => one.selectedOptions[0].label") == last.title
    page.evaluate("window.restore()")

    # Where rounding turned a choice it is not said to write the LLM's text.
    claim = page.locator(".cq-findings li", has_text="keeps the LLM's distribution")
    expect(claim).to_contain_text("token for token. Routing does not")
    there = Comparison.read(FOLDER / "qwen-yeast.json")
    assert there.speculative is not None
    ours, theirs = there.speculative.token_ids, [event.token_id for event in there.runs[-1].events]
    at = next(k for k, (one, other) in enumerate(zip(ours, theirs, strict=False)) if one != other)
    picker.select_option(label=there.title)
    expect(claim).to_contain_text(f"but for rounding: the LLM reads several tokens at once, and here that turned "
                                  f"a choice at token {at + 1}. Routing does not")  # fmt: skip
