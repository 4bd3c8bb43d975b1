"""The files of gradio's that the page asks for at once are those that gradio would ask for, one level after another."""

from __future__ import annotations

import json
import re
from pathlib import Path

import gradio
import pytest
from playwright.sync_api import Browser, Page, Route

from citer_core.ui.gradio_files import LIST, GradioFiles
from tests.ui.conftest import Served

pytestmark = pytest.mark.ui

DRAWN = "() => 'drawn' in document.body.dataset"
# What is in the head because gradio's scripts looked for it and did not find it.
LINKS = """() => [...document.head.querySelectorAll("link")].map((link) => new URL(link.href))
  .filter((url) => url.pathname.includes("/assets/") && !url.pathname.includes("/citer/"))
  .map((url) => url.pathname.split("/").pop())"""
OWN_DATA = re.compile(rb'<script type="application/json" id="cx-gradio-files">.*?</script>')
OWN_SHEET = re.compile(rb'<link rel="preload" as="style" href="citer/gradio-[^>]*>')


def drawn(page: Page, url: str) -> list[str]:
    page.goto(url)
    page.wait_for_function(DRAWN)
    names: list[str] = page.evaluate(LINKS)
    return [name for name in names if not name.startswith("index-")]  # the document's own two


def test_the_list_is_what_gradio_asks_for_itself(browser: Browser, served: Served) -> None:
    """Where it is not, for another gradio or another component: the names in the message belong into the list."""

    def without_ours(route: Route) -> None:
        answer = route.fetch()
        body = OWN_SHEET.sub(b"", OWN_DATA.sub(b"", answer.body()))
        assert len(body) < len(answer.body())
        route.fulfill(response=answer, body=body)

    page = browser.new_page()
    page.route(served.url, without_ours)
    names = drawn(page, served.url)
    page.close()
    assert json.loads(LIST.read_text(encoding="utf-8")) == {"gradio": gradio.__version__, "files": names}


def test_gradio_finds_all_of_them_and_fetches_no_sheet_of_its_own(browser: Browser, served: Served) -> None:
    page = browser.new_page()
    asked = list[str]()
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    files = GradioFiles()
    assert drawn(page, served.url) == [*files.sheets, *files.scripts], "nothing is added to what `early.js` put there"
    assert not {*files.sheets} & {*asked}
    assert [name for name in asked if name.startswith("gradio-")] == [files.url.rpartition("/")[2]]
    # A rule of one of the joined sheets is in force: gradio's blocks have their border.
    assert page.locator("#cx-prompt").evaluate("node => getComputedStyle(node).position") == "relative"
    page.close()


@pytest.mark.parametrize("wrong", [{"gradio": "5.0.0"}, {"files": ["Index-gone.js"]}], ids=["version", "file"])
def test_with_another_gradio_it_fetches_its_own(tmp_path: Path, wrong: dict[str, object]) -> None:
    listed = tmp_path / "list.json"
    listed.write_text(json.dumps({**json.loads(LIST.read_text(encoding="utf-8")), **wrong}), encoding="utf-8")
    files = GradioFiles(listed)
    assert files.scripts == files.sheets == []
