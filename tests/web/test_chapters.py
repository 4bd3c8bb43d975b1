"""The chapters as pages: all links lead on, nothing in them is code, and no other file is served."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin

import pytest
from starlette.applications import Starlette

from citer_core.assets import ASSETS
from citer_core.ui.page_assets import chapters
from citer_core.web.page_files import Chapters
from tests.web.asgi import Answer, ask


def get(served: Chapters, path: str) -> Answer:
    return ask(Starlette(routes=[served.route()]), path)


class Page(HTMLParser):
    """What a browser would find in a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name == "href"]


def test_every_chapter_is_served_and_its_links_lead_on() -> None:
    files = [path for path, _ in chapters().links()]
    assert len(files) == len(list((ASSETS / "docs").glob("*.md"))) + 2
    for path in files:
        answer = get(chapters(), f"/{path}")
        assert answer.status == 200 and answer.headers["content-type"] == "text/html; charset=utf-8"
        back, *links = Page(answer.body.decode()).links
        assert urljoin(f"http://x/{path}", back) == "http://x/"
        for link in links:
            target = urljoin(f"http://x/{path}", link)
            assert not target.startswith("http://x") or get(chapters(), target.removeprefix("http://x")).status == 200


def test_what_a_chapter_holds_is_shown_and_not_run(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(
        "# A <b>title</b>\n\n<script>alert(1)</script>\n\n<img src=x onerror=alert(1)> [a](javascript:alert(1))\n\n"
        "`{body}` {0}\n",
        encoding="utf-8",
    )
    text = get(Chapters(tmp_path, [tmp_path / "a.md"]), "/citer/read/a.md").body.decode()
    page = Page(text)
    assert not {"script", "img", "b"} & set(page.tags) and page.links == ["../../"]
    assert "&lt;script&gt;alert(1)" in text and "{body}" in text


@pytest.mark.parametrize("name", ["b.md", "../secret.md", "%2e%2e/secret.md", "", "below/c.md"])
def test_no_other_file_is_served(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "docs"
    (folder / "below").mkdir(parents=True)
    for file in (folder / "a.md", folder / "b.md", folder / "below" / "c.md", tmp_path / "secret.md"):
        file.write_text("# A\n", encoding="utf-8")
    served = Chapters(folder, [folder / "a.md"])
    assert get(served, "/citer/read/a.md").status == 200
    assert get(served, f"/citer/read/{name}").status == 404
