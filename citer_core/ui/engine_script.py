"""The script of the worker that decodes in a browser, served from memory under a name that says what is in it.

A worker has the policy of its own answer, not that of the page: it may compile its products and fetch our files.
"""

from __future__ import annotations

import hashlib

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from citer_core.browser_pair import engine_script
from citer_core.web.page_files import FOR_EVER
from citer_core.web.security_headers import POLICY

_ALLOWED = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'"


class EngineScript:
    """The joined script.

    Raises:
        ModelFileError: a module is damaged, or cannot be joined with the others.
    """

    def __init__(self) -> None:
        self._text = engine_script()
        self.url = f"citer/engine-{hashlib.sha256(self._text.encode()).hexdigest()[:12]}.js"

    def route(self) -> Route:
        """Answers for the script's address."""

        async def answer(_: Request) -> Response:
            headers = {"Cache-Control": FOR_EVER, POLICY: _ALLOWED}
            return Response(self._text, media_type="text/javascript", headers=headers)

        return Route(f"/{self.url}", answer)
