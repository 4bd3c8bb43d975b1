"""Taking a run away and bringing it back: links, files, pictures, one-file pages."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Browser, Page, expect

from citer_core.assets import ASSETS
from citer_core.cli.main import main
from citer_core.recording import read_index
from citer_core.trace import RoutingTrace
from tests.hostile import hostile_strings
from tests.traces import opening_run, recorded, trace_of_texts
from tests.ui.axe import grave
from tests.ui.conftest import Served, Visitor

pytestmark = pytest.mark.ui
Visit = Callable[..., Visitor]
STATE = """(() => { const page = window.citer, trace = page.viewer.trace();
  return { preset: page.preset, pinned: page.pinned ?? null,
           tau: document.querySelector('#cx-tau input[type=range]').value,
           settings: trace.settings, router: trace.router.name, question: trace.prompt.question }; })()"""


@pytest.fixture(autouse=True)
def _patience() -> Iterator[None]:
    expect.set_options(timeout=20_000)
    yield
    expect.set_options(timeout=5_000)


def saved(page: Page, name: str) -> Path:
    """What a button of the row under the viewer hands out."""
    with page.expect_download(timeout=20_000) as waiting:
        page.get_by_role("button", name=name).click()
    return Path(waiting.value.path())


def open_trace(visitor: Visitor, path: Path) -> None:
    """Opens a file as a person does."""
    visitor.page.set_input_files("#cx-import-file", str(path))


def test_a_link_to_a_recorded_run_restores_it_in_a_fresh_profile(visit: Visit) -> None:
    one = visit()
    one.page.locator(".cx-preset").nth(3).click()
    run = recorded("capital")
    expect(one.tokens).to_have_count(run.n_tokens)
    question = one.page.evaluate(STATE)["question"]
    slider = one.page.locator("#cx-tau input[type=range]")
    for _ in range(5):
        slider.press("ArrowLeft")
    one.tokens.nth(7).click()
    link = one.page.evaluate("window.citer.link.address()")
    assert "preset=capital" in link and "tok=8" in link
    left = one.page.evaluate(STATE)
    other = visit(url=link)
    expect(other.page.locator(".cv-t[data-pinned]")).to_have_attribute("data-i", "7")
    expect(other.page.locator("#cx-prompt textarea")).to_have_value(question)
    assert other.page.evaluate(STATE) == left
    expect(other.page.locator(".cv-notice")).to_contain_text(f"At τ {run.settings.threshold - 0.05:.2f}")


def test_a_link_to_a_live_run_restores_problem_settings_tau_and_token(visit: Visit, served: Served) -> None:
    query = "?type=mc&q=Is+it+%3Cb%3E%7B%7Bone%7D%7D%3F%0AA.+one%0AB.+two"
    query += "&router=max-probability&at=0.5&n=40&temp=0.3&top_p=0.9&seed=7"
    visitor = visit(url=f"{served.url}{query}&tau=0.25&tok=3&show=slm")
    expect(visitor.page.locator("#cx-type input:checked")).to_have_value("mc")
    # It is written as soon as the models are here, and no other run is shown in its place.
    expect(visitor.page.locator(".cv-t[data-pinned]")).to_have_attribute("data-i", "2")
    assert visitor.page.evaluate("window.citer.recorded.wanted") is None
    expect(visitor.page.locator("#cx-notice")).to_be_empty()
    state = visitor.page.evaluate(STATE)
    expect(visitor.page.locator(".cv-key-button[aria-pressed=true]")).to_contain_text("SLM")
    assert state["question"] == "Is it <b>{{one}}?\nA. one\nB. two"
    assert state["router"] == "max-probability" and state["tau"] == "0.25"
    assert state["settings"] == {"threshold": 0.5, "max_new_tokens": 40, "temperature": 0.3, "top_p": 0.9, "seed": 7}
    # The link of this run is the link that it came from.
    again = visitor.page.evaluate("window.citer.link.address()")
    assert again == f"{served.url}{query}&tau=0.25&tok=3&show=slm"


def type_bandwidth(page: Page, rate: str) -> None:
    """Types as a person does, who is slower: what is typed in the frame that a panel is drawn in, gradio draws over."""
    field = page.get_by_label("Memory bandwidth")
    for _ in range(10):
        field.fill(rate)
        page.wait_for_timeout(300)
        if field.input_value() == rate:
            return
    pytest.fail(f"the field does not keep {rate}: it holds {field.input_value()}")


def test_a_link_keeps_whose_tokens_stand_out_certainty_and_price(visit: Visit) -> None:
    left = visit().page
    left.locator(".cv-key-button", has_text="LLM").click()
    left.get_by_label("certainty").check()
    left.locator("#cx-settings summary").click()
    type_bandwidth(left, "935.5")
    left.locator("#cx-price select").select_option("Llama-3.1-8B / 70B")
    expect(left.locator(".citer-look", has_text="Priced as Llama").first).to_be_visible()
    link = left.evaluate("window.citer.link.address()")
    asked = parse_qs(urlsplit(link).query)
    assert {key: asked[key] for key in ("show", "cert", "bw")} == {"show": ["llm"], "cert": ["1"], "bw": ["935.5"]}
    assert "70B" in asked["as"][0] and "fl" not in asked
    other = visit(url=link).page
    expect(other.locator(".cv-key-button[aria-pressed=true]")).to_contain_text("LLM")
    expect(other.locator("[data-filter=llm].cv-certainty")).to_be_visible()
    expect(other.locator(".citer-look", has_text="Priced as Llama").first).to_be_visible()
    other.locator("#cx-settings summary").click()
    expect(other.get_by_label("Memory bandwidth")).to_have_value("935.5")
    expect(other.locator("#cx-price select")).to_have_value(asked["as"][0])
    assert other.evaluate("window.citer.link.address()") == link
    # A price that is typed goes on from the link's.
    other.get_by_label("Peak compute").fill("100")
    wanted = {"pair": asked["as"][0], "bandwidth": 935.5, "compute": 100}
    other.wait_for_function("(wanted) => JSON.stringify(window.citer.price) === JSON.stringify(wanted)", arg=wanted)


@pytest.mark.parametrize(
    ("view", "wait", "change", "named"),
    [
        ("Labels", ".cl-text .cl-t", "button:has-text('Next risk')", {"labels", "router", "tau", "problem", "tok"}),
        ("Evidence", ".ce-plot[data-drawn]", "button[data-name=mc]", {"pair", "kind", "axis", "curves"}),
        ("Learn", ".cx-guess", ".cx-guess", {"exercise", "truth"}),
        ("Compare", ".cq-column", ".cq-column", {"problem", "columns", "clock"}),
    ],
)
def test_a_link_opens_the_view_that_it_was_copied_of(
    visit: Visit, view: str, wait: str, change: str, named: set[str]
) -> None:
    one = visit()
    one.open_view(view)
    one.page.locator(wait).first.wait_for()
    one.page.locator(change).first.click()
    one.page.wait_for_timeout(300)
    one.page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('no')); }")
    one.page.locator("#cx-copy-link").click()
    said = one.page.locator("#cx-link-said")
    expect(said).to_contain_text("Copy this link: ")
    link = said.inner_text().removeprefix("Copy this link: ")
    assert set(parse_qs(urlsplit(link).query)) == {"view", *named}
    one.page.goto(link)
    one.page.locator(wait).first.wait_for()
    one.page.wait_for_function("(link) => window.citer.views.address() === link", arg=link, timeout=20_000)


def test_a_run_is_printed_on_one_page_in_the_colours_of_paper(visit: Visit) -> None:
    page = visit(theme="dark").page
    page.locator(".cv-t").nth(5).click()
    expect(page.locator(".cv-inspector")).to_be_visible()
    sheet = page.pdf(format="A4", margin=dict.fromkeys(("top", "bottom", "left", "right"), "12mm"))
    assert len(re.findall(rb"/Type /Page\b", sheet)) == 1
    expect(page.locator("body")).to_have_class(re.compile("dark"))  # as it was
    page.emulate_media(media="print")
    for shown in (".cv-text", ".cv-figure-share", ".cv-moved-list", ".cv-inspector"):
        expect(page.locator(shown).first).to_be_visible()
    for hidden in ("#cx-presets", "#cx-controls", "#cx-tau", ".cx-views"):
        expect(page.locator(hidden).first).to_be_hidden()
    lines = page.locator(".cv-t").evaluate_all(
        "nodes => nodes.map(node => [node.classList.contains('cv-llm'), "
        "getComputedStyle(node).textDecorationLine === 'underline'])"
    )
    assert all(is_llm == is_marked for is_llm, is_marked in lines) and any(is_llm for is_llm, _ in lines)


def test_a_link_writes_its_branches_again(visit: Visit) -> None:
    book = """(() => { const { book } = window.citer.viewer.branching;
      return { shown: book.shownId, entries: book.entries.map(({ key, name, parentId, fork, trace }) =>
        ({ key, name, parentId, fork, tau: trace.settings.threshold,
           isForced: trace.events[fork].forced ?? false })) }; })()"""
    settled = "(n) => window.citer.viewer.branching.book.entries.length === n && !window.citer.link.forks.job"
    one = visit(computes="browser").page
    for index, n in ((3, 2), (5, 3)):
        one.evaluate("(index) => window.citer.viewer.goTo(index)", index)
        one.keyboard.press("f")
        one.wait_for_function(settled, arg=n, timeout=20_000)
        expect(one.locator("button#cx-generate")).to_be_enabled()
    one.locator("#cx-tau input[type=number]").fill("0.4")
    expect(one.locator(".cv-notice")).to_contain_text("written in this browser")
    one.get_by_role("button", name="Branch 1").first.click()
    one.locator(".cv-t").nth(7).click()
    left = one.evaluate(book)
    assert left["shown"] == 1 and [entry["isForced"] for entry in left["entries"]] == [False, True, True]
    link = one.evaluate("window.citer.link.address()")
    assert "preset=bakery" in link and link.count("br=") == 2 and link.endswith("&on=1")
    other = visit(url=link, computes="browser").page
    other.wait_for_function(settled, arg=3, timeout=20_000)
    assert other.evaluate(book) == left
    expect(other.locator(".cv-t[data-pinned]")).to_have_attribute("data-i", "7")
    assert other.evaluate("window.citer.link.address()") == link
    assert other.locator("#cx-notice").inner_text() == ""


def test_branches_that_cannot_be_written_here_are_said(visit: Visit, served: Served) -> None:
    n_runs = len(served.engine.runs)
    page = visit(url=f"{served.url}?preset=bakery&br=0_3_llm&br=1_5_slm&on=0&tok=4").page
    expect(page.locator("#cx-notice")).to_contain_text(
        "This link holds 2 branches of its run too. Only the bundled pair"
    )
    expect(page.locator(".cv-t[data-pinned]")).to_have_attribute("data-i", "3")
    assert len(served.engine.runs) == n_runs


def test_a_branch_from_behind_the_end_of_its_run_is_left_out(visit: Visit, served: Served) -> None:
    far = visit(url=f"{served.url}?preset=bakery&br=0_4000_llm", computes="browser").page
    expect(far.locator("#cx-notice")).to_contain_text("a branch from token 4000, which its run does not have")


def test_copy_link_says_so_and_a_bad_link_is_answered_calmly(visit: Visit, served: Served) -> None:
    visitor = visit(url=f"{served.url}?preset=nobody&tau=9&show=both&bw=-1")
    expect(visitor.page.locator("#cx-notice")).to_contain_text("not here")
    expect(visitor.page.locator("#cx-notice")).to_contain_text("τ is 9; it must be a number from 0 to 1.")
    expect(visitor.page.locator("#cx-notice")).to_contain_text(
        'show is "both"; it must be "slm" or "llm" or "decisive".'
    )
    expect(visitor.page.locator("#cx-notice")).to_contain_text("bw is -1; it must be a number above 0")
    expect(visitor.tokens.first).to_be_visible()
    visitor.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visitor.page.locator("#cx-copy-link").click()
    expect(visitor.page.locator("#cx-copy-link")).to_have_text("Link copied")
    assert "preset=bakery" in visitor.page.evaluate("navigator.clipboard.readText()")


def test_export_import_export_is_the_same_to_the_byte(visit: Visit, tmp_path: Path) -> None:
    visitor = visit()
    first = saved(visitor.page, "Trace (JSON)").read_bytes()
    trace = RoutingTrace.from_json(first.decode())
    kept = tmp_path / "kept.json"
    kept.write_bytes(first)
    visitor.page.locator(".cx-preset").nth(4).click()
    expect(visitor.tokens).not_to_have_count(trace.n_tokens)
    open_trace(visitor, kept)
    expect(visitor.page.locator(".cv-mode")).to_have_text("Imported")
    assert saved(visitor.page, "Trace (JSON)").read_bytes() == first
    assert visitor.text() == trace.completion


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ('{"a": 1}', "not a CITER trace"),
        ('{"schema": "citer-trace", "schema_version": 9}', "schema version 9"),
        ('{"schema": "citer-trace", "schema_version": 1, "pair": 3}', "pair is 3"),
    ],
)
def test_a_file_that_is_no_trace_is_refused_and_the_run_stays(
    visit: Visit, tmp_path: Path, text: str, message: str
) -> None:
    visitor = visit()
    before = visitor.text()
    path = tmp_path / "bad.json"
    path.write_text(text)
    open_trace(visitor, path)
    expect(visitor.page.locator(".cx-export-said")).to_contain_text(message)
    assert visitor.text() == before


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pictures_hold_text_and_chart(visit: Visit, theme: str) -> None:
    visitor = visit(theme=theme)
    tree = ElementTree.parse(saved(visitor.page, "Picture (SVG)"))
    words = "".join(tree.getroot().itertext())
    run = opening_run()
    share = f"{run.n_llm_tokens / run.n_tokens:.1%} by the LLM"
    assert "cakes" in words and "LLM only" in words and share in words
    png = saved(visitor.page, "Picture (PNG)").read_bytes()
    width, height = struct.unpack(">II", png[16:24])
    assert png.startswith(b"\x89PNG") and width == 2000 and height > 800


class Opened:
    """A file opened from the disk, with everything that the browser asked for or complained about."""

    def __init__(self, browser: Browser, path: Path, **how: Any) -> None:
        self.context = browser.new_context(**how)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda m: self.complaints.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.url = path.resolve().as_uri()
        self.page.goto(self.url)
        expect(self.page.locator(".cv-t").first).to_be_visible()


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_a_page_of_one_file_works_from_the_disk(
    visit: Visit, browser: Browser, tmp_path: Path, theme: str, width: int
) -> None:
    visitor = visit()
    kept = tmp_path / "run.html"
    kept.write_bytes(saved(visitor.page, "Page (HTML)").read_bytes())
    run = opening_run()
    opened = Opened(browser, kept, color_scheme=theme, viewport={"width": width, "height": 900}, offline=True)
    page = opened.page
    assert page.evaluate("window.citerOffline.events.map((event) => event.text).join('')") == visitor.text()
    page.locator("#co-tau").press("ArrowLeft")
    expect(page.locator(".cv-notice")).to_contain_text(f"At τ {run.settings.threshold - 0.01:.2f}")
    page.locator(".cv-t").nth(3).click()
    expect(page.locator(".cv-inspector")).to_contain_text(f"Token 4 of {run.n_tokens} · pinned")
    page.locator(".cv-text").press("]")
    expect(page.locator(".cv-inspector")).to_contain_text("LLM candidates")
    root = "document.documentElement"
    assert page.evaluate(f"{root}.scrollWidth - {root}.clientWidth") == 0
    assert grave(page) == []
    assert RoutingTrace.from_json(saved(page, "Trace (JSON)").read_text(encoding="utf-8")).completion == visitor.text()
    ElementTree.parse(saved(page, "Picture (SVG)"))
    assert opened.complaints == []
    assert [url for url in opened.requests if not url.startswith("blob:")] == [opened.url]
    opened.context.close()


def test_a_page_of_one_file_opens_as_it_was_left(visit: Visit, browser: Browser, tmp_path: Path) -> None:
    visitor = visit()
    page = visitor.page
    expect(page.locator("#cx-device")).to_have_attribute("data-state", "ready", timeout=20_000)
    visitor.ask("What is kept?")
    visitor.wait_live()
    visitor.wait_idle()
    page.evaluate("window.citer.viewer.goTo(3)")
    page.keyboard.press("f")
    expect(page.locator(".cv-branch")).to_have_count(2)
    visitor.wait_idle()
    page.evaluate("window.citer.setPricing('Qwen2-1.5B / 72B', 1000, 989)")
    page.locator(".cv-key-button", has_text="LLM").click()
    page.get_by_label("certainty").check()
    page.locator("#cx-tau input[type=number]").fill("0.25")
    page.evaluate("window.citer.viewer.pin(5)")
    shown = page.evaluate("JSON.stringify(window.citer.viewer.trace())")
    original = page.evaluate("window.citer.viewer.branching.book.entries[0].trace.events.map((e) => e.text).join('')")
    kept = tmp_path / "kept.html"
    kept.write_bytes(saved(page, "Page (HTML)").read_bytes())
    opened = Opened(browser, kept, offline=True)
    again = opened.page
    assert again.evaluate("JSON.stringify(window.citerOffline.trace())") == shown
    expect(again.locator(".co-tau-value")).to_have_text("0.25")
    expect(again.locator(".cv-notice")).to_contain_text("At τ 0.25")
    expect(again.locator("[data-filter=llm].cv-certainty")).to_be_visible()
    expect(again.locator(".cv-t[data-pinned]")).to_have_attribute("data-i", "5")
    expect(again.locator(".citer-look", has_text="Priced as Qwen2-1.5B / 72B").first).to_be_visible()
    assert again.evaluate("window.citerOffline.pricing.device.bandwidth") == 1e12
    expect(again.locator(".cv-branch")).to_have_count(2)
    assert grave(again) == []
    again.get_by_role("button", name="Original").first.click()
    assert again.evaluate("window.citerOffline.events.map((event) => event.text).join('')") == original
    expect(again.locator(".cv-branch")).to_have_count(2)
    assert opened.complaints == []

    # What somebody has spoiled is left out, and the run shown.
    text = kept.read_text(encoding="utf-8")
    assert text.count('"token":5') == 1
    kept.write_text(text.replace('"token":5', '"token":-5'), encoding="utf-8")
    again.goto(opened.url)
    expect(again.get_by_role("alert")).to_contain_text("token is -5; it must be the number of a token, or nothing.")
    expect(again.locator(".cv-t").first).to_be_visible()
    opened.context.close()


def test_the_gallery_opens_from_the_disk(browser: Browser, tmp_path: Path) -> None:
    hostile = tmp_path / "hostile.json"
    trace = trace_of_texts(hostile_strings(60), "<script>window.hacked=1</script>")
    hostile.write_text(trace.to_json(), encoding="utf-8")
    assert main(["gallery", str(tmp_path / "out"), str(hostile)]) == 0
    context = browser.new_context(offline=True)
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    index = (tmp_path / "out" / "index.html").resolve().as_uri()
    page.goto(index)
    assert grave(page) == []
    n_runs = page.get_by_role("link").count()
    assert n_runs == 1 + len(read_index(ASSETS / "traces"))
    for number in range(n_runs):
        page.goto(index)
        page.get_by_role("link").nth(number).click()
        expect(page.locator(".cv-t").first).to_be_visible()
        assert page.evaluate("window.hacked === undefined")
    assert complaints == []
    context.close()
