"""The view Evidence: drawn from what is stored, every choice of it, and a point's way to Explore."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from citer_core.ui.evidence import evidence_message
from tests.ui.visitor import Visitor


@pytest.mark.ui
def test_a_figure_on_a_phone_has_lines_of_one_length_and_whole_words(visit: Callable[..., Visitor]) -> None:
    visitor = visit(width=390)
    page = visitor.page
    visitor.open_view("Evidence")
    figure = page.locator(".ce-lesson .ce-drawn")
    expect(figure.locator(".ce-range").first).to_be_visible(timeout=20_000)
    size = "(nodes, of) => nodes.map((node) => Math.round(node.getBoundingClientRect()[of]))"
    (width,) = set(figure.locator(".ce-line svg").evaluate_all(size, "width"))  # else dots could not be compared
    assert width > 100
    for cell in (".ce-range", "[scope=row]", ".ce-value"):
        assert max(figure.locator(cell).evaluate_all(size, "height")) < 30, f"{cell} stands in one line"
    assert figure.locator("tbody tr").first.evaluate("(row) => row.getBoundingClientRect().right") <= 390
    finding = page.locator(".ce-question[data-name=free-1] .ce-finding")
    claim = next(claim for claim in evidence_message()["evidence"]["claims"] if claim["name"] == "free-1")
    for panel, found in zip(finding.all(), [claim["found"], *claim["others"]], strict=True):
        expect(panel.locator("li")).to_have_text(list(found["lines"]))
        expect(panel.locator(".cl-note")).to_contain_text(found["where"])
