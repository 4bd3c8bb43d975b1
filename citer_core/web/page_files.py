"""What is served beside gradio: the page's document and files, scripts that are made here, the project's Markdown files
as plain pages, and `/healthz`.

Addresses are relative to the document, so that they work under a proxy's path, and without a path of this machine. What
is in a file or a script is in its address: a browser may keep it for ever, every replica has the same, and no module
meets an older one. Called by the page; knows no gradio.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import html
import re
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from markdown_it import MarkdownIt
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

import citer_core
from citer_core.html_page import html_page
from citer_core.system_memory import resident_bytes
from citer_core.web.security_headers import POLICY

FOR_EVER = "public, max-age=31536000, immutable"
ROOT = "citer/assets"
TYPES = {
    ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".json": "application/json",
    ".md": "text/markdown", ".png": "image/png", ".jsonl": "application/jsonl",
    ".safetensors": "application/octet-stream",
}  # fmt: skip


class PageFiles:
    """Files that browsers may have, and no others: what is not there when it is made is not served.

    Args:
        places: a folder, all of whose files are served, or a single file; each by the name that it has in addresses.
            Folders below are not served.
    """

    def __init__(self, places: Mapping[str, Path]) -> None:
        self._files: dict[str, Path] = {}
        self._names: dict[Path, str] = {}
        for place, path in places.items():
            found = sorted(path.iterdir()) if path.is_dir() else [path]
            for file in found:
                if file.suffix in TYPES and file.is_file():
                    name = f"{place}/{file.name}"
                    self._files[name] = file
                    self._names[file.resolve()] = name
        self._version = self._hash()

    def _hash(self) -> str:
        # These files are not forged, so a checksum tells one state from another; it costs a tenth of SHA-256 of 8 MB.
        digest = hashlib.sha256()
        for name, file in self._files.items():
            content = file.read_bytes()
            digest.update(f"{name}\0{len(content)}\0{zlib.crc32(content)}\0".encode())
        return digest.hexdigest()[:12]

    @property
    def root(self) -> str:
        """The address, relative to the page, that all of them begin with."""
        return f"{ROOT}/{self._version}"

    def url(self, file: Path) -> str:
        """The address of a file, relative to the page.

        Raises:
            KeyError: it is not served.
        """
        return f"{self.root}/{quote(self._names[file.resolve()])}"

    def route(self) -> Route:
        """Answers for all of them."""
        return Route(f"/{ROOT}/{{version}}/{{name:path}}", self._answer)

    async def _answer(self, request: Request) -> Response:
        file = self._files.get(request.path_params["name"])
        if file is None:
            return PlainTextResponse("There is no such file.", 404)
        # An address of an older version is a page from before an update: it gets the new file, but does not keep it.
        is_current = request.path_params["version"] == self._version
        headers = {"Cache-Control": FOR_EVER if is_current else "no-store"}
        return FileResponse(file, media_type=TYPES[file.suffix], headers=headers)


class NamedText:
    """One of them; a browser may keep it for ever, and never has an old one.

    Args:
        stem: of its name.
        text: JavaScript.
        policy: of the answer, where it is a worker's.
    """

    def __init__(self, stem: str, text: str, *, policy: str = "") -> None:
        self.name = f"{stem}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.js"
        self.url = f"citer/{self.name}"
        self.text = text
        self._headers = {"Cache-Control": FOR_EVER, **({POLICY: policy} if policy else {})}

    def route(self) -> Route:
        """Answers for its address."""

        async def answer(_: Request) -> Response:
            return Response(self.text, media_type="text/javascript", headers=self._headers)

        return Route(f"/{self.url}", answer)


def page_route(body: bytes, policy: str, frame_ancestors: Sequence[str]) -> Route:
    """Answers for `/`.

    Args:
        body: HTML.
        policy: Content-Security-Policy.
        frame_ancestors: who may show it in a frame.
    """
    policy = f"{policy}; frame-ancestors {' '.join(frame_ancestors)}"
    compressed = gzip.compress(body, 6, mtime=0)

    async def answer(request: Request) -> Response:
        headers = {POLICY: policy, "Vary": "Accept-Encoding"}
        if "gzip" in request.headers.get("accept-encoding", ""):
            return Response(compressed, media_type="text/html", headers={**headers, "Content-Encoding": "gzip"})
        return Response(body, media_type="text/html", headers=headers)

    return Route("/", answer, methods=["GET", "HEAD"])


READ_ROOT = "citer/read"
_MARK = re.compile(r"^<!-- .* -->$\n?", re.MULTILINE)  # where a table begins and ends, for the tests
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
_STYLE = """<style>
:root { color-scheme: light dark; }
body { max-width: 52rem; margin: 2rem auto; padding: 0 1.25rem; font: 1rem/1.6 ui-sans-serif, system-ui, sans-serif; }
pre, .table { overflow-x: auto; }
pre { padding: .75rem 1rem; border: 1px solid #8888; border-radius: .5rem; }
code { font-size: .92em; }
table { border-collapse: collapse; font-size: .92em; }
th, td { padding: .3rem .75rem .3rem 0; border-bottom: 1px solid #8888; text-align: start; vertical-align: top; }
</style>"""


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
        chapters = [(name, file) for name, file in self._files.items() if file.suffix == ".md"]
        return [(f"{READ_ROOT}/{name}", _title(_read(file))) for name, file in chapters]

    def route(self) -> Route:
        """Answers for all of them."""
        return Route(f"/{READ_ROOT}/{{name:path}}", self._answer)

    def _answer(self, request: Request) -> Response:
        name = request.path_params["name"]
        file = self._files.get(name)
        if file is None:
            return PlainTextResponse("There is no such chapter.", 404)
        text = _read(file)
        if file.suffix != ".md":
            return PlainTextResponse(text)
        up = "../" * (READ_ROOT.count("/") + 1 + name.count("/"))
        body = f'<nav><a href="{up}">Back to the page</a></nav><main>{_body(text)}</main>'
        return HTMLResponse(html_page(f"{html.escape(_title(text))} - CITER", _STYLE, body))


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


HEALTH_PATH = "/healthz"
STATES: Mapping[str, str] = {"ready": "ready", "loading": "loading"}


@dataclass(eq=False, slots=True)
class Health:
    """What the process says of itself.

    Attributes:
        engine: the engine's status; `state` is `loading`, `ready` or anything else, `pair` its title where it has one.
        n_running: runs that are being decoded.
        n_waiting: those that wait for their turn.
    """

    engine: Callable[[], Mapping[str, Any]] = lambda: {"state": "ready"}
    n_running: Callable[[], int] = lambda: 0
    n_waiting: Callable[[], int] = lambda: 0
    _began: float = field(default_factory=time.monotonic)

    def to_dict(self) -> dict[str, Any]:
        """`state` (ready, loading or degraded), `version`, `pair` (null where none is loaded), `rss_bytes` (null where
        it is not known), `n_running`, `n_waiting`, `uptime_s`.
        """
        status = self.engine()
        return {
            "state": STATES.get(str(status.get("state")), "degraded"),
            "version": citer_core.__version__,
            "pair": status.get("pair"),
            "rss_bytes": resident_bytes(),
            "n_running": self.n_running(),
            "n_waiting": self.n_waiting(),
            "uptime_s": round(time.monotonic() - self._began, 1),
        }

    def route(self) -> Route:
        """Answers for `/healthz`."""

        async def answer(_: Request) -> Response:
            document = self.to_dict()
            return JSONResponse(document, 503 if document["state"] == "degraded" else 200)

        return Route(HEALTH_PATH, answer)
