"""What the Labels tab is given: nothing before it is opened, pasted rows, files, whole sets, and the end of those."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import expect

from citer_core.evaluation import label_view
from citer_core.tasks.datasets import bundled_rows
from tests.ui.labels import FIRST_PROBLEM, VIEW, matrix, open_own, paste, pick, rows_of, without_charts
from tests.ui.serving import HOSTILE, Served
from tests.ui.visitor import Visitor, wait_until

pytestmark = pytest.mark.ui
# Its solution is short, since nearly every token of it is rolled out; tests/ui/test_hostile_text.py shows long ones.
HOSTILE_ROW = {
    "problem": f"hostile {HOSTILE}",
    "solution": " <img src=x onerror=window.hacked=3> The final answer is $\\boxed{42}$.",
}
MC_ROW = {
    "question": "Which is a fruit?",
    "choices": {"text": ["pear", "stone"], "label": ["A", "B"]},
    "answerKey": "A",
    "cot": "A pear grows on a tree. Therefore, the answer is pear (A).",
}
N_ROWS = 10  # of a set that is read whole

# A quick reading shows its progress for less time than two looks of a test are apart.
SEE_PROGRESS = """() => {
  const bar = document.querySelector("#cx-labels progress");
  window.sawProgress = false;
  new MutationObserver(() => { window.sawProgress ||= !bar.hidden; }).observe(bar, { attributes: true });
}"""


def test_what_the_tab_is_given(
    visit: Callable[..., Visitor], labelled: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One window for all: nothing before it is opened, rows, files, a whole set, and sets that have been left."""
    visitor = visit(url=labelled.url)
    visitor.rest()
    assert not [url for url in visitor.requests if "/labels/" in url or "plotly" in url]
    without_charts(visitor)
    visitor.open_view("Labels")
    expect(visitor.page.locator(".cl-reading h3")).to_have_text("200 math problems", timeout=10_000)
    pick(visitor, FIRST_PROBLEM)
    visitor.open_view("Explore")
    expect(visitor.tokens.first).to_be_visible()  # the live viewer stays what it was
    visitor.open_view("Labels")
    expect(visitor.page.locator(".cl-text .cl-t").first).to_be_visible()
    assert len([url for url in visitor.requests if url.endswith("/ask/labels")]) == 1  # a recorded set makes no request
    assert len([url for url in visitor.requests if "/labelled/" in url]) == 1

    paste(visitor, json.dumps(MC_ROW))
    expect(visitor.page.locator(".cl-reading h3")).to_have_text("pasted row", timeout=10_000)
    expect(visitor.page.locator(".cl-question")).to_contain_text("Which is a fruit?")
    paste(visitor, '{"problem": "1 + 1?"}')
    status = visitor.page.locator("#cx-labels .cl-status")
    expect(status).to_contain_text('add "solution"', timeout=10_000)
    expect(visitor.page.locator(".cl-question")).to_contain_text("Which is a fruit?")  # what was there stays
    paste(visitor, json.dumps(HOSTILE_ROW))
    expect(visitor.page.locator(".cl-question")).to_contain_text("hostile", timeout=60_000)
    expect(status).to_be_hidden()
    shown = visitor.page.locator(".cl-text").evaluate("node => node.textContent")
    assert shown == " " + HOSTILE_ROW["solution"].strip()
    visitor.page.locator(".cl-search").fill("<")
    visitor.page.locator(".cl-pick").first.click()
    with monkeypatch.context() as patch:
        patch.setattr("citer_core.evaluation.branches.MAX_ROLLOUT_TOKENS", 16)  # what is written ends soon
        visitor.page.get_by_role("button", name="Roll out both branches").click()
        expect(visitor.page.locator(".cl-conclusion")).to_be_visible(timeout=60_000)
    assert visitor.page.evaluate("window.hacked") is None
    visitor.page.locator(".cl-search").fill("")

    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    lines = [json.dumps(row.row) for row in (*bundled_rows("math")[:3], *bundled_rows("mc")[:2])]
    good.write_text("\n".join(lines), encoding="utf-8")
    binary, large = tmp_path / "binary.jsonl", tmp_path / "large.jsonl"
    binary.write_bytes(b"\xff\xfe")
    large.write_bytes(b" " * 4_100_000)
    bad.write_text(lines[0] + "\n{}\n", encoding="utf-8")

    def upload(path: Any) -> None:
        with visitor.page.expect_file_chooser() as chooser:
            visitor.page.locator("button#cx-labels-open").click()
        chooser.value.set_files(path)

    upload(binary)
    expect(status).to_have_text("binary.jsonl is not UTF-8: save it with that encoding.")
    upload(large)
    expect(status).to_contain_text("large.jsonl has 4.1 MB; the page takes up to 4 MB")
    upload(bad)
    expect(status).to_contain_text("Row 2: it has neither", timeout=10_000)
    upload(good)
    expect(visitor.page.locator(".cl-reading h3")).to_have_text("good.jsonl", timeout=10_000)
    expect(visitor.page.locator(".cl-place")).to_contain_text("of 5")
    visitor.page.evaluate(SEE_PROGRESS)
    with monkeypatch.context() as patch:
        patch.setattr("citer_core.ui.labels.rows.MAX_ROWS", N_ROWS)  # the recorded set has all of them
        visitor.page.locator("#cx-labels-math").click()
        visitor.page.wait_for_function("() => window.sawProgress", timeout=20_000)
        expect(visitor.page.locator(".cl-reading h3")).to_have_text(f"{N_ROWS} math problems", timeout=60_000)
    assert sum(matrix(visitor).values()) == visitor.page.evaluate(f"{VIEW}.view.analysis.n") > 500
    risks = matrix(visitor)["risk"]
    visitor.page.locator("[data-cell=risk]").click()
    assert len(rows_of(visitor)) == min(risks, 50) > 0  # a page of the table
    selected = visitor.page.evaluate(f"{VIEW}.view.selected")
    token = visitor.page.locator(f'.cl-text .cl-t[data-i="{selected}"]')
    expect(token).to_be_visible()
    expect(token).to_have_class(re.compile(r"\bcl-risk\b"))

    is_ended: list[Callable[[], bool]] = []
    read: list[Any] = []
    label_texts = label_view.label_texts

    def counted(*args: Any, is_cancelled: Callable[[], bool]) -> Any:
        is_ended.append(is_cancelled)
        for text in label_texts(*args, is_cancelled=is_cancelled):
            read.append(text)
            yield text

    monkeypatch.setattr(label_view, "label_texts", counted)
    # A set that is being read ends when its page asks for something else, and when it leaves.
    for leave in (lambda: pick(visitor, "math 3"), visitor.page.close):
        is_ended.clear()
        read.clear()
        open_own(visitor)
        visitor.page.locator("#cx-labels-mc").click()
        expect(visitor.page.locator("#cx-labels progress")).to_be_visible(timeout=10_000)
        wait_until(lambda: is_ended)
        whole = is_ended[0]
        leave()
        wait_until(whole)
        wait_until(lambda: httpx.get(f"{labelled.url}healthz", timeout=30).json()["n_running"] == 0)
        assert len(read) < 200
