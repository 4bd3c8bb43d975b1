"""`OwnHosts`: which names this server is called by, and whether a page that asks is one of its own.

Knows headers only. Called by `visitors`.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers

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
