"""`NamedText`: a script that is made here, served from memory under a name that says what is in it."""

from __future__ import annotations

import hashlib

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from citer_core.web.page_files import FOR_EVER
from citer_core.web.security_headers import POLICY


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
