"""500 hostile texts as tokens, candidates and question: shown literally wherever the page shows text."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Page, expect

from tests.hostile import N_STRINGS, hostile_strings
from tests.sampling import few_or_all
from tests.traces import trace_of_texts
from tests.ui.visitor import Visitor

pytestmark = pytest.mark.ui
Visit = Callable[..., Visitor]
QUESTION = "<img src=x onerror=window.hacked=6> ${window.hacked=7} {{value}} \u202eabc"
# For each token: is its element's text the token? Of every so many: do tooltip and inspector show `visibleText` of it?
LOOK = """async ([texts, every]) => {
  const { visibleText } = await import(new URL(TEXT_MODULE, document.baseURI).href);
  const viewer = window.citer.viewer, wrong = [];
  const nodes = [...document.querySelectorAll(".citer-viewer .cv-t")];
  for (let i = 0; i < texts.length; i++) {
    const shown = visibleText(texts[i]);
    if (nodes[i].textContent !== texts[i]) wrong.push(["text", i, nodes[i].textContent]);
    if (i % every) continue;
    nodes[i].dispatchEvent(new PointerEvent("pointerover", { bubbles: true, pointerType: "mouse" }));
    const title = document.querySelector(".cv-tooltip-title").textContent;
    if (!title.startsWith(shown)) wrong.push(["tooltip", i, title]);
    viewer.pin(i);
    viewer.flush();
    const quote = document.querySelector(".cv-quote").textContent;
    if (quote !== shown) wrong.push(["inspector", i, quote]);
    const candidate = document.querySelector(".cv-candidates .cv-code").textContent;
    if (candidate !== shown) wrong.push(["candidate", i, candidate]);
    if (!nodes[i].getAttribute("aria-label").startsWith(shown)) wrong.push(["label", i]);
  }
  return wrong;
}"""


def nothing_ran(page: Page) -> None:
    """No text became an element or code."""
    assert page.evaluate("window.hacked === undefined")
    inside = ":is(.citer-viewer, #cx-learn, #cx-controls) :is(script, img, b, iframe)"
    assert page.locator(inside).count() == 0


@pytest.mark.parametrize("every", few_or_all(25, 1))
def test_five_hundred_texts_are_shown_literally_everywhere(visit: Visit, tmp_path: Path, every: int) -> None:
    texts = hostile_strings()
    assert len(set(texts)) == N_STRINGS == 500
    trace = trace_of_texts(texts, QUESTION)
    kept = tmp_path / "hostile.json"
    kept.write_text(trace.to_json(), encoding="utf-8")
    visitor = visit()
    page = visitor.page
    page.set_input_files("#cx-import-file", str(kept))
    expect(visitor.tokens).to_have_count(N_STRINGS, timeout=20_000)
    assert page.locator(".cv-question").text_content() == QUESTION
    module = page.evaluate("document.querySelector('link[rel=icon]').href").replace("app/favicon.svg", "viewer/text.js")
    page.set_default_timeout(90_000)
    assert page.evaluate(LOOK.replace("TEXT_MODULE", json.dumps(module)), [texts, every]) == []
    nothing_ran(page)

    document = json.loads(visitor.saved("Trace (JSON)"))
    assert [event["text"] for event in document["events"]] == texts
    table = io.StringIO(visitor.saved("Table (CSV)").decode(), newline="")
    assert [json.loads(row["text"]) for row in csv.DictReader(table)] == texts
    words = "".join(ElementTree.fromstring(visitor.saved("Picture (SVG)")).itertext())
    assert "<script>window.hacked=1</script>" in words and "⟨NUL⟩" in words and "⟨RLO⟩" in words
    assert visitor.saved("Picture (PNG)").startswith(b"\x89PNG")
