"""A class of pages without browsers: raw HTTP clients that press Generate and read what the server sends them.

    report = asyncio.run(a_class(url, questions, n_sessions=50, n_runs=5))

Every message is put together as `assets/run/stream.js` does, but strictly: a token that is lost, doubled or out of
order is an error here, not something to repair.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx


def request_for(question: str, data_type: str = "math", **settings: float) -> dict[str, Any]:
    """What the page's script sends when Generate is pressed."""
    return {"question": question, "data_type": data_type, "router": None, "settings": settings}


@dataclass
class SeenRun:
    """What one run of one page brought.

    Attributes:
        places: in the line, as they were told, with the seconds that were expected.
        faults: what must not happen.
    """

    question: str
    run_id: str = ""
    places: list[tuple[int, float | None]] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    tokens: list[dict[str, Any]] = field(default_factory=list)
    end: dict[str, Any] | None = None
    faults: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """What it wrote."""
        return "".join(token["text"] for token in self.tokens)

    def take(self, message: dict[str, Any]) -> None:
        """One message."""
        if "notice" in message:
            if "place" in message:
                self.places.append((message["place"], message["seconds"]))
            elif message["level"] != "wait":
                self.notices.append(message["notice"])
            return
        if not self.run_id:
            self.run_id = message["run"]
            if not message["head"]:
                self.faults.append("the first message has no head")
        if message["run"] != self.run_id:
            self.faults.append("a message of another run")
        if message["base"] != len(self.tokens):
            self.faults.append(f"base {message['base']} after {len(self.tokens)} tokens")
        for token in message["tokens"]:
            if token["index"] != len(self.tokens):
                self.faults.append(f"token {token['index']} in place of {len(self.tokens)}")
            self.tokens.append(token)
        if message["end"]:
            self.end = message["end"]


async def listen(
    client: httpx.AsyncClient, tab: str, what: str, asked: object = None, *, pause_s: float = 0.0
) -> AsyncGenerator[dict[str, Any], None]:
    """The messages of an answer to a page; a slow reader pauses after each.

    Raises:
        RuntimeError: the server did not take it.
    """
    headers = {"X-Citer-Tab": tab, "Content-Type": "application/json"}
    body = json.dumps(asked)
    async with client.stream("POST", f"citer/ask/{what}", content=body, headers=headers) as answer:
        if answer.status_code != 200:
            raise RuntimeError(f"refused with {answer.status_code}: {(await answer.aread())[:200]!r}")
        async for line in answer.aiter_lines():
            yield json.loads(line)
            await asyncio.sleep(pause_s)


async def a_run(client: httpx.AsyncClient, tab: str, question: str, asked: object, *, pause_s: float = 0.0) -> SeenRun:
    """A page that presses Generate and reads to the end."""
    seen = SeenRun(question)
    async for message in listen(client, tab, "run", asked, pause_s=pause_s):
        seen.take(message)
    return seen


async def a_class(
    url: str, questions: Sequence[str], *, n_sessions: int, n_runs: int, threshold: float, n_slow: int = 0
) -> list[SeenRun]:
    """`n_sessions` pages that ask for `n_runs` runs each, all at the same moment; the last `n_slow` read slowly.

    Args:
        questions: taken in turn.
        threshold: tau.
    """
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
    async with httpx.AsyncClient(base_url=url, timeout=600, limits=limits) as client:
        runs = []
        for page in range(n_sessions):
            pause_s = 0.3 if page >= n_sessions - n_slow else 0.0
            for run in range(n_runs):
                question = questions[(page * n_runs + run) % len(questions)]
                asked = request_for(question, threshold=threshold)
                runs.append(a_run(client, f"class-{page:04}", question, asked, pause_s=pause_s))
        return list(await asyncio.gather(*runs))
