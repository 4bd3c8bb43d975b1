"""The inspector's label and case, with the bundled pair: where a run is its problem's known solution, and where not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from citer_core.tasks.datasets import bundled_rows
from tests.ui.conftest import Served, Visitor
from tests.ui.labels import labelled_text

pytestmark = pytest.mark.ui
KEY = "mc 8"  # the LLM alone writes its known solution to the letter; the SLM alone leaves it


def probed(visit: Callable[..., Visitor], labelled: Served, tau: float) -> Visitor:
    """A finished run of that question, with the LLM asked everywhere."""
    visitor = visit(url=labelled.url)
    page = visitor.page
    expect(page.locator("#cx-device")).to_have_attribute("data-state", "ready", timeout=20_000)
    page.get_by_label("Multiple choice").check()
    page.evaluate(f"window.citer.moveTau({tau})")
    visitor.ask(bundled_rows("mc")[7].problem.question)
    visitor.wait_live()
    visitor.wait_idle()
    page.get_by_role("button", name="Ask the LLM everywhere").click()
    expect(page.locator(".cv-closer")).to_contain_text("That pass is not in the cost.", timeout=20_000)
    return visitor


def truth_at(visitor: Visitor, index: int) -> str:
    visitor.page.evaluate(f"window.citer.viewer.goTo({index})")
    return visitor.page.locator(".cv-truth").inner_text()


def test_every_token_of_the_solution_has_the_label_of_the_labels_tab(
    visit: Callable[..., Visitor], labelled: Served
) -> None:
    text = labelled_text(labelled, KEY)
    visitor = probed(visit, labelled, 1)
    assert visitor.text() == "".join(text.pieces)
    n_critical = 0
    for index, (case, label) in enumerate(zip(text.case.tolist(), text.label.tolist(), strict=True)):
        said = truth_at(visitor, index)
        assert f"Case {case}:" in said and f"Label {label}:" in said, index
        assert ("a critical token caught" in said) == (label == 0)
        n_critical += label == 0
    assert n_critical > 0


def test_after_the_token_that_leaves_the_solution_there_is_none(
    visit: Callable[..., Visitor], labelled: Served
) -> None:
    text = labelled_text(labelled, KEY)
    visitor = probed(visit, labelled, 0)
    written = visitor.page.evaluate("window.citer.viewer.events.map((event) => event.token_id)")
    truth = text.example.truth_ids
    at = next(i for i, (ours, true) in enumerate(zip(written, truth, strict=False)) if ours != true)
    said = truth_at(visitor, at)
    assert "The run leaves it here: the true token is" in said and text.pieces[at].strip() in said
    assert "a risk, a critical token left to the SLM" in said or "Case 3" in said
    assert f"Not defined here: the run left the known solution at token {at + 1}" in truth_at(visitor, at + 1)
