"""`CalmErrors`: an error of the application becomes one short answer; what it says goes into the log alone.

Gradio answers some wrong requests with a traceback, and others with all that was sent. Put around the application.
"""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from citer_core.web.refusal import refuse

FAILED = "This request cannot be answered: the API tab of the page lists what can be called, and with what."
WRONG = "The body is not what this address takes: the API tab of the page says what it is."


class CalmErrors:
    """Middleware."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes on what is no error."""
        is_replaced = False

        async def calm(message: Message) -> None:
            nonlocal is_replaced
            if is_replaced:
                return
            status = message.get("status", 200)
            if message["type"] == "http.response.start" and (status == 422 or (status >= 500 and status != 503)):
                is_replaced = True
                await refuse(scope, receive, send, status, WRONG if status == 422 else FAILED)
            else:
                await send(message)

        await self._app(scope, receive, calm)
