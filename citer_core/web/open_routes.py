"""`OpenRoutes`: the routes that the page and its documented endpoints need; whatever else gradio has answers 404.

Gradio serves some fifty routes: a reverse proxy, any file of its cache, an editor of the page, recordings, monitoring,
calls past the queue. A list of what is needed stays right when the next version brings more of them. Each opening also
says what a body there may be, and `bodies` keeps to it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from starlette.types import ASGIApp, Receive, Scope, Send

from citer_core.web.refusal import refuse, route_path

API = "/gradio_api"
# The largest thing that a visitor may send is a whole run of 4,096 tokens with both models' candidates: 3 million
# characters as JSON, and as JSON text in JSON, where every quote takes two, under 6 MB.
RUN_BYTES = 8_000_000
SMALL_BYTES = 65_536
NO_PAGE = "This page has one address: ask for / without ?page=."
CLOSED = "There is nothing here. The view API of the page lists what can be called."
WRONG_METHOD = "This address takes another method."
STARTED = f"{API}/startup-events"  # gradio's own process asks for it once, when it has begun to listen
Content = Literal["none", "json", "form"]


@dataclass(frozen=True, slots=True)
class Opening:
    """A route that is open.

    Attributes:
        methods: of HTTP.
        path: a regular expression for the whole path.
        content: what its body is.
        max_bytes: of its body.
        is_guarded: whether it is behind the login, where there is one.
    """

    methods: tuple[str, ...]
    path: re.Pattern[str]
    content: Content = "none"
    max_bytes: int = 0
    is_guarded: bool = True


def _reads(*paths: str, is_guarded: bool = True) -> list[Opening]:
    return [Opening(("GET", "HEAD"), re.compile(path), is_guarded=is_guarded) for path in paths]


def _takes(path: str, max_bytes: int) -> Opening:
    return Opening(("POST",), re.compile(path), "json", max_bytes)


_reads_openly = functools.partial(_reads, is_guarded=False)


ASK = "/citer/ask/"  # what a page asks its server (`ui/asking`)
_NAME = r"[\w-]{1,100}"
_PAGE = (
    *_reads("/", "/citer/.{1,200}", "/config/?"),
    *_reads_openly("/favicon\\.ico", "/healthz"),
    _takes(f"{ASK}[a-z_]{{1,40}}", RUN_BYTES),
)
_QUEUE = (
    *_reads(f"{API}/(info/?|app_id/?|queue/data)", f"{API}/heartbeat/{_NAME}"),
    *_reads(f"{API}/call/(v2/)?{_NAME}/{_NAME}"),
    _takes(f"{API}/queue/join", RUN_BYTES),
    _takes(f"{API}/call/(v2/)?{_NAME}/?", RUN_BYTES),
    _takes(f"{API}/(cancel|reset/?)", SMALL_BYTES),
)
_LOGIN = (
    Opening(("POST",), re.compile("/login/?"), "form", SMALL_BYTES, is_guarded=False),
    *_reads_openly("/logout"),
)
_MCP = (
    *_reads(f"{API}/mcp(/http)?/?", f"{API}/mcp/schema"),
    _takes(f"{API}/mcp(/http)?/?", RUN_BYTES),
    Opening(("DELETE",), re.compile(f"{API}/mcp(/http)?/?")),
)
OPENING = "citer.opening"


class OpenRoutes:
    """Middleware.

    Args:
        app: what is asked when the route is open; the scope holds its `Opening`.
        has_login, has_mcp: whether their routes are open.
    """

    def __init__(self, app: ASGIApp, *, has_login: bool, has_mcp: bool) -> None:
        self._app = app
        self.openings: Sequence[Opening] = (
            *_PAGE, *_QUEUE, *(_LOGIN if has_login else ()), *(_MCP if has_mcp else ()),
        )  # fmt: skip
        self._has_started = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets through what is open."""
        path = route_path(scope)
        if path == STARTED and not self._has_started:
            self._has_started = True
            scope[OPENING] = Opening(("GET",), re.compile(STARTED), is_guarded=False)
            await self._app(scope, receive, send)
            return
        if path == "/" and re.search(rb"(^|&)page=", scope["query_string"]):  # gradio's, for pages with several
            await refuse(scope, receive, send, 404, NO_PAGE)
            return
        fitting = [opening for opening in self.openings if opening.path.fullmatch(path)]
        opening = next((opening for opening in fitting if scope["method"] in opening.methods), None)
        if opening is None:
            await refuse(scope, receive, send, 405 if fitting else 404, WRONG_METHOD if fitting else CLOSED)
            return
        scope[OPENING] = opening
        await self._app(scope, receive, send)
