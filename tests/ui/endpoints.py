"""What a program sends to a served page, past its script."""

from __future__ import annotations

import json
from typing import Any

import httpx

from tests.ui.conftest import Served

JSON = {"Content-Type": "application/json"}


def post(served: Served, path: str, document: Any = None, **how: Any) -> httpx.Response:
    how.setdefault("headers", JSON)
    how.setdefault("content", json.dumps(document))
    return httpx.post(f"{served.url}gradio_api/{path}", timeout=30, **how)


def function(served: Served, name: str, asked: Any, **how: Any) -> httpx.Response:
    """What a page asks, whole."""
    how.setdefault("headers", JSON)
    how.setdefault("content", json.dumps(asked))
    return httpx.post(f"{served.url}citer/ask/{name}", timeout=30, **how)
