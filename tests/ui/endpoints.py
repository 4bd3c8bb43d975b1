"""What a program sends to a served page, past its script."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx

from tests.fakes import FakeRun
from tests.ui.serving import N_CONCURRENT, Served
from tests.ui.visitor import wait_until

JSON = {"Content-Type": "application/json"}
TLS = ssl.create_default_context()  # which takes longer to make than to ask, and is not used here


def post(served: Served, path: str, document: Any = None, **how: Any) -> httpx.Response:
    how.setdefault("headers", JSON)
    how.setdefault("content", json.dumps(document))
    return httpx.post(f"{served.url}gradio_api/{path}", timeout=30, verify=TLS, **how)


def function(served: Served, name: str, asked: Any, **how: Any) -> httpx.Response:
    """What a page asks, whole."""
    how.setdefault("headers", JSON)
    how.setdefault("content", json.dumps(asked))
    return httpx.post(f"{served.url}citer/ask/{name}", timeout=30, verify=TLS, **how)


@contextmanager
def going(served: Served) -> Iterator[list[FakeRun]]:
    """A run in every place, each of a page of its own that listens; what still goes on is ended."""
    asked = {"question": "A long story.", "data_type": "open", "router": None, "settings": {}}
    before = len(served.engine.runs)
    with ExitStack() as pages:
        for k in range(N_CONCURRENT):
            headers = {**JSON, "X-Citer-Tab": f"going-{k:04}"}
            url = f"{served.url}citer/ask/run"
            pages.enter_context(httpx.stream("POST", url, headers=headers, json=asked, timeout=60, verify=TLS))
        wait_until(lambda: len(served.engine.runs) == before + N_CONCURRENT)
        runs = served.engine.runs[before:]
        yield runs
        for run in runs:
            run.cancel()
