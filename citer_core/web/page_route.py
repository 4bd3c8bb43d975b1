"""The page's own address: one document for all visitors, with its policy, compressed where the browser takes that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from citer_core.web.security_headers import POLICY


class Page(Protocol):
    """What we need of a document."""

    @property
    def body(self) -> bytes:
        """HTML."""

    @property
    def compressed(self) -> bytes:
        """The same by gzip."""

    @property
    def policy(self) -> str:
        """Content-Security-Policy."""


def page_route(page: Page, frame_ancestors: Sequence[str]) -> Route:
    """Answers for `/`.

    Args:
        page: what is answered.
        frame_ancestors: who may show it in a frame.
    """
    policy = f"{page.policy}; frame-ancestors {' '.join(frame_ancestors)}"

    async def answer(request: Request) -> Response:
        headers = {POLICY: policy, "Vary": "Accept-Encoding"}
        if "gzip" in request.headers.get("accept-encoding", ""):
            return Response(page.compressed, media_type="text/html", headers={**headers, "Content-Encoding": "gzip"})
        return Response(page.body, media_type="text/html", headers=headers)

    return Route("/", answer, methods=["GET", "HEAD"])
