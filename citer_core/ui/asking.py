"""What a page asks its server, under one address, and how the answer travels: messages, one JSON text a line.

An answer lasts as long as the page reads it: when the reader leaves, the generator behind it is closed. Nothing is kept
for a slow reader; the connection holds the writer back. Knows what may be asked by its name alone.
"""

from __future__ import annotations

import ipaddress
import logging
import re
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from citer_core.errors import CiterError, GateError, SettingError
from citer_core.gate.json_text import parse_json
from citer_core.ui.messages import UNEXPECTED, Message, encode, error_notice, notice
from citer_core.web.open_routes import ASK, SMALL_BYTES
from citer_core.web.request_log import REQUEST_ID

logger = logging.getLogger(__name__)
TAB = "x-citer-tab"
_TAB = re.compile(r"[\w-]{8,64}")
# A proxy that gathers an answer before it passes it on would hold a run back until its end.
HEADERS = {"X-Accel-Buffering": "no"}
NOTHING = "There is nothing of this name to be asked: reload the page."


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who asks.

    Attributes:
        tab: of which page, as it says itself, or a program's session; one of its own where there is none, so that no
            two callers ever share one.
        address: from where, for fairness.
        request_id: for the log.
    """

    tab: str
    address: str
    request_id: str | None

    @classmethod
    def of(cls, request: Any) -> Visitor:
        """The visitor behind a request of a page or of a program; None is a direct call."""
        headers = getattr(request, "headers", None) or {}
        tab = headers.get(TAB, "")
        session = getattr(request, "session_hash", None) or (tab if _TAB.fullmatch(tab) else "")
        return cls(session or f"anonymous-{secrets.token_urlsafe(12)}", address_of(request), headers.get(REQUEST_ID))


def address_of(request: object) -> str:
    """Where a request comes from, for fairness: an IPv4 address, or an IPv6 network, which is one connection's."""
    client = getattr(request, "client", None)
    host = str(getattr(client, "host", "") or "")
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if address.version == 4:
        return str(address)
    mapped = address.ipv4_mapped
    return str(mapped or ipaddress.ip_network((address, 64), strict=False))


# What is asked (JSON, not read yet) and by whom; gives messages, or texts that are encoded already.
Answers = Callable[[bytes, Visitor], AsyncIterator[Message | str]]


def at_once(answer: Callable[[dict[str, Any]], Message]) -> Answers:
    """Something small that is asked and answered in one message, computed in a thread.

    Args:
        answer: takes the object that was asked, whose values may be any JSON; an empty one where it was none.
    """

    async def answers(body: bytes, _: Visitor) -> AsyncIterator[Message | str]:
        try:
            asked = parse_json(body, max_chars=SMALL_BYTES)
        except GateError as error:
            raise SettingError(f"What is asked cannot be read: {error}") from None
        yield await run_in_threadpool(answer, asked if isinstance(asked, dict) else {})

    return answers


def asking_route(known: Mapping[str, Answers]) -> Route:
    """The address for what may be asked, by its name."""

    async def answer(request: Request) -> Response:
        answers = known.get(request.path_params["name"])
        if answers is None:
            return PlainTextResponse(NOTHING, 404)
        told = lines(answers, await request.body(), Visitor.of(request))
        return StreamingResponse(told, media_type="application/x-ndjson", headers=HEADERS)

    return Route(f"{ASK}{{name}}", answer, methods=["POST"])


async def lines(answers: Answers, body: bytes, visitor: Visitor) -> AsyncGenerator[str, None]:
    """The messages; an error is the last one, a calm notice."""
    try:
        async with aclosing(answers(body, visitor)) as messages:  # type: ignore[type-var]  # all are generators
            async for message in messages:
                yield f"{message if isinstance(message, str) else encode(message)}\n"
    except CiterError as error:
        yield f"{encode(error_notice(error))}\n"
    except Exception:
        logger.exception("an answer to the page failed")
        yield f"{encode(notice(UNEXPECTED))}\n"
