"""A class of pages without browsers: raw HTTP clients that press Generate and read what gradio's queue sends them.

    report = asyncio.run(a_class(url, questions, n_sessions=50, n_runs=5))

Every message is put together as `assets/run/stream.js` does, but strictly: a token that is lost, doubled or out of
order is an error here, not something to repair.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx


def request_for(question: str, data_type: str = "math", **settings: float) -> str:
    """What the page's script sends when Generate is pressed."""
    return json.dumps({"question": question, "data_type": data_type, "router": None, "settings": settings})


@dataclass
class SeenRun:
    """What one event of one page brought.

    Attributes:
        asked_at, started_at, token_at, ended_at: seconds of the clock; when it was asked for, had its turn (its head
            came), brought its first token, ended.
        places: in the line, as they were told, with the seconds that were expected.
        faults: what must not happen.
    """

    question: str
    asked_at: float
    started_at: float | None = None
    token_at: float | None = None
    ended_at: float | None = None
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

    def take(self, payload: str) -> None:
        """One value of the viewer component."""
        message = json.loads(payload)
        if "notice" in message:
            if "place" in message:
                self.places.append((message["place"], message["seconds"]))
            elif message["level"] != "wait":
                self.notices.append(message["notice"])
            return
        if self.started_at is None:
            self.started_at = time.monotonic()
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
        if self.tokens and self.token_at is None:
            self.token_at = time.monotonic()
        if message["end"]:
            self.end, self.ended_at = message["end"], time.monotonic()


@dataclass(frozen=True)
class PageEvents:
    """Numbers of gradio's events."""

    generate: int
    measure: int
    stop_measuring: int


async def events_of(client: httpx.AsyncClient) -> PageEvents:
    """Which events the page's buttons have, from what the server tells every browser."""
    config = (await client.get("config")).json()
    ids = {part["props"].get("elem_id"): part["id"] for part in config["components"]}

    def event(elem_id: str) -> int:
        target = [ids[elem_id], "click"]
        found = [one["id"] for one in config["dependencies"] if target in one["targets"] and one["backend_fn"]]
        assert len(found) == 1, elem_id
        return int(found[0])

    return PageEvents(event("cx-ask"), event("cx-profile-measure"), event("cx-profile-stop"))


async def join(client: httpx.AsyncClient, session: str, event: int, data: Sequence[Any]) -> str:
    """Presses a button; returns gradio's id of the event."""
    answer = await client.post(
        "gradio_api/queue/join", json={"data": list(data), "fn_index": event, "session_hash": session}
    )
    if answer.status_code != 200:
        raise RuntimeError(f"refused with {answer.status_code}: {answer.text[:200]}")
    return str(answer.json()["event_id"])


async def listen(client: httpx.AsyncClient, session: str, *, pause_s: float = 0.0) -> Any:
    """Yields gradio's messages for a page until all its events are over; a slow reader pauses after each."""
    async with client.stream("GET", "gradio_api/queue/data", params={"session_hash": session}) as stream:
        async for line in stream.aiter_lines():
            if line.startswith("data:"):
                message = json.loads(line[5:])
                if message["msg"] == "close_stream":
                    return
                yield message
                await asyncio.sleep(pause_s)


def value_of(message: dict[str, Any]) -> str | None:
    """The component's new value in one of gradio's messages; it sends the first whole and the others as a change."""
    data = (message.get("output") or {}).get("data") or []
    if message["msg"] not in ("process_generating", "process_completed") or not data:
        return None
    value = data[0]
    if isinstance(value, list):
        value = value[0][2] if value else None
    return value if isinstance(value, str) else None


async def a_page(
    client: httpx.AsyncClient,
    session: str,
    event: int,
    asked: Sequence[tuple[str, Sequence[Any]]],
    *,
    pause_s: float = 0.0,
) -> list[SeenRun]:
    """One page that asks for several runs at once and reads to their ends.

    Args:
        asked: question and the request, for each.
        pause_s: of a slow reader, after each message.
    """
    runs: dict[str, SeenRun] = {}
    for question, data in asked:
        seen = SeenRun(question, time.monotonic())
        runs[await join(client, session, event, data)] = seen
    async for message in listen(client, session, pause_s=pause_s):
        run = runs.get(message.get("event_id", ""))
        if run is None:
            continue
        if message["msg"] == "process_completed" and not message["success"]:
            run.faults.append(f"gradio says: {message['output']}")
        if message["msg"] == "process_generating" and (value := value_of(message)) is not None:
            run.take(value)
    return list(runs.values())


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
        events = await events_of(client)
        pages = []
        for page in range(n_sessions):
            asked = []
            for run in range(n_runs):
                question = questions[(page * n_runs + run) % len(questions)]
                asked.append((question, [request_for(question, threshold=threshold)]))
            pause_s = 0.3 if page >= n_sessions - n_slow else 0.0
            pages.append(a_page(client, f"class-{page}", events.generate, asked, pause_s=pause_s))
        return [run for page in await asyncio.gather(*pages) for run in page]


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of them lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(share * (len(ordered) - 1)))]


def figures(runs: Sequence[SeenRun], seconds: float) -> dict[str, Any]:
    """What a class got, as numbers: seconds of waiting for the turn and for the first token, and what went wrong."""
    waits = [run.started_at - run.asked_at for run in runs if run.started_at is not None]
    firsts = [run.token_at - run.asked_at for run in runs if run.token_at is not None]
    return {
        "runs": len(runs),
        "refused": sum(bool(run.notices) for run in runs),
        "failed": sum(run.end is None or run.end["error"] is not None for run in runs),
        "lost_doubled_or_reordered": sum(len(run.faults) for run in runs),
        "tokens": sum(len(run.tokens) for run in runs),
        "seconds": round(seconds, 2),
        "runs_per_second": round(len(runs) / seconds, 2),
        "wait_s": {"p50": round(percentile(waits, 0.5), 2), "p95": round(percentile(waits, 0.95), 2)},
        "first_token_s": {"p50": round(percentile(firsts, 0.5), 2), "p95": round(percentile(firsts, 0.95), 2)},
        "told_their_place": sum(bool(run.places) for run in runs),
    }
