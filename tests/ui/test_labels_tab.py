"""The Labels tab, in a real browser and with the bundled pair: every number is one that a person will quote."""

from __future__ import annotations

import csv
import json
import re
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

import citer_core.ui.page
from citer_core.engine import Engine
from citer_core.evaluation.branches import roll_out_branches
from citer_core.evaluation.curves import best_threshold, confusion
from citer_core.evaluation.label_view import LabelledText, label_texts
from citer_core.labelling.teacher_forcing import example_of
from citer_core.tasks.datasets import bundled_rows
from citer_core.ui.label_events import FIRST_PROBLEM
from citer_core.ui.label_jobs import LabelJob, LabelJobs
from tests.ui.conftest import HOSTILE, Served, Visitor

pytestmark = pytest.mark.ui
CELLS = ("kept", "waste", "risk", "caught")
# The brackets after the hostile text would be the box's otherwise.
HOSTILE_ROW = {"problem": f"hostile {HOSTILE}", "solution": f"{HOSTILE} The final answer is $\\boxed{{42}}$."}
MC_ROW = {
    "question": "Which is a fruit?",
    "choices": {"text": ["pear", "stone"], "label": ["A", "B"]},
    "answerKey": "A",
    "cot": "A pear grows on a tree. Therefore, the answer is pear (A).",
}


class RealEngine:
    """The bundled pair behind the interface that `make_server` expects of a fake."""

    engine: Engine | None = None

    def load(self) -> Engine:
        self.engine = Engine.load()
        return self.engine


class SeenJobs(LabelJobs):
    """Lets a test look at the jobs of all pages."""

    seen: list[LabelJob] = []  # noqa: RUF012

    def begin(self, session: str) -> LabelJob:
        job = super().begin(session)
        self.seen.append(job)
        return job


@pytest.fixture(scope="module")
def labelled(make_server: Callable[..., Served]) -> Served:
    """A server with the bundled pair."""
    with mock.patch.object(citer_core.ui.page, "LabelJobs", SeenJobs):
        server = make_server(RealEngine())
    server.may_load.set()
    assert server.slot.wait(60) is not None
    return server


@pytest.fixture
def open_tab(visit: Callable[..., Visitor], labelled: Served) -> Callable[..., Visitor]:
    """A window in which the tab is open and its first problem read."""

    def opened(**how: Any) -> Visitor:
        visitor = visit(url=labelled.url, **how)
        visitor.page.get_by_role("tab", name="Labels").click()
        expect(visitor.page.locator(".cl-text .cl-t").first).to_be_visible(timeout=10_000)
        return visitor

    return opened


def labelled_text(served: Served, key: str) -> LabelledText:
    """What the tab shows of a bundled problem, computed here."""
    engine = served.slot.wait(0)
    assert engine is not None
    kind, number = key.split()
    row = bundled_rows(kind)[int(number) - 1].row  # type: ignore[arg-type]
    routers = [engine.router(name) for name in engine.router_names]
    (text,) = label_texts(engine.pair, routers, [example_of(row, kind, engine.pair)])  # type: ignore[arg-type]
    return text


def numbers_of(text: LabelledText, router: str) -> tuple[Any, Any]:
    return text.confidence[router].numpy().astype(np.float64), text.label.numpy().astype(np.int64)


def settle(visitor: Visitor) -> None:
    """Until what a person has done is drawn."""
    visitor.page.wait_for_function("window.citerLabels.frame === null")


def matrix(visitor: Visitor) -> dict[str, int]:
    settle(visitor)
    counts = visitor.page.locator(".cl-cell").evaluate_all(
        "nodes => nodes.map(node => [node.dataset.cell, node.querySelector('.cl-cell-count').textContent])"
    )
    return {cell: int(count.replace(",", "")) for cell, count in counts}


def set_tau(visitor: Visitor, tau: float) -> None:
    number = visitor.page.locator(".cl-threshold .cl-number")
    number.fill(str(tau))
    number.press("Enter")
    expect(visitor.page.locator(".cl-threshold .cl-range").first).to_have_value(re.compile(r"[01]"))
    visitor.page.wait_for_function(f"window.citerLabels.view.tau === {tau} && window.citerLabels.frame === null")


def rows_of(visitor: Visitor) -> list[int]:
    settle(visitor)
    rows = visitor.page.locator(".cl-token-table tbody tr")
    return rows.evaluate_all("rows => rows.map(row => Number(row.dataset.i))")


def pick(visitor: Visitor, key: str) -> None:
    picker = visitor.page.locator("#cx-labels-picker input")
    picker.click()
    picker.fill("")
    picker.press_sequentially(f"{key} ·")
    options = visitor.page.locator("ul[role=listbox] [role=option]")
    expect(options).to_have_count(1)
    options.click()
    expect(visitor.page.locator(".cl-reading h3")).to_have_text(key, timeout=10_000)


def paste(visitor: Visitor, text: str) -> None:
    if not visitor.page.locator("#cx-labels-paste textarea").is_visible():
        visitor.page.get_by_text("Your own row or file").click()
    visitor.page.locator("#cx-labels-paste textarea").fill(text)
    visitor.page.locator("#cx-labels-read").click()


def test_nothing_of_the_tab_is_loaded_before_it_is_opened(visit: Callable[..., Visitor], labelled: Served) -> None:
    visitor = visit(url=labelled.url)
    visitor.page.wait_for_timeout(500)
    n_jobs = len(SeenJobs.seen)
    assert not [url for url in visitor.requests if "/labels/" in url or "plotly" in url]
    visitor.page.get_by_role("tab", name="Labels").click()
    expect(visitor.page.locator(".cl-reading h3")).to_have_text(FIRST_PROBLEM, timeout=10_000)
    assert len(SeenJobs.seen) == n_jobs + 1
    expect(visitor.tokens.first).to_be_visible()  # the live viewer stays, above the tabs
    expect(visitor.page.locator("#cx-labels-picker input")).to_have_value(re.compile(rf"^{FIRST_PROBLEM} · "))
    visitor.page.get_by_role("tab", name="How it works").click()
    visitor.page.get_by_role("tab", name="Labels").click()
    expect(visitor.page.locator(".cl-text .cl-t").first).to_be_visible()
    assert len(SeenJobs.seen) == n_jobs + 1


def test_every_token_has_its_case_and_its_verdict_at_any_tau_without_a_request(
    open_tab: Callable[..., Visitor], labelled: Served
) -> None:
    visitor = open_tab()
    pick(visitor, "mc 8")
    text = labelled_text(labelled, "mc 8")
    confidence, label = numbers_of(text, "citer")
    tokens = visitor.page.locator(".cl-text .cl-t")
    assert visitor.page.locator(".cl-text").evaluate("node => node.textContent") == "".join(text.pieces)
    cases = tokens.evaluate_all("nodes => nodes.map(node => Number(node.dataset.case ?? 1))")
    assert cases == text.case.tolist() and 2 in cases
    chosen = visitor.page.evaluate("window.citerLabels.view.selected")
    visitor.page.locator(".cl-text [tabindex='0']").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "ArrowRight"):
        visitor.page.keyboard.press(key)
    visitor.page.wait_for_function(f"window.citerLabels.view.selected === {chosen + 2}")
    visitor.page.locator(".cl-charts").scroll_into_view_if_needed()
    expect(visitor.page.locator(".cl-plot[data-drawn]")).to_have_count(4, timeout=15_000)
    visitor.requests.clear()
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
    visitor.page.wait_for_function("Math.abs(window.citerLabels.view.tau - 0.95) < 1e-9")
    visitor.page.get_by_role("button", name="Set τ to").click()
    visitor.page.wait_for_function(f"window.citerLabels.view.tau === {best.tau}")
    ratio = visitor.page.get_by_label("How many wastes one risk is worth")
    ratio.press("End")
    expect(visitor.page.locator(".cl-formula")).to_have_text("cost(τ) = 100 · risks(τ) + wastes(τ)")
    visitor.page.wait_for_timeout(300)
    assert visitor.requests == []


def test_each_cell_selects_exactly_its_tokens(open_tab: Callable[..., Visitor], labelled: Served) -> None:
    visitor = open_tab()
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


def test_the_table_is_sorted_searched_and_taken_away(open_tab: Callable[..., Visitor], labelled: Served) -> None:
    visitor = open_tab()
    text = labelled_text(labelled, FIRST_PROBLEM)
    confidence, _ = numbers_of(text, "citer")
    header = visitor.page.locator("[data-column=confidence]")
    header.click()
    expect(header.locator("..")).to_have_attribute("aria-sort", "ascending")
    order = np.argsort(confidence, kind="stable").tolist()
    assert rows_of(visitor) == order[:50]
    header.click()
    assert confidence[rows_of(visitor)[0]] == confidence.max()
    visitor.page.locator(".cl-search").fill("dollars")
    expect(visitor.page.locator(".cl-tokens")).to_contain_text("with “dollars”")
    found = rows_of(visitor)
    assert found and all(" dollars" in (text.pieces[i], "", " dollars") for i in found)
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


def test_two_routers_are_compared_on_the_same_tokens(open_tab: Callable[..., Visitor], labelled: Served) -> None:
    visitor = open_tab()
    pick(visitor, "mc 8")
    text = labelled_text(labelled, "mc 8")
    set_tau(visitor, 0.9)
    visitor.page.get_by_label("Second router", exact=True).select_option("max-probability")
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


def test_both_branches_of_a_token_are_rolled_out(open_tab: Callable[..., Visitor], labelled: Served) -> None:
    visitor = open_tab()
    text = labelled_text(labelled, FIRST_PROBLEM)
    critical = int((text.label == 0).nonzero()[0, 0])
    engine = labelled.slot.wait(0)
    assert engine is not None
    set_tau(visitor, 0.8)
    # Not at its centre: a token that is wrapped with its space is nowhere near it.
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


def test_a_pasted_row_a_bad_row_and_hostile_text(open_tab: Callable[..., Visitor]) -> None:
    visitor = open_tab()
    paste(visitor, json.dumps(MC_ROW))
    expect(visitor.page.locator(".cl-reading h3")).to_have_text("pasted row", timeout=10_000)
    expect(visitor.page.locator(".cl-question")).to_contain_text("Which is a fruit?")
    paste(visitor, '{"problem": "1 + 1?"}')
    status = visitor.page.locator("#cx-labels .cl-status")
    expect(status).to_contain_text('add "solution"', timeout=10_000)
    expect(visitor.page.locator(".cl-question")).to_contain_text("Which is a fruit?")  # what was there stays
    paste(visitor, json.dumps(HOSTILE_ROW))
    expect(visitor.page.locator(".cl-question")).to_contain_text("hostile", timeout=10_000)
    expect(status).to_be_hidden()
    shown = visitor.page.locator(".cl-text").evaluate("node => node.textContent")
    assert shown == " " + HOSTILE_ROW["solution"].strip()
    visitor.page.locator(".cl-search").fill("<")
    visitor.page.locator(".cl-pick").first.click()
    visitor.page.get_by_role("button", name="Roll out both branches").click()
    expect(visitor.page.locator(".cl-conclusion")).to_be_visible(timeout=20_000)
    assert visitor.page.evaluate("window.hacked") is None


def test_an_uploaded_file_and_a_whole_set(open_tab: Callable[..., Visitor], tmp_path: Any) -> None:
    visitor = open_tab()
    visitor.page.get_by_text("Your own row or file").click()
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    lines = [json.dumps(row.row) for row in (*bundled_rows("math")[:3], *bundled_rows("mc")[:2])]
    good.write_text("\n".join(lines), encoding="utf-8")
    bad.write_text(lines[0] + "\n{}\n", encoding="utf-8")
    upload = visitor.page.locator("#cx-labels-own input[type=file]")
    upload.set_input_files(bad)
    expect(visitor.page.locator("#cx-labels .cl-status")).to_contain_text("Row 2: it has neither", timeout=10_000)
    upload.set_input_files(good)
    expect(visitor.page.locator(".cl-reading h3")).to_have_text("good.jsonl", timeout=10_000)
    expect(visitor.page.locator(".cl-place")).to_contain_text("of 5")
    visitor.page.locator("#cx-labels-math").click()
    expect(visitor.page.locator("#cx-labels progress")).to_be_visible(timeout=10_000)
    expect(visitor.page.locator(".cl-reading h3")).to_have_text("200 math problems", timeout=60_000)
    assert sum(matrix(visitor).values()) == visitor.page.evaluate("window.citerLabels.view.analysis.n") > 10_000
    risks = matrix(visitor)["risk"]
    visitor.page.locator("[data-cell=risk]").click()
    assert len(rows_of(visitor)) == risks
    selected = visitor.page.evaluate("window.citerLabels.view.selected")
    assert selected == rows_of(visitor)[0]  # the text has gone to the problem of the first one
    expect(visitor.page.locator(f'.cl-text .cl-t[data-i="{selected}"]')).to_be_visible()


@pytest.mark.parametrize("how", ["leave", "pick another"])
def test_a_running_set_ends_when_nobody_waits_for_it(open_tab: Callable[..., Visitor], how: str) -> None:
    visitor = open_tab()
    visitor.page.locator("#cx-labels-mc").click()
    expect(visitor.page.locator("#cx-labels progress")).to_be_visible(timeout=10_000)
    job = SeenJobs.seen[-1]
    if how == "leave":
        visitor.page.close()
    else:
        pick(visitor, "math 3")
    deadline = time.monotonic() + 3
    while not job.is_cancelled():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    n_read = len(job.texts)
    time.sleep(1.5)
    assert len(job.texts) <= n_read + 20 and len(job.texts) < 200


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
    cells = visitor.page.locator("[data-chart=histogram] tbody td").all_inner_texts()
    total = sum(int(n.replace(",", "")) for k, n in enumerate(cells) if k % 3)
    assert total == visitor.page.evaluate("window.citerLabels.view.analysis.n")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_tab_fits_and_passes_axe(open_tab: Callable[..., Visitor], theme: str, width: int) -> None:
    visitor = open_tab(theme=theme, width=width)
    page = visitor.page
    page.get_by_text("Your own row or file").click()
    page.get_by_label("Second router", exact=True).select_option("entropy")
    page.get_by_role("button", name="Roll out both branches").click()
    expect(page.locator(".cl-conclusion")).to_be_visible(timeout=10_000)
    page.locator(".cl-charts").scroll_into_view_if_needed()
    expect(page.locator(".cl-plot[data-drawn]")).to_have_count(4, timeout=15_000)
    for summary in page.locator(".cl-details summary").all():
        summary.click()
    for cell in (None, "waste"):
        if cell:
            page.locator(f"[data-cell={cell}]").click()
        page.wait_for_timeout(400)
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
        found = Axe().run(page).response["violations"]
        grave = [v for v in found if v["impact"] in ("serious", "critical")]
        grave = [(v["id"], node["html"][:160]) for v in grave for node in v["nodes"]]
        assert grave == []
