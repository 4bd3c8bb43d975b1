"""What `/healthz` says."""

from __future__ import annotations

import json

import pytest
from starlette.applications import Starlette

import citer_core
from citer_core.web.page_files import Health
from tests.web.asgi import ask


@pytest.mark.parametrize(
    ("engine", "state", "status"),
    [
        ({"state": "ready", "pair": "A pair"}, "ready", 200),
        ({"state": "loading"}, "loading", 200),
        ({"state": "failed", "message": "/home/secret is not there"}, "degraded", 503),
    ],
)
def test_state_and_numbers(engine: dict[str, str], state: str, status: int) -> None:
    health = Health(lambda: engine, n_running=lambda: 3, n_waiting=lambda: 200)
    answer = ask(Starlette(routes=[health.route()]), "/healthz")
    document = json.loads(answer.body)
    assert answer.status == status and b"secret" not in answer.body
    assert document["state"] == state and document["version"] == citer_core.__version__
    assert (document["n_running"], document["n_waiting"], document["pair"]) == (3, 200, engine.get("pair"))
    assert document["rss_bytes"] is None or 1e6 < document["rss_bytes"] < 1e12
    assert 0 <= document["uptime_s"] < 60
