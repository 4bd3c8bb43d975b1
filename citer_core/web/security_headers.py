"""`SecurityHeaders`: what a browser may do with our answers. Put around everything, errors included.

The policy of the page itself needs the scripts that are in it (`ui/document`); everything else may load nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from citer_core.web.refusal import route_path

POLICY = "Content-Security-Policy"
OFF = ("accelerometer", "display-capture", "geolocation", "gyroscope", "microphone", "midi", "payment", "usb")
OWN = ("camera",)  # reads the QR codes of a class, when a teacher asks for it; frames of others have none
# Gradio lets other sites read its answers; that is not needed, and a page with a password must not.
FOREIGN_READS = ("access-control-allow-origin", "access-control-allow-credentials")


class SecurityHeaders:
    """Middleware.

    Args:
        app: whose answers get the headers.
        frame_ancestors: who may show the page in a frame.
    """

    def __init__(self, app: ASGIApp, frame_ancestors: Sequence[str]) -> None:
        self._app = app
        ancestors = tuple(frame_ancestors)
        self._policy = f"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors {' '.join(ancestors)}"
        self._fixed = {
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "same-origin",
            "Permissions-Policy": ", ".join([*(f"{name}=()" for name in OFF), *(f"{name}=(self)" for name in OWN)]),
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
        }
        # The older header knows only these two; where others may frame the page, it would forbid that.
        if frame := {"'self'": "SAMEORIGIN", "'none'": "DENY"}.get(" ".join(ancestors)):
            self._fixed["X-Frame-Options"] = frame

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Adds the headers to whatever is answered."""
        path = route_path(scope)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message.setdefault("headers", [])
                headers = MutableHeaders(scope=message)
                headers.update(self._fixed)
                headers.setdefault(POLICY, self._policy)
                headers.setdefault("Cache-Control", "no-cache" if _is_static(path) else "no-store")
                for name in FOREIGN_READS:
                    del headers[name]
            await send(message)

        await self._app(scope, receive, send_with_headers)


def _is_static(path: str) -> bool:
    return path == "/" or path.startswith(("/assets/", "/static/", "/citer/")) or "." in path[-6:]
