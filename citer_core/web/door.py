"""`Door`: everything that a request passes before gradio sees it, in order, and how it is put in front of gradio.

    SecurityHeaders > RequestLog > Visitors > OpenRoutes > RateLimit (pages, logins) > LoginFirst > Bodies > Unread >
    CalmErrors > gradio

Gradio puts middleware of its own (CORS, compression) around what it is given as middleware, and its CORS answers for
us. So the door is set before all of it, at the moment when the application starts and before it listens.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from citer_core.web.bodies import Bodies, FieldLimits
from citer_core.web.login_first import LoginFirst
from citer_core.web.open_routes import OpenRoutes
from citer_core.web.page_files import HEALTH_PATH
from citer_core.web.refusal import CalmErrors
from citer_core.web.request_log import RequestLog
from citer_core.web.security_headers import SecurityHeaders
from citer_core.web.settings import WebSettings
from citer_core.web.traffic import LOGINS, PAGES, RateLimit
from citer_core.web.unread import Unread
from citer_core.web.visitors import OwnHosts, Visitors


class Door:
    """In front of one application.

    Args:
        host, port: where it is served.
        settings: of the process.
        limits: of the fields of the page's functions.
        has_mcp: whether MCP's routes are open.
        forget: drops what waits for a session.
        is_known: whether a request comes from a visitor who has logged in.
    """

    def __init__(
        self,
        host: str,
        port: int,
        settings: WebSettings,
        limits: FieldLimits,
        *,
        has_mcp: bool,
        forget: Callable[[str], Awaitable[None]],
        is_known: Callable[[Scope], bool],
    ) -> None:
        self._hosts = OwnHosts(host, port, settings)
        self._settings, self._limits, self._has_mcp = settings, limits, has_mcp
        self._forget, self._is_known = forget, is_known

    @contextlib.asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        """For the application: it is called before anything is served."""
        assert app.middleware_stack is not None, "an application that starts has been asked to"
        app.middleware_stack = self.before(app.middleware_stack)
        yield

    def before(self, app: ASGIApp) -> ASGIApp:
        """The application behind the door."""
        settings = self._settings
        door: ASGIApp = Bodies(Unread(CalmErrors(app), self._forget), self._limits)
        door = RateLimit(LoginFirst(door, self._is_known), LOGINS) if settings.accounts else door
        door = RateLimit(door, PAGES)
        door = OpenRoutes(door, has_login=bool(settings.accounts), has_mcp=self._has_mcp)
        door = Visitors(door, self._hosts, is_proxied=settings.is_proxied, open_paths=frozenset({HEALTH_PATH}))
        door = SecurityHeaders(RequestLog(door), settings.frame_ancestors)

        async def entered(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "websocket":  # not used here
                await send({"type": "websocket.close", "code": 1008})
            elif scope["type"] == "http":
                await door(scope, receive, send)
            else:
                await app(scope, receive, send)

        return entered
