"""`PagePolicy`: the Content-Security-Policy of the page, made of the scripts that are in it.

Gradio writes its configuration into the document as inline scripts, which differ from visitor to visitor, and we add
some of our own. So each page's answer names its own scripts by their hash, and no other inline script or event handler
runs. `unsafe-eval` stays: gradio makes functions of the text that events and components carry (`js`, `js_on_load`),
which is our own. Styles are inline all over gradio.

Gradio compresses what has a suffix, and a page has none, so that is done here too: a sixth of its bytes are left.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from collections.abc import Callable, Sequence

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from citer_core.web.security_headers import POLICY

_LEVEL = 5  # of gzip: some milliseconds for a page, and within a few percent of the most that can be had
_INLINE = re.compile(rb"<script(?![^>]*\ssrc=)[^>]*>(.*?)</script>", re.DOTALL)


class PagePolicy:
    """Middleware.

    Args:
        app: whose pages get the policy.
        changed: what each document becomes before it is looked at.
        frame_ancestors: who may show the page in a frame.
    """

    def __init__(self, app: ASGIApp, changed: Callable[[bytes], bytes], frame_ancestors: Sequence[str]) -> None:
        self._app = app
        self._changed = changed
        self._ancestors = " ".join(frame_ancestors)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Adds the policy to a page, and compresses it for whoever takes that."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        takes_gzip = "gzip" in Headers(scope=scope).get("accept-encoding", "")
        start: Message | None = None
        pieces: list[bytes] = []

        async def send_page(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                if not Headers(raw=message.get("headers", [])).get("content-type", "").startswith("text/html"):
                    await send(message)
                    return
                start = message
            elif start is None:
                await send(message)
            else:
                pieces.append(message.get("body", b""))
                if message.get("more_body", False):
                    return
                body = self._changed(b"".join(pieces))
                headers = MutableHeaders(scope=start)
                headers["Content-Length"] = str(len(body))
                headers[POLICY] = self.policy(body)
                headers.add_vary_header("Accept-Encoding")
                if takes_gzip and "content-encoding" not in headers:
                    body = gzip.compress(body, _LEVEL, mtime=0)
                    headers["Content-Encoding"] = "gzip"
                    headers["Content-Length"] = str(len(body))
                await send(start)
                await send({"type": "http.response.body", "body": body, "more_body": False})

        await self._app(scope, receive, send_page)

    def policy(self, document: bytes) -> str:
        """The policy of a document in HTML."""
        hashes = dict.fromkeys(map(_hash, _INLINE.findall(document)))
        return "; ".join(
            (
                "default-src 'none'",
                f"script-src 'self' 'unsafe-eval' {' '.join(hashes)}",
                "style-src 'self' 'unsafe-inline'",
                "img-src 'self' data: blob:",
                "font-src 'self' data:",
                "connect-src 'self'",
                "manifest-src 'self'",
                "base-uri 'self'",
                "form-action 'self'",
                f"frame-ancestors {self._ancestors}",
            )
        )


def _hash(script: bytes) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'"
