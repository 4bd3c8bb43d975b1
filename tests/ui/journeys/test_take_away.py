"""Taking a run away and bringing it back: files, pictures, a page of one file, links, paper."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree

import pytest
from playwright.sync_api import expect

from citer_core.trace import RoutingTrace
from tests.traces import opening_run, recorded
from tests.ui.conftest import on_one_host
from tests.ui.visitor import Visitor, type_over

pytestmark = pytest.mark.ui
Enter = Callable[..., Visitor]
# A run and all that a person did to it, as a link must bring it back.
BOOK = """(() => { const { book } = window.citer.viewer.branching;
  return { shown: book.shownId, entries: book.entries.map(({ key, name, parentId, fork, trace }) =>
    ({ key, name, parentId, fork, tau: trace.settings.threshold, isForced: trace.events[fork].forced ?? false })) };
})()"""
SETTLED = "(n) => window.citer.viewer.branching.book.entries.length === n && !window.citer.link.forks.job"


@on_one_host("static")
def test_files_pictures_and_back(enter: Enter, tmp_path: Path) -> None:
    visitor = enter()
    page, run = visitor.page, opening_run()
    visitor.ready()
    first = visitor.saved("Trace (JSON)")
    trace = RoutingTrace.from_json(first.decode())
    assert trace.key == run.key and visitor.text() == trace.completion
    assert len(visitor.saved("Table (CSV)").decode().splitlines()) == 1 + trace.n_tokens
    words = "".join(ElementTree.fromstring(visitor.saved("Picture (SVG)")).itertext())
    share = f"{run.n_llm_tokens / run.n_tokens:.1%} by the LLM"
    assert "cakes" in words and "LLM only" in words and share in words
    png = visitor.saved("Picture (PNG)")
    width, height = struct.unpack(">II", png[16:24])
    assert png.startswith(b"\x89PNG") and width == 2000 and height > 800

    a_run_is_printed_in_the_colours_of_paper(visitor)

    # A file comes back to the byte; one that is no trace is refused, and the run stays.
    kept = tmp_path / "kept.json"
    chip = page.locator(".cv-mode")
    expect(chip).to_have_text("Recorded")
    page.locator('.cx-preset[data-file="capital.json"]').click()
    expect(visitor.tokens).to_have_count(recorded("capital").n_tokens)
    kept.write_bytes(first)
    page.set_input_files("#cx-import-file", str(kept))
    expect(chip).to_have_text("Imported")
    assert visitor.saved("Trace (JSON)") == first
    kept.write_text('{"schema": "citer-trace", "schema_version": 1, "pair": 3}', encoding="utf-8")
    page.set_input_files("#cx-import-file", str(kept))
    expect(page.locator(".cx-export-said")).to_contain_text("pair is 3")
    assert visitor.text() == trace.completion

    # Each entry of the strip says where it comes from: the imported run, and its branch.
    page.evaluate("window.citer.viewer.goTo(3)")
    page.keyboard.press("f")
    expect(page.locator(".cv-branch")).to_have_count(2, timeout=20_000)
    visitor.wait_idle()
    expect(chip).to_have_text("Live")
    page.get_by_role("button", name="Original").first.click()
    expect(chip).to_have_text("Imported")


@on_one_host("static")
def test_a_link_brings_back_the_run_its_branches_and_how_it_was_looked_at(enter: Enter) -> None:
    one = enter(computes="browser")  # a server writes no branches of links
    left = one.page
    one.ready()
    for index, n in ((3, 2), (5, 3)):
        left.evaluate("(index) => window.citer.viewer.goTo(index)", index)
        left.keyboard.press("f")
        left.wait_for_function(SETTLED, arg=n, timeout=20_000)
        one.wait_idle()
    left.get_by_role("button", name="Branch 1").first.click()
    one.set_tau(0.4)
    expect(left.locator(".cv-notice")).to_contain_text("0.40")
    left.get_by_role("button", name="Branch 1").first.click()
    left.locator(".cv-key-button", has_text="LLM").click()
    left.get_by_label("certainty").check()
    left.locator("#cx-settings summary").click()
    type_over(left.get_by_label("Memory bandwidth"), "935.5")
    left.locator("#cx-price select").select_option("Llama-3.1-8B / 70B")
    expect(left.locator(".citer-look", has_text="Priced as Llama").first).to_be_visible()
    one.tokens.nth(7).click()
    book = left.evaluate(BOOK)
    assert book["shown"] == 1 and [entry["isForced"] for entry in book["entries"]][:3] == [False, True, True]
    link = left.evaluate("window.citer.link.address()")
    asked = parse_qs(urlsplit(link).query)
    assert {key: asked[key] for key in ("show", "cert", "bw")} == {"show": ["llm"], "cert": ["1"], "bw": ["935.5"]}
    assert "70B" in asked["as"][0] and "fl" not in asked and asked["tok"] == ["8"] and asked["on"] == ["1"]

    visitor = enter(url=link, computes="browser")
    other = visitor.page
    visitor.ready()
    other.wait_for_function(SETTLED, arg=len(book["entries"]), timeout=20_000)
    assert other.evaluate(BOOK) == book
    expect(other.locator(".cv-t[data-pinned]")).to_have_attribute("data-i", "7")
    expect(other.locator("[data-filter=llm].cv-certainty")).to_be_visible()
    expect(other.locator(".citer-look", has_text="Priced as Llama").first).to_be_visible()
    other.locator("#cx-settings summary").click()
    expect(other.get_by_label("Memory bandwidth")).to_have_value("935.5")
    expect(other.locator("#cx-price select")).to_have_value(asked["as"][0])
    assert other.evaluate("window.citer.link.address()") == link
    assert other.locator("#cx-notice").inner_text() == ""


@on_one_host("static")
def test_a_link_with_a_problem_asks_it_and_a_bad_link_is_answered_calmly(
    enter: Enter, host: str, is_served: bool
) -> None:
    query = "?type=mc&q=Is+it+%3Cb%3E%7B%7Bone%7D%7D%3F%0AA.+one%0AB.+two"
    query += "&router=max-probability&at=0.5&n=40&temp=0.3&top_p=0.9&seed=7&tau=0.25&tok=3&show=slm"
    visitor = enter(url=host + query)
    page = visitor.page
    expect(page.locator("#cx-type input:checked")).to_have_value("mc")
    # It is written as soon as the models are here, and no other run is shown in its place.
    visitor.ready()
    expect(page.locator(".cv-t[data-pinned]")).to_have_attribute("data-i", "2", timeout=20_000)
    visitor.wait_idle()
    assert page.evaluate("window.citer.recorded.wanted") is None
    expect(page.locator("#cx-notice")).to_be_empty()
    run = visitor.shown()
    assert run.prompt.question == "Is it <b>{{one}}?\nA. one\nB. two" and run.router.name == "max-probability"
    settings = page.evaluate("window.citer.viewer.trace().settings")
    assert {key: settings[key] for key in ("max_new_tokens", "temperature", "top_p", "seed")} == {
        "max_new_tokens": 40, "temperature": 0.3, "top_p": 0.9, "seed": 7,
    }  # fmt: skip
    expect(page.locator("#cx-tau input[type=number]")).to_have_value("0.25")
    page.goto(f"{host}?preset=nobody&tau=9&show=both&bw=-1")
    notice = page.locator("#cx-notice")
    for words in ("not here", "τ is 9; it must be a number from 0 to 1.", "bw is -1; it must be a number above 0"):
        expect(notice).to_contain_text(words)
    expect(visitor.tokens.first).to_be_visible()
    page.goto(f"{host}?preset=bakery&br=0_4000_llm")
    unwritten = "1 branch of its run too. Only the bundled pair, in this browser, writes"
    far = "a branch from token 4000, which its run does not have"
    expect(notice).to_contain_text(unwritten if is_served else far, timeout=20_000)


def a_run_is_printed_in_the_colours_of_paper(visitor: Visitor) -> None:
    page = visitor.page
    if visitor.context.browser.browser_type.name == "firefox":
        return  # it does not show what it would print
    visitor.tokens.nth(5).click()
    sheet = page.pdf(format="A4", margin=dict.fromkeys(("top", "bottom", "left", "right"), "12mm"))
    assert len(re.findall(rb"/Type /Page\b", sheet)) == 1
    page.emulate_media(media="print")
    expect(page.locator(".cv-text")).to_be_visible()
    for hidden in ("#cx-presets", "#cx-controls", "#cx-tau", ".cx-views"):
        expect(page.locator(hidden).first).to_be_hidden()
    lines = page.locator(".cv-t").evaluate_all(
        "nodes => nodes.map(node => [node.classList.contains('cv-llm'), "
        "getComputedStyle(node).textDecorationLine === 'underline'])"
    )
    assert all(is_llm == is_marked for is_llm, is_marked in lines) and any(is_llm for is_llm, _ in lines)
    page.emulate_media(media="null")
    page.keyboard.press("Escape")
