"""The numbers of the Labels tab, which people will quote: cases, verdicts, cells, the table and two routers."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import expect

from citer_core.evaluation.branches import roll_out_branches
from tests.label_verdicts import best_threshold, confusion
from tests.ui.labels import (
    CELLS,
    FIRST_PROBLEM,
    VIEW,
    labelled_text,
    matrix,
    numbers_of,
    pick,
    rows_of,
    set_tau,
    without_charts,
)
from tests.ui.serving import Served
from tests.ui.visitor import Visitor

pytestmark = pytest.mark.ui


def test_the_numbers_of_a_problem(open_tab: Callable[..., Visitor], labelled: Served) -> None:
    """One window for all: to open the view costs more than to look at it."""
    visitor = open_tab()
    without_charts(visitor)
    pick(visitor, FIRST_PROBLEM)
    the_table_is_sorted_searched_and_taken_away(visitor, labelled)
    each_cell_selects_exactly_its_tokens(visitor, labelled)
    both_branches_of_a_token_are_rolled_out(visitor, labelled)
    pick(visitor, "mc 8")
    every_token_has_its_case_and_its_verdict_at_any_tau_without_a_request(visitor, labelled)
    two_routers_are_compared_on_the_same_tokens(visitor, labelled)


def every_token_has_its_case_and_its_verdict_at_any_tau_without_a_request(visitor: Visitor, labelled: Served) -> None:
    text = labelled_text(labelled, "mc 8")
    confidence, label = numbers_of(text, "citer")
    tokens = visitor.page.locator(".cl-text .cl-t")
    assert visitor.page.locator(".cl-text").evaluate("node => node.textContent") == "".join(text.pieces)
    cases = tokens.evaluate_all("nodes => nodes.map(node => Number(node.dataset.case ?? 1))")
    assert cases == text.case.tolist() and 2 in cases
    chosen = visitor.page.evaluate(f"{VIEW}.view.selected")
    visitor.page.locator(".cl-text [tabindex='0']").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "ArrowRight"):
        visitor.page.keyboard.press(key)
    assert visitor.page.evaluate(f"{VIEW}.view.selected") == chosen + 2  # a key's handler has run when `press` returns
    visitor.requests.clear()
    number = visitor.page.locator(".cl-threshold .cl-number")
    number.fill("0.42")
    visitor.page.evaluate(f"{VIEW}.draw()")  # what is typed outlives a drawing that comes in between
    number.press("Enter")
    visitor.page.wait_for_function(f"() => {VIEW}.view.tau === 0.42")
    for tau in (0, 0.3, float(confidence[0]), 0.97, 1):
        set_tau(visitor, tau)
        expected = confusion(confidence, label, tau)
        assert matrix(visitor) == {cell: getattr(expected, cell) for cell in CELLS}
        risky = tokens.evaluate_all("nodes => nodes.map(n => Number(n.classList.contains('cl-risk')))")
        assert sum(risky) == expected.risk
        best = best_threshold(confidence, label, 10)
        expect(visitor.page.locator(".cl-cost")).to_contain_text(f"= {best.cost:,.0f}. Now:")
    slider = visitor.page.locator(".cl-threshold .cl-range").first
    slider.focus()
    for _ in range(5):
        slider.press("ArrowLeft")
    visitor.page.wait_for_function(f"() => Math.abs({VIEW}.view.tau - 0.95) < 1e-9")
    visitor.page.get_by_role("button", name="Set τ to").click()
    visitor.page.wait_for_function(f"() => {VIEW}.view.tau === {best.tau}")
    ratio = visitor.page.get_by_label("How many wastes one risk is worth")
    ratio.press("End")
    expect(visitor.page.locator(".cl-formula")).to_have_text("cost(τ) = 100 · risks(τ) + wastes(τ)")
    visitor.rest()
    assert visitor.requests == []


def each_cell_selects_exactly_its_tokens(visitor: Visitor, labelled: Served) -> None:
    text = labelled_text(labelled, FIRST_PROBLEM)
    confidence, label = numbers_of(text, "citer")
    # Any tau will do at which no cell is empty.
    tau = next(
        t / 100
        for t in range(99, 0, -1)
        if all(
            ((label == kind) & (side(confidence, t / 100))).any()
            for kind in (0, 1)
            for side in (np.less, np.greater_equal)
        )
    )
    set_tau(visitor, tau)
    by_llm = confidence < tau
    expected = {
        "kept": (label == 1) & ~by_llm, "waste": (label == 1) & by_llm,
        "risk": (label == 0) & ~by_llm, "caught": (label == 0) & by_llm,
    }  # fmt: skip
    for cell, members in expected.items():
        visitor.page.locator(f"[data-cell={cell}]").click()
        expect(visitor.page.locator(f"[data-cell={cell}]")).to_have_attribute("aria-pressed", "true")
        wanted = np.flatnonzero(members).tolist()
        if visitor.page.get_by_role("button", name="Show more").is_visible():
            visitor.page.get_by_role("button", name="Show more").click()
        assert rows_of(visitor) == wanted and len(wanted) > 0
        lit = visitor.page.locator(".cl-text .cl-chosen").evaluate_all("n => n.map(x => Number(x.dataset.i))")
        assert lit == wanted
    visitor.page.locator("[data-cell=caught]").click()  # a second click lets it go
    expect(visitor.page.locator(".cl-tokens")).to_contain_text(f"{text.n_tokens} tokens")


def the_table_is_sorted_searched_and_taken_away(visitor: Visitor, labelled: Served) -> None:
    text = labelled_text(labelled, FIRST_PROBLEM)
    confidence, _ = numbers_of(text, "citer")
    header = visitor.page.locator("[data-column=confidence]")
    header.click()
    expect(header.locator("..")).to_have_attribute("aria-sort", "ascending")
    order = np.argsort(confidence, kind="stable").tolist()
    assert rows_of(visitor) == order[:50]
    header.click()
    assert confidence[rows_of(visitor)[0]] == confidence.max()
    word = max(text.pieces, key=len).strip()
    visitor.page.locator(".cl-search").fill(word)
    expect(visitor.page.locator(".cl-tokens")).to_contain_text(f"with “{word}”")
    found = rows_of(visitor)
    assert found and all(word in text.pieces[i] for i in found)
    visitor.page.locator(".cl-search").fill("")
    visitor.page.locator("[data-column=index]").click()
    with visitor.page.expect_download() as waiting:
        visitor.page.get_by_role("button", name="Download table (CSV)").last.click()
    rows = list(csv.DictReader(waiting.value.path().read_text(encoding="utf-8").splitlines()))
    assert len(rows) == text.n_tokens
    assert [int(row["case"]) for row in rows] == text.case.tolist()
    assert [float(row["confidence citer"]) for row in rows] == confidence.tolist()
    pieces = [json.loads(row["token"]) for row in rows[:-1]]
    assert "".join(pieces) == "".join(text.pieces) and rows[-1]["token"] == "end of text"


def two_routers_are_compared_on_the_same_tokens(visitor: Visitor, labelled: Served) -> None:
    text = labelled_text(labelled, "mc 8")
    set_tau(visitor, 0.9)
    visitor.page.get_by_label("Second router", exact=True).select_option("max-probability")
    visitor.page.get_by_label("Where the second router stands").select_option("same")
    first, label = numbers_of(text, "citer")
    second, _ = numbers_of(text, "max-probability")
    other = confusion(second, label, 0.9)
    row = visitor.page.locator(".cl-compare-table tbody tr").nth(1)
    expect(row.locator("td").nth(1)).to_have_text(str(other.risk))
    expect(row.locator("td").nth(2)).to_have_text(str(other.waste))
    visitor.page.get_by_role("button", name="decided differently").click()
    assert rows_of(visitor) == np.flatnonzero((first < 0.9) != (second < 0.9)).tolist()
    visitor.page.get_by_label("Where the second router stands").select_option("share")
    mine = confusion(first, label, 0.9)
    share = f"{100 * (mine.waste + mine.caught) / len(label):.1f}%"
    expect(visitor.page.locator(".cl-compare-table tbody td:nth-of-type(4)")).to_have_text([share, share])


def both_branches_of_a_token_are_rolled_out(visitor: Visitor, labelled: Served) -> None:
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
    words = {"llm": "agree with", "slm": "disagree with", None: "Undecided"}[branches.preferred]
    expect(visitor.page.locator(".cl-conclusion")).to_contain_text(words)
    expect(visitor.page.locator(".cl-branches")).to_contain_text("citer at τ 0.80")
