"""`Visitors`: refuses what another site's page makes a visitor's browser ask, and names that are not ours; `OwnHosts`:
which names this server is called by, and whether a page that asks is one of its own.

A browser says who asks: `Sec-Fetch-Site` and `Origin`. A program says neither and is let through; it could send
anything anyway, and holds no cookie of a visitor. What a foreign page may do is to lead or link to ours, or to frame it
where `frame-ancestors` lets it. Knows headers, and no routes but that one.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from citer_core.web.refusal import refuse, route_path
from citer_core.web.settings import WebSettings

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
STANDARD_PORTS = {"http": 80, "https": 443}


class OwnHosts:
    """The names of one server.

    Args:
        host: the interface that it listens on.
        port: where it listens.
        settings: of the process.
    """

    def __init__(self, host: str, port: int, settings: WebSettings) -> None:
        self._is_proxied = settings.is_proxied
        # A server that others reach may have any name, unless the names are set.
        bare = host.strip("[]").lower()
        self._takes_any = bare not in ("127.0.0.1", "localhost", "::1") and not settings.allowed_hosts
        names = {f"{name}:{port}" for name in LOOPBACK} | set(settings.allowed_hosts)
        if port == STANDARD_PORTS["http"]:
            names |= set(LOOPBACK)
        self._names = frozenset(names)

    def knows(self, headers: Headers) -> bool:
        """Whether a request is addressed to this server, by the names that its headers give."""
        return self._takes_any or all(self._is_ours(name) for name in self._addressed(headers))

    def is_own_page(self, origin: str, headers: Headers) -> bool:
        """Whether a page of that origin came from the very host that it now asks; `null` is no page's."""
        try:
            parts = urlsplit(origin)
            asker = parts.hostname, parts.port or STANDARD_PORTS.get(parts.scheme)
        except ValueError:  # a port that is no number
            return False
        if not asker[0] or parts.path or parts.scheme not in STANDARD_PORTS:
            return False
        return any(_host_and_port(name, parts.scheme) == asker for name in self._addressed(headers))

    def _addressed(self, headers: Headers) -> list[str]:
        names = [headers.get("host", "")]
        if self._is_proxied and (forwarded := headers.get("x-forwarded-host")):
            names.append(forwarded.split(",")[0].strip())
        return [name.lower() for name in names]

    def _is_ours(self, name: str) -> bool:
        return name in self._names or _without_port(name) in self._names


def _host_and_port(name: str, scheme: str) -> tuple[str | None, int | None]:
    try:
        parts = urlsplit(f"//{name}")
        return parts.hostname, parts.port or STANDARD_PORTS[scheme]
    except ValueError:
        return None, None


def _without_port(name: str) -> str:
    head, _, port = name.rpartition(":")
    return head if head and port.isdecimal() else name


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
