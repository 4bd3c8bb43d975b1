"""The page's own modules as one script: one request instead of one for each module, level after level of imports.

Over a network each level costs a round trip before anything is on the screen. An import map leads every module's
address to the joined script, so that modules which are loaded later (a tab, the tour) share what is there already. A
browser that knows no such map loads the modules one by one, and the page is the same.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from citer_core.joined_script import JoinedScript, import_map_of
from citer_core.ui.page_assets import file_url

ENTRY = "page/page.js"
FOR_EVER = "public, max-age=31536000, immutable"


class PageScript:
    """The joined script, served from memory.

    Args:
        assets: where the modules are.

    Raises:
        ModelFileError: a module is damaged, or cannot be joined with the others.
    """

    def __init__(self, assets: Path) -> None:
        joined = JoinedScript.of(assets / ENTRY, file_url)
        self._text = joined.module_text
        # The name says what is in it, so a browser may keep it and never has an old one.
        self._url = f"citer/page-{hashlib.sha256(self._text.encode()).hexdigest()[:12]}.js"
        self._modules = [file_url(module) for module in joined.modules]

    def route(self) -> Route:
        """Answers for the script's address."""

        async def answer(_: Request) -> Response:
            return Response(self._text, media_type="text/javascript", headers={"Cache-Control": FOR_EVER})

        return Route(f"/{self._url}", answer)

    def head(self) -> str:
        """What goes into the document's head."""
        return f'<script type="importmap">{self.import_map}</script><link rel="modulepreload" href="{self._url}">'

    @property
    def import_map(self) -> str:
        """The text of the import map, as the document has it."""
        return import_map_of(self._modules, self._url)
