"""The recorded labels on a server: rolled out by the pair that read them, and every set of them."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from citer_core.evaluation.branches import roll_out_branches
from citer_core.ui.labels.recorded_labels import FOLDER, read_stored
from tests.ui.labels import VIEW, labelled_text, matrix
from tests.ui.serving import Served
from tests.ui.visitor import Visitor

pytestmark = pytest.mark.ui


def test_the_recorded_labels(open_tab: Callable[..., Visitor], labelled: Served) -> None:
    """One window for all: charts in both themes, a token rolled out, every set of them, and marks on a phone."""
    visitor = open_tab()
    page = visitor.page
    the_charts_are_drawn_in_both_themes_with_their_numbers(page)
    engine = labelled.slot.wait(0)
    assert engine is not None
    router = engine.default_router
    entries = read_stored()
    file = json.loads((FOLDER / entries[0].file).read_text(encoding="utf-8"))
    tau = engine.router(router).default_threshold
    # Its tokens are rolled out by the pair that read them, which reads that problem again.
    index = page.evaluate(f"{VIEW}.view.selected")
    page.get_by_role("button", name="Roll out both branches").click()
    expect(page.locator(".cl-branch")).to_have_count(2, timeout=10_000)
    starts = np.cumsum([0, *(problem["n"] for problem in file["problems"])])
    number = int(np.searchsorted(starts, index, side="right")) - 1
    text, at = labelled_text(labelled, f"math {number + 1}"), index - int(starts[number])
    ids = int(text.slm_ids[at]), int(text.llm_ids[at])
    branches = roll_out_branches(engine.pair, engine.router(router), text.example, at, ids, tau)
    for node, branch in zip(page.locator(".cl-branch").all(), (branches.slm, branches.llm), strict=True):
        written = branch.token + "".join(piece for piece, _ in branch.pieces)
        assert node.locator(".cl-branch-text").evaluate("node => node.textContent") == f"… {written}"

    choice = page.get_by_label("Recorded labels")
    for entry in entries[1:]:
        choice.select_option(entry.title)
        expect(page.locator(".cl-reading h3")).to_have_text(entry.title, timeout=10_000)
        unlabelled = page.evaluate(f"{VIEW}.view.analysis.label.filter((one) => one === 2).length")
        assert sum(matrix(visitor).values()) + unlabelled == entry.n_tokens
        expect(page.locator(".cl-source .cl-caption")).to_contain_text(entry.date)
    the_real_pairs_labels_are_chosen_without_its_models_and_their_signs_are_spelled(page)
    choice.select_option(entries[0].title)
    expect(page.locator(".cl-reading h3")).to_have_text(entries[0].title, timeout=10_000)
    page.set_viewport_size({"width": 390, "height": 900})
    marks_stand_at_their_word_where_its_space_ends_the_line_before(page)


def marks_stand_at_their_word_where_its_space_ends_the_line_before(page: Page) -> None:
    fragments = "(nodes) => nodes.map((node) => node.getClientRects().length)"
    of_signs = ":has(.cv-mark-tex)"  # a backslash is a hair wide, which a line may end and begin with
    tokens = page.locator(f".cl-text .cl-t:not({of_signs})")
    words = tokens.locator(".cl-w")
    assert set(words.evaluate_all(fragments)) == {1}
    wrapped = [k for k, n in enumerate(tokens.evaluate_all(fragments)) if n > 1]
    assert wrapped, "no line begins with a token that has a space"
    for token in (tokens.nth(k) for k in wrapped[:8]):
        word = token.locator(".cl-w")
        assert token.text_content() == f" {word.text_content()}"
        assert token.evaluate("(node) => getComputedStyle(node).outlineStyle") == "none"
        token.evaluate("(node) => node.click()")
        expect(token).to_have_attribute("data-selected", "true")
        expect(word).to_have_css("outline-style", "solid")


def the_charts_are_drawn_in_both_themes_with_their_numbers(page: Page) -> None:
    page.locator(".cl-charts").scroll_into_view_if_needed()
    expect(page.locator(".cl-plot[data-drawn]")).to_have_count(4, timeout=15_000)
    chart = page.locator("[data-chart=reliability]")
    expect(chart).to_contain_text("meant for equal priors")
    expect(chart).to_contain_text("under-confident")
    title = page.locator("[data-chart=roc] .xtitle")
    light = title.evaluate("node => getComputedStyle(node).fill")
    page.evaluate("document.body.classList.add('dark')")
    expect(title).not_to_have_css("fill", light)
    page.locator("[data-chart=histogram] summary").click()
    rows = page.locator("[data-chart=histogram] tbody td")
    expect(rows.first).to_be_visible()
    cells = rows.all_inner_texts()
    total = sum(int(n.replace(",", "")) for k, n in enumerate(cells) if k % 3)
    assert total == page.evaluate(f"{VIEW}.view.analysis.label.filter((one) => one !== 2).length")


def the_real_pairs_labels_are_chosen_without_its_models_and_their_signs_are_spelled(page: Page) -> None:
    """Its tokenizer cuts LaTeX's commands in the middle."""
    entry = next(entry for entry in read_stored() if "Qwen" in entry.pair)
    page.get_by_label("Recorded labels").select_option(label=entry.title)
    expect(page.locator(".cl-finding")).to_contain_text("leaves", timeout=20_000)
    expect(page.get_by_text(f"{entry.pair}, recorded {entry.date}")).to_be_visible()
    # Its router has the same name and another tau.
    routers = json.loads((FOLDER / entry.file).read_text(encoding="utf-8"))["routers"]
    assert page.evaluate(f"[{VIEW}.view.router, {VIEW}.view.tau]") == [routers[0]["name"], routers[0]["tau"]]
    # A digit against a space comes first in the text; it opens where two digits differ.
    expect(page.locator(".cl-reading")).to_contain_text("of 44")
    slm, llm = page.locator(".cl-model .cl-quote").all_inner_texts()
    assert slm != llm and slm.isdigit() and llm.isdigit()
    text = page.locator(".cl-text")
    assert "\\times" in (text.text_content() or ""), "what was written stays"
    signs = text.locator(".cv-mark-tex").evaluate_all("all => all.map((one) => [one.textContent, one.dataset.mark])")
    assert ["imes", "×"] in signs and ["\\t", "\u200a"] in signs
