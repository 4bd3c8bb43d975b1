"""`GradioFiles`: the files of gradio's that the first screen needs, asked for all at once.

Gradio's scripts find out one after the other what they need: four levels, and some sixty small files. Over a network
each level costs a round trip, and a browser asks a server for six files at a time. The names are listed beforehand
(`assets/page/gradio_files.json`, for one version of gradio; `tests/ui/test_gradio_files.py` holds them against what a
browser asks for and says what to write there). `early.js` has the scripts fetched, and the sheets are one here, so that
gradio finds everything where it would have put it.
"""

from __future__ import annotations

import hashlib
import json
import logging
from pathlib import Path

import gradio
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from citer_core.assets import ASSETS
from citer_core.web.page_files import FOR_EVER

logger = logging.getLogger(__name__)

LIST = ASSETS / "page" / "gradio_files.json"
FOLDER = Path(gradio.__file__).parent / "templates" / "frontend" / "assets"


class GradioFiles:
    """Reads the list and joins the sheets; with another gradio there are none, and it fetches its own as it always did.

    Args:
        listed: the list, JSON.
        folder: where gradio has its files.
    """

    def __init__(self, listed: Path = LIST, folder: Path = FOLDER) -> None:
        known = json.loads(listed.read_text(encoding="utf-8"))
        names: list[str] = known["files"]
        if known["gradio"] != gradio.__version__ or not all((folder / name).is_file() for name in names):
            names = []
            logger.info("gradio's files are listed for version %s; the page comes a little later", known["gradio"])
        self.scripts = [name for name in names if name.endswith(".js")]
        self.sheets = [name for name in names if name.endswith(".css")]
        self._sheet = "\n".join((folder / name).read_text(encoding="utf-8") for name in self.sheets)
        self.url = f"citer/gradio-{hashlib.sha256(self._sheet.encode()).hexdigest()[:12]}.css"

    def route(self) -> Route:
        """Answers for the joined sheet's address."""

        async def answer(_: Request) -> Response:
            return Response(self._sheet, media_type="text/css", headers={"Cache-Control": FOR_EVER})

        return Route(f"/{self.url}", answer)

    def data(self) -> str:
        """What `early.js` reads: a script element with the names, markup."""
        names = json.dumps({"scripts": self.scripts, "sheets": self.sheets}, separators=(",", ":"))
        return f'<script type="application/json" id="cx-gradio-files">{names}</script>'
