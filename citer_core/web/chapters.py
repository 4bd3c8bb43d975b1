"""`Chapters`: the project's Markdown files as plain pages, which can be read without a network.

HTML in the Markdown is shown as text, so a chapter can bring no script. Addresses keep the folders that the files have,
so a link from one chapter to another works here as it does in the repository. Called by the page; knows no gradio.
"""

from __future__ import annotations

import functools
import html
import re
from collections.abc import Sequence
from pathlib import Path

from markdown_it import MarkdownIt
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

ROOT = "citer/read"
_MARK = re.compile(r"^<!-- .* -->$\n?", re.MULTILINE)  # where a table begins and ends, for the tests
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title} - CITER</title><style>
:root {{ color-scheme: light dark; }}
body {{ max-width: 52rem; margin: 2rem auto; padding: 0 1.25rem; font: 1rem/1.6 ui-sans-serif, system-ui, sans-serif; }}
pre, .table {{ overflow-x: auto; }}
pre {{ padding: .75rem 1rem; border: 1px solid #8888; border-radius: .5rem; }}
code {{ font-size: .92em; }}
table {{ border-collapse: collapse; font-size: .92em; }}
th, td {{ padding: .3rem .75rem .3rem 0; border-bottom: 1px solid #8888; text-align: start; vertical-align: top; }}
</style></head><body><nav><a href="{up}">Back to the page</a></nav><main>{body}</main></body></html>
"""


class Chapters:
    """Markdown files that browsers may read, and no others.

    Args:
        folder: in which all of them are.
        files: Markdown, or other texts that they link to.
    """

    def __init__(self, folder: Path, files: Sequence[Path]) -> None:
        self._files = {file.relative_to(folder).as_posix(): file for file in files}

    def links(self) -> list[tuple[str, str]]:
        """The address, relative to the page, and the title of each chapter."""
        return [(f"{ROOT}/{name}", _title(_read(file))) for name, file in self._files.items() if file.suffix == ".md"]

    def route(self) -> Route:
        """Answers for all of them."""
        return Route(f"/{ROOT}/{{name:path}}", self._answer)

    def _answer(self, request: Request) -> Response:
        name = request.path_params["name"]
        file = self._files.get(name)
        if file is None:
            return PlainTextResponse("There is no such chapter.", 404)
        text = _read(file)
        if file.suffix != ".md":
            return PlainTextResponse(text)
        up = "../" * (ROOT.count("/") + 1 + name.count("/"))
        return HTMLResponse(_PAGE.format(title=html.escape(_title(text)), up=up, body=_body(text)))


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def _title(text: str) -> str:
    found = _TITLE.search(text)
    assert found is not None, "a chapter begins with its title"
    return found[1]


@functools.cache
def _body(text: str) -> str:
    """HTML of one chapter; its tables are boxes that scroll, as one line of them may be wider than a phone."""
    rendered = str(MarkdownIt("commonmark", {"html": False}).enable("table").render(_MARK.sub("", text)))
    opened = '<div class="table" tabindex="0" role="region" aria-label="Table"><table>'
    return rendered.replace("<table>", opened).replace("</table>", "</table></div>")
