"""Unread: answers that are not fetched do not fill the memory, and readers are let in."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from citer_core.web import unread
from citer_core.web.bodies import SESSION
from citer_core.web.unread import Unread

JOIN, CALL, STREAM = "/gradio_api/queue/join", "/gradio_api/call/replay", "/gradio_api/queue/data"


class Queue:
    """As gradio's: each event gets a number, a stream goes on until its session's events are told."""

    def __init__(self) -> None:
        self.n_events, self.forgotten, self.closing = 0, [], asyncio.Event()
        self.app = Unread(self, self.forget, patience_s=0.2)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        if scope["method"] == "POST":
            self.n_events += 1
            await send({"type": "http.response.body", "body": json.dumps({"event_id": f"e{self.n_events}"}).encode()})
            return
        told = (
            b'data: {"msg":"process_completed","event_id":"e1"}\n\n'
            if scope["path"] == STREAM
            else b"event: complete\n"
        )
        await send({"type": "http.response.body", "body": told, "more_body": True})
        await self.closing.wait()
        await send({"type": "http.response.body", "body": b""})

    async def forget(self, session: str) -> None:
        self.forgotten.append(session)

    async def ask(self, method: str, path: str, session: str | None = None, address: str = "10.0.0.1") -> int:
        sent: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            sent.append(message)

        query = f"session_hash={session}".encode() if method == "GET" and session else b""
        scope = {"type": "http", "method": method, "path": path, "client": (address, 1), "query_string": query}
        await self.app({**scope, SESSION: session} if method == "POST" else scope, receive, send)
        return int(sent[0]["status"])


def live(story: Any) -> None:
    with ThreadPoolExecutor(1) as pool:  # a browser of other tests may have a running loop in this thread
        pool.submit(asyncio.run, story()).result()


def test_what_is_not_read_is_bounded_for_a_session_for_an_address_and_in_all_and_then_dropped() -> None:
    """200 posts without a listener took 760 MB, for ever."""

    async def story() -> None:
        queue = Queue()
        one = [await queue.ask("POST", JOIN, "a") for _ in range(70)]
        assert (one.count(200), one.count(503)) == (unread.MOST_OF_A_SESSION, 6)
        others = [await queue.ask("POST", JOIN, f"s{i}") for i in range(500)]
        n_others = unread.MOST_UNHEARD_OF_ONE - unread.MOST_OF_A_SESSION
        assert others.count(200) == n_others
        rest = [await queue.ask("POST", JOIN, f"t{i}", "10.0.0.2") for i in range(200)]
        n_rest = unread.MOST_UNHEARD - unread.MOST_UNHEARD_OF_ONE
        assert rest.count(200) == n_rest
        assert queue.forgotten == []
        await asyncio.sleep(0.3)
        assert {"a", "s0", "t0"} <= set(queue.forgotten) and len(queue.forgotten) == 1 + n_others + n_rest
        assert await queue.ask("POST", JOIN, "a") == 200

    live(story)


def test_what_has_waited_longest_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unread, "GRACE_S", 0.0)
    monkeypatch.setattr(unread, "MOST_UNHEARD", 3)

    async def story() -> None:
        queue = Queue()
        assert [await queue.ask("POST", JOIN, name, name) for name in "abcd"] == [200] * 4
        await asyncio.sleep(0)
        assert queue.forgotten == ["a"]

    live(story)


def test_a_session_that_is_read_is_let_in_and_kept() -> None:
    async def story() -> None:
        queue = Queue()
        assert await queue.ask("POST", JOIN, "a") == 200
        stream = asyncio.ensure_future(queue.ask("GET", STREAM, "a"))
        await asyncio.sleep(0.01)
        assert [await queue.ask("POST", JOIN, "a") for _ in range(70)].count(200) == unread.MOST_OF_A_SESSION
        await asyncio.sleep(0.3)
        assert queue.forgotten == [], "it has a listener"
        queue.closing.set()
        assert await stream == 200
        await asyncio.sleep(0.3)
        assert queue.forgotten == ["a"], "gone, with events that were never answered"

    live(story)


def test_a_program_reads_its_event_by_its_number_and_an_unknown_one_is_refused() -> None:
    async def story() -> None:
        queue = Queue()
        queue.closing.set()
        for session in (None, "mine"):
            assert await queue.ask("POST", CALL, session) == 200
            assert await queue.ask("GET", f"{CALL}/e{queue.n_events}") == 200
        assert await queue.ask("GET", f"{CALL}/e99") == 404
        assert await queue.ask("GET", STREAM, "nobody") == 404
        await asyncio.sleep(0.3)
        assert queue.forgotten == []

    live(story)
