"""`Visitors`: refuses what another site's page makes a visitor's browser ask, and names that are not ours.

A browser says who asks: `Sec-Fetch-Site` and `Origin`. A program says neither and is let through; it could send
anything anyway, and holds no cookie of a visitor. What a foreign page may do is to lead or link to ours, or to frame it
where `frame-ancestors` lets it. Knows no routes but that one.
"""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from citer_core.web.own_hosts import OwnHosts
from citer_core.web.refusal import refuse, route_path

OWN_SITE = ("same-origin", "none")
# Believed by gradio from any client; so they are removed where no proxy of ours can have set them.
FORWARDED = (b"x-forwarded-host", b"x-forwarded-proto", b"x-forwarded-prefix", b"forwarded")
NEVER = (b"x-gradio-server",)  # what gradio would make the page's root
WRONG_HOST = (
    "This server is not known by the name in the request's Host header. Use the address that it printed, or add the "
    "name to CITER_ALLOWED_HOSTS."
)
FOREIGN = "This request comes from a page of another site. Only pages of this server may ask it."


class Visitors:
    """Middleware.

    Args:
        app: what is asked when it may be.
        hosts: of this server.
        is_proxied: whether a proxy that we trust stands in front.
        open_paths: that need no right host, for checks from outside.
    """

    def __init__(self, app: ASGIApp, hosts: OwnHosts, *, is_proxied: bool, open_paths: frozenset[str]) -> None:
        self._app, self._hosts, self._is_proxied, self._open_paths = app, hosts, is_proxied, open_paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets through who may ask."""
        headers = Headers(scope=scope)
        if len(headers.getlist("host")) > 1 or len(headers.getlist("origin")) > 1:
            await refuse(scope, receive, send, 400, "The request has two Host or Origin headers: send one.")
            return
        if route_path(scope) not in self._open_paths and not self._hosts.knows(headers):
            await refuse(scope, receive, send, 421, WRONG_HOST)
            return
        if not self._may_ask(scope, headers):
            await refuse(scope, receive, send, 403, FOREIGN)
            return
        taken_away = NEVER if self._is_proxied else NEVER + FORWARDED
        scope = {**scope, "headers": [header for header in scope["headers"] if header[0] not in taken_away]}
        await self._app(scope, receive, send)

    def _may_ask(self, scope: Scope, headers: Headers) -> bool:
        if _leads_here(scope, headers):
            return True
        if (headers.get("sec-fetch-site") or "none") not in OWN_SITE:
            return False
        origin = headers.get("origin")
        return origin is None or self._hosts.is_own_page(origin, headers)


def _leads_here(scope: Scope, headers: Headers) -> bool:
    """A link to the page, or a frame around it: the page itself changes nothing, and its own requests come from it."""
    is_navigation = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") in (
        "document", "iframe", "frame",
    )  # fmt: skip
    return is_navigation and scope["method"] in ("GET", "HEAD") and route_path(scope) == "/"
