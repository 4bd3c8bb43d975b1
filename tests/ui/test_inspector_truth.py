"""The inspector's label and case, with the bundled pair: where a run is its problem's known solution, and where not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from citer_core.evaluation.label_view import LabelledText
from citer_core.tasks.datasets import bundled_rows
from tests.ui.labels import labelled_text
from tests.ui.serving import Served
from tests.ui.visitor import Visitor

pytestmark = pytest.mark.ui
WHOLE = 2  # the LLM alone writes its known solution to the end
LEFT = 95  # the LLM alone leaves it after 27 tokens, the SLM alone where it matters
SAID = """(indices) => indices.map((index) => {
  window.citer.viewer.goTo(index);
  window.citer.viewer.flush();
  return document.querySelector(".cv-truth").innerText;
})"""


def probe(visitor: Visitor, number: int, tau: float) -> None:
    """Finishes a run of that question, with the LLM asked everywhere."""
    page = visitor.page
    page.evaluate(f"window.citer.moveTau({tau})")
    visitor.ask(bundled_rows("mc")[number - 1].problem.question)
    visitor.wait_live()
    visitor.wait_idle()
    page.get_by_role("button", name="Ask the LLM everywhere").click()
    expect(page.locator(".cv-closer")).to_contain_text("That pass is not in the cost.", timeout=20_000)


def truth_at(visitor: Visitor, *indices: int) -> list[str]:
    """What the inspector says of these tokens."""
    return list(visitor.page.evaluate(SAID, indices))


def leaves_at(visitor: Visitor, text: LabelledText) -> int:
    """The first token at which a run is no longer its problem's known solution."""
    written = visitor.page.evaluate("window.citer.viewer.events.map((event) => event.token_id)")
    pairs = zip(written, text.example.truth_ids, strict=False)
    return next(index for index, (ours, true) in enumerate(pairs) if ours != true)


def test_every_token_of_the_solution_has_the_label_of_the_labels_tab_and_none_after_it(
    visit: Callable[..., Visitor], labelled: Served
) -> None:
    visitor = visit(url=labelled.url)
    expect(visitor.page.locator("#cx-device")).to_have_attribute("data-state", "ready", timeout=20_000)
    visitor.page.get_by_label("Multiple choice").check()
    text = labelled_text(labelled, f"mc {WHOLE}")
    probe(visitor, WHOLE, 1)
    assert len(text.pieces) >= 50 and visitor.text() == "".join(text.pieces)
    n_critical = 0
    told = truth_at(visitor, *range(text.n_tokens))
    for index, (case, label, said) in enumerate(zip(text.case.tolist(), text.label.tolist(), told, strict=True)):
        assert f"Case {case}:" in said and f"Label {label}:" in said, index
        assert ("a critical token caught" in said) == (label == 0)
        n_critical += label == 0
    assert n_critical > 0

    # After the token that leaves the solution there is none.
    text = labelled_text(labelled, f"mc {LEFT}")
    probe(visitor, LEFT, 0)
    at = leaves_at(visitor, text)
    said, after = truth_at(visitor, at, at + 1)
    assert "The run leaves it here: the true token is" in said and text.pieces[at].strip() in said
    assert "a risk, a critical token left to the SLM" in said or "Case 3" in said
    assert f"Not defined here: the run left the known solution at token {at + 1}" in after
