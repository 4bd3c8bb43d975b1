"""The view Labels on a server: the numbers of a problem, recorded sets, and what a person gives it to read."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect

from citer_core.evaluation.branches import roll_out_branches
from citer_core.tasks.datasets import bundled_rows
from citer_core.ui.labels.recorded_labels import FOLDER, read_stored
from tests.label_verdicts import best_threshold, confusion
from tests.ui.labels import (
    CELLS,
    FIRST_PROBLEM,
    VIEW,
    labelled_text,
    matrix,
    numbers_of,
    paste,
    pick,
    rows_of,
    set_tau,
    without_charts,
)
from tests.ui.serving import HOSTILE, Served
from tests.ui.visitor import Visitor

pytestmark = pytest.mark.ui
Open = Callable[..., Visitor]
HOSTILE_ROW = {
    "problem": f"hostile {HOSTILE}",
    "solution": " <img src=x onerror=window.hacked=3> The final answer is $\\boxed{42}$.",
}


def test_the_numbers_of_a_problem(open_tab: Open, labelled: Served) -> None:
    """One window for all: to open the view costs more than to look at it."""
    visitor = open_tab()
    without_charts(visitor)
    pick(visitor, "mc 8")
    every_token_has_its_case_and_its_verdict_at_any_tau_without_a_request(visitor, labelled)
    two_routers_are_compared_on_the_same_tokens(visitor, labelled)
    pick(visitor, FIRST_PROBLEM)
    the_table_is_sorted_and_taken_away(visitor, labelled)
    both_branches_of_a_token_are_rolled_out(visitor, labelled)


def every_token_has_its_case_and_its_verdict_at_any_tau_without_a_request(visitor: Visitor, labelled: Served) -> None:
    text = labelled_text(labelled, "mc 8")
    confidence, label = numbers_of(text, "citer")
    tokens = visitor.page.locator(".cl-text .cl-t")
    assert visitor.page.locator(".cl-text").evaluate("node => node.textContent") == "".join(text.pieces)
    cases = tokens.evaluate_all("nodes => nodes.map(node => Number(node.dataset.case ?? 1))")
    assert cases == text.case.tolist() and 2 in cases
    visitor.requests.clear()
    for tau in (0, float(confidence[0]), 0.97):
        set_tau(visitor, tau)
        expected = confusion(confidence, label, tau)
        assert matrix(visitor) == {cell: getattr(expected, cell) for cell in CELLS}
        risky = tokens.evaluate_all("nodes => nodes.map(n => Number(n.classList.contains('cl-risk')))")
        assert sum(risky) == expected.risk
    best = best_threshold(confidence, label, 10)
    expect(visitor.page.locator(".cl-cost")).to_contain_text(f"= {best.cost:,.0f}. Now:")
    visitor.page.get_by_role("button", name="Set τ to").click()
    visitor.page.wait_for_function(f"() => {VIEW}.view.tau === {best.tau}")
    visitor.rest()
    assert [url for url in visitor.requests if "plotly" not in url] == []  # charts are asked for when there is time


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


def the_table_is_sorted_and_taken_away(visitor: Visitor, labelled: Served) -> None:
    text = labelled_text(labelled, FIRST_PROBLEM)
    confidence, label = numbers_of(text, "citer")
    visitor.page.locator("[data-column=confidence]").click()
    assert rows_of(visitor) == np.argsort(confidence, kind="stable").tolist()[:50]
    visitor.page.locator("[data-column=index]").click()
    with visitor.page.expect_download() as waiting:
        visitor.page.get_by_role("button", name="Download table (CSV)").last.click()
    rows = list(csv.DictReader(waiting.value.path().read_text(encoding="utf-8").splitlines()))
    assert [int(row["case"]) for row in rows] == text.case.tolist()
    assert [float(row["confidence citer"]) for row in rows] == confidence.tolist()
    pieces = [json.loads(row["token"]) for row in rows[:-1]]
    assert "".join(pieces) == "".join(text.pieces) and rows[-1]["token"] == "end of text"
    # A cell selects exactly its tokens, in the table and in the text.
    tau = float(np.median(confidence[label == 0]))
    set_tau(visitor, tau)
    visitor.page.locator("[data-cell=risk]").click()
    wanted = np.flatnonzero((label == 0) & (confidence >= tau)).tolist()
    assert rows_of(visitor) == wanted[:50] and wanted
    lit = visitor.page.locator(".cl-text .cl-chosen").evaluate_all("n => n.map(x => Number(x.dataset.i))")
    assert lit == wanted


def both_branches_of_a_token_are_rolled_out(visitor: Visitor, labelled: Served) -> None:
    text = labelled_text(labelled, FIRST_PROBLEM)
    critical = int(((text.label == 0) & (text.case == 2)).nonzero()[0, 0])
    engine = labelled.slot.wait(0)
    assert engine is not None
    set_tau(visitor, 0.8)
    # Not at its centre: its marks, which hang below, belong to it, and nothing there is clicked.
    visitor.page.locator(f'.cl-text .cl-t[data-i="{critical}"]').evaluate("node => node.click()")
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


@pytest.mark.slow
def test_recorded_sets_are_chosen_and_their_charts_have_all_tokens(open_tab: Open) -> None:
    page = open_tab().page
    page.locator(".cl-charts").scroll_into_view_if_needed()
    expect(page.locator(".cl-plot[data-drawn]")).to_have_count(4, timeout=15_000)
    page.locator("[data-chart=histogram] summary").click()
    cells = page.locator("[data-chart=histogram] tbody td").all_inner_texts()
    total = sum(int(n.replace(",", "")) for k, n in enumerate(cells) if k % 3)
    assert total == page.evaluate(f"{VIEW}.view.analysis.label.filter((one) => one !== 2).length")

    # Another pair's, without its models: its router has the same name and another tau.
    entry = next(entry for entry in read_stored() if "Qwen" in entry.pair)
    page.get_by_label("Recorded labels").select_option(label=entry.title)
    expect(page.get_by_text(f"{entry.pair}, recorded {entry.date}")).to_be_visible(timeout=20_000)
    routers = json.loads((FOLDER / entry.file).read_text(encoding="utf-8"))["routers"]
    page.wait_for_function(f"(name) => {VIEW}.view.router === name", arg=routers[0]["name"])
    assert page.evaluate(f"{VIEW}.view.tau") == routers[0]["tau"]
    text = page.locator(".cl-text")
    assert "\\times" in (text.text_content() or ""), "what was written stays"
    signs = text.locator(".cv-mark-tex").evaluate_all("all => all.map((one) => [one.textContent, one.dataset.mark])")
    assert ["imes", "×"] in signs, "a command that its tokenizer cuts is spelled"


def test_what_the_view_is_given(visit: Open, labelled: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing before it is opened, rows, files and a whole set."""
    visitor = visit(url=labelled.url)
    page, title = visitor.page, visitor.page.locator(".cl-reading h3")
    visitor.rest()
    assert not [url for url in visitor.requests if "/labels/" in url or "plotly" in url]
    without_charts(visitor)
    visitor.open_view("Labels")
    expect(title).to_have_text("200 math problems", timeout=10_000)
    assert not [url for url in visitor.requests if url.endswith("/ask/labels")]  # a recorded set makes no request

    paste(visitor, json.dumps(HOSTILE_ROW))
    expect(page.locator(".cl-question")).to_contain_text("hostile", timeout=60_000)
    shown = page.locator(".cl-text").evaluate("node => node.textContent")
    assert shown == " " + HOSTILE_ROW["solution"].strip()
    page.locator(".cl-search").fill("<")
    page.locator(".cl-pick").first.click()
    assert page.evaluate("window.hacked") is None
    page.locator(".cl-search").fill("")
    status = page.locator("#cx-labels .cl-status")
    paste(visitor, '{"problem": "1 + 1?"}')
    expect(status).to_contain_text('add "solution"', timeout=10_000)
    expect(page.locator(".cl-question")).to_contain_text("hostile")  # what was there stays

    def upload(path: Path) -> None:
        with page.expect_file_chooser() as chooser:
            page.locator("button#cx-labels-open").click()
        chooser.value.set_files(path)

    file = tmp_path / "own.jsonl"
    for content, said in ((b"\xff\xfe", "own.jsonl is not UTF-8"), (b" " * 4_100_000, "the page takes up to 4 MB")):
        file.write_bytes(content)
        upload(file)
        expect(status).to_contain_text(said)
    file.write_text("\n".join(json.dumps(row.row) for row in bundled_rows("mc")[:3]), encoding="utf-8")
    upload(file)
    expect(title).to_have_text("own.jsonl", timeout=10_000)
    with monkeypatch.context() as patch:
        patch.setattr("citer_core.ui.labels.rows.MAX_ROWS", 4)  # the recorded set has all of them
        page.locator("#cx-labels-math").click()
        expect(title).to_have_text("4 math problems", timeout=60_000)
    assert sum(matrix(visitor).values()) == page.evaluate(f"{VIEW}.view.analysis.n") > 200
