"""What a program sends to a served page, past its components."""

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


def component(served: Served) -> int:
    config = httpx.get(f"{served.url}config").json()
    found = [block["id"] for block in config["components"] if block["props"].get("elem_id") == "cx-viewer"]
    return int(found[0])


def function(served: Served, name: str, data: Any, **how: Any) -> httpx.Response:
    body = {"data": data, "component_id": component(served), "fn_name": name, "session_hash": "abc123def45"}
    return post(served, "component_server", body, **how)
