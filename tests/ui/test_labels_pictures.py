"""The Labels tab's branches and charts."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from citer_core.evaluation.branches import roll_out_branches
from tests.ui.conftest import Served, Visitor
from tests.ui.labels import FIRST_PROBLEM, VIEW, labelled_text, pick, set_tau

pytestmark = pytest.mark.ui


def test_both_branches_of_a_token_are_rolled_out(open_tab: Callable[..., Visitor], labelled: Served) -> None:
    visitor = open_tab()
    pick(visitor, FIRST_PROBLEM)
    text = labelled_text(labelled, FIRST_PROBLEM)
    critical = int(((text.label == 0) & (text.case == 2)).nonzero()[0, 0])
    engine = labelled.slot.wait(0)
    assert engine is not None
    set_tau(visitor, 0.8)
    # Not at its centre: its marks, which hang below, belong to it, and nothing there is clicked.
    visitor.page.locator(f'.cl-text .cl-t[data-i="{critical}"]').evaluate("node => node.click()")
    expect(visitor.page.locator(".cl-detail")).to_contain_text("Label 0: prefer the LLM")
    visitor.page.get_by_role("button", name="Roll out both branches").click()
    ids = int(text.slm_ids[critical]), int(text.llm_ids[critical])
    branches = roll_out_branches(engine.pair, engine.router("citer"), text.example, critical, ids, 0.8)
    shown = visitor.page.locator(".cl-branch")
    expect(shown).to_have_count(2, timeout=10_000)
    for node, branch in ((shown.nth(0), branches.slm), (shown.nth(1), branches.llm)):
        written = branch.token + "".join(piece for piece, _ in branch.pieces)
        assert node.locator(".cl-branch-text").evaluate("node => node.textContent") == f"… {written}"
        expect(node.locator(".cl-answer")).to_contain_text("right" if branch.is_correct else "wrong")
    words = {"agrees": "agree with", "disagrees": "disagree with", "undecided": "Undecided"}[branches.verdict(0)]
    expect(visitor.page.locator(".cl-conclusion")).to_contain_text(words)
    expect(visitor.page.locator(".cl-branches")).to_contain_text("citer at τ 0.80")


def test_the_charts_are_drawn_in_both_themes_with_their_numbers(open_tab: Callable[..., Visitor]) -> None:
    visitor = open_tab()
    visitor.page.locator(".cl-charts").scroll_into_view_if_needed()
    expect(visitor.page.locator(".cl-plot[data-drawn]")).to_have_count(4, timeout=15_000)
    chart = visitor.page.locator("[data-chart=reliability]")
    expect(chart).to_contain_text("meant for equal priors")
    expect(chart).to_contain_text("under-confident")
    title = visitor.page.locator("[data-chart=roc] .xtitle")
    light = title.evaluate("node => getComputedStyle(node).fill")
    visitor.page.evaluate("document.body.classList.add('dark')")
    expect(title).not_to_have_css("fill", light)
    visitor.page.locator("[data-chart=histogram] summary").click()
    rows = visitor.page.locator("[data-chart=histogram] tbody td")
    expect(rows.first).to_be_visible()
    cells = rows.all_inner_texts()
    total = sum(int(n.replace(",", "")) for k, n in enumerate(cells) if k % 3)
    assert total == visitor.page.evaluate(f"{VIEW}.view.analysis.n")


def test_marks_stand_at_their_word_where_its_space_ends_the_line_before(open_tab: Callable[..., Visitor]) -> None:
    visitor = open_tab(width=390)
    fragments = "(nodes) => nodes.map((node) => node.getClientRects().length)"
    of_signs = ":has(.cv-mark-tex)"  # a backslash is a hair wide, which a line may end and begin with
    tokens = visitor.page.locator(f".cl-text .cl-t:not({of_signs})")
    words = tokens.locator(".cl-w")
    assert set(words.evaluate_all(fragments)) == {1}
    wrapped = [k for k, n in enumerate(tokens.evaluate_all(fragments)) if n > 1]
    assert wrapped, "no line begins with a token that has a space"
    for token in (tokens.nth(k) for k in wrapped):
        word = token.locator(".cl-w")
        assert token.text_content() == f" {word.text_content()}"
        assert token.evaluate("(node) => getComputedStyle(node).outlineStyle") == "none"
        token.evaluate("(node) => node.click()")
        expect(token).to_have_attribute("data-selected", "true")
        expect(word).to_have_css("outline-style", "solid")
