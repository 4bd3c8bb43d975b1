"""A run as messages for the viewer: `{run, head, base, tokens, end}`, a batch about every 100 ms.

Deltas, never a growing list: a list that grows costs the browser quadratic time. The first token goes out at once; a
reader who is slow gets larger ones. Before that come its places in the line, as notices with the run's id. Called by
the page's events, and by the page where it missed something.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from citer_core.errors import StoppedError
from citer_core.serving.wake import Wake
from citer_core.trace import event_to_dict
from citer_core.types import MAX_NEW_TOKENS
from citer_core.ui.messages import Message, error_notice, notice, place_notice
from citer_core.ui.run.desk import RunDesk
from citer_core.ui.run.order import Order

INTERVAL_S = 0.1
CROWD = 8  # so many more that run make messages come half as often: all of them cost what a few cost
SOON_S = 0.3  # a turn that comes sooner is not worth a word
KEEP_S = 3.0  # without news: a message tells the page that we are here
PLACES_PER_S = 100.0  # those far behind hear of it less often: the messages of all who wait cost what a few cost
LOADING = "The models are loading; your run starts as soon as they are ready."
GONE = "The server no longer keeps this run."


async def follow(desk: RunDesk, order: Order, interval_s: float | None = None) -> AsyncGenerator[Message, None]:
    """What happens to an order, until it ends.

    Args:
        desk: where it was asked for.
        order: that is followed.
        interval_s: between two messages at least; None takes longer ones where many follow a run.

    The first message says its id at once, so that it can be stopped and found again. A consumer that goes away leaves
    the order to itself: its page may come back.
    """
    wake = Wake()
    with order.watched(wake):
        yield {**notice("", "wait"), "run": order.id}
        async for message in _until_begun(desk, order, wake):
            yield message
        if order.head is None:
            if order.error is not None and not isinstance(order.error, StoppedError):
                yield error_notice(order.error)
            return
        head: Message | None = order.head
        base = 0
        while True:
            has_ended = order.ended_at is not None  # before the events: those of an ended run are all there
            events = order.events_since(base)
            yield _message(order, head, base, [event_to_dict(event) for event in events], is_last=has_ended)
            if has_ended:
                return
            head, base = None, base + len(events)
            await asyncio.sleep(interval_s or INTERVAL_S * (1 + desk.line.n_running() / CROWD))
            await wake.wait(KEEP_S)


async def _until_begun(desk: RunDesk, order: Order, wake: Wake) -> AsyncGenerator[Message, None]:
    """Its places, as long as it has no token and no end."""
    told: object = None
    told_at = time.monotonic()
    pause = SOON_S
    while order.ended_at is None and not (order.head is not None and order.events_since(0)):
        if order.head is None and time.monotonic() - told_at >= pause:
            message = waiting_message(desk, order)
            now = message.get("place"), message["notice"]
            if now != told or time.monotonic() - told_at >= KEEP_S:
                told, told_at = now, time.monotonic()
                pause = min(KEEP_S, 1.0 + message.get("place", 0) / PLACES_PER_S)
                yield message
        await wake.wait(pause if order.head is None else KEEP_S)


def waiting_message(desk: RunDesk, order: Order) -> Message:
    """What an order waits for: its turn, or the models; with its id, so that a page that comes back finds it."""
    ticket = order.ticket
    place, seconds = (ticket.place, ticket.expected_s) if ticket is not None else (0, None)
    message = place_notice(place, seconds) if place else notice(LOADING if desk.is_loading else "", "wait")
    return {**message, "run": order.id}


def missing_part(desk: RunDesk, request: Mapping[str, Any]) -> Message:
    """Answers a viewer that missed a message, or came back: everything of its run from token `base` on.

    Args:
        desk: where the run was asked for.
        request: `{"run": id, "base": n}` from the browser, so with any values, or none.

    Returns:
        A message, or what it waits for, or `{"error": text}` where the request is wrong or the run is gone.
    """
    run_id, base = request.get("run"), request.get("base")
    if not isinstance(run_id, str) or not isinstance(base, int) or isinstance(base, bool):
        return {"error": 'Ask for {"run": id, "base": number of tokens that are there}.'}
    order = desk.registry.get(run_id)
    if order is None or not 0 <= base <= MAX_NEW_TOKENS:
        return {"error": GONE}
    order.seen()
    if order.head is None:
        if order.ended_at is None:
            return waiting_message(desk, order)
        return error_notice(order.error) if order.error is not None else {"error": GONE}
    is_last = order.ended_at is not None  # before the events, as above
    tokens = [event_to_dict(event) for event in order.events_since(base)]
    return _message(order, order.head if base == 0 else None, base, tokens, is_last=is_last)


def _message(order: Order, head: Message | None, base: int, tokens: list[Message], *, is_last: bool) -> Message:
    return {"run": order.id, "head": head, "base": base, "tokens": tokens, "end": order.summary() if is_last else None}
