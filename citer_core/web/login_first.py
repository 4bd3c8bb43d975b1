"""`LoginFirst`: where the page has a password, what is behind it is answered to nobody else, and read from nobody else.

Knows no password and no cookie: who built the page says whether a request is somebody's. Put before `bodies`.
"""

from __future__ import annotations

from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send

from citer_core.web.open_routes import OPENING
from citer_core.web.refusal import refuse

LOG_IN = "Log in first: this server asks for a name and a password."


class LoginFirst:
    """Middleware.

    Args:
        app: what is asked by those who have logged in, and the page, which shows everybody where to do so.
        is_known: whether a request comes from somebody who has logged in.
    """

    def __init__(self, app: ASGIApp, is_known: Callable[[Scope], bool]) -> None:
        self._app, self._is_known = app, is_known

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets through whoever is known, and what is open."""
        if scope[OPENING].is_guarded and not self._is_known(scope):
            await refuse(scope, receive, send, 401, LOG_IN)
        else:
            await self._app(scope, receive, send)
