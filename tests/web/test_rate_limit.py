"""Guesses of a password are few, and so are pages that are opened and closed."""

from __future__ import annotations

import dataclasses

import pytest

from citer_core.web import traffic as rate_limit
from citer_core.web.traffic import LOGINS, PAGES, RateLimit
from tests.web.asgi import Inner, ask

QUICK = dataclasses.replace(LOGINS, pause_s=0)


def test_ten_in_a_minute_from_one_address(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(rate_limit.time, "monotonic", lambda: now[0])
    app = RateLimit(Inner(), QUICK)

    def guess(address: str = "10.0.0.1", path: str = "/login") -> int:
        return ask(app, path, "POST", client=(address, 1)).status

    assert [guess() for _ in range(12)] == [200] * 10 + [429] * 2
    assert guess(path="/login/") == 429 and guess("10.0.0.2") == 200
    assert ask(app, "/config", client=("10.0.0.1", 1)).status == 200
    now[0] += 61
    assert guess() == 200


def test_a_hundred_from_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limit, "MAX_ADDRESSES", 20)
    app = RateLimit(Inner(), QUICK)
    statuses = [ask(app, "/login", "POST", client=(f"10.0.{n}.1", 1)).status for n in range(110)]
    assert statuses == [200] * 100 + [429] * 10
    assert len(app._by_address) <= 20


def test_a_class_opens_the_page_at_once_and_four_hundred_heartbeats_do_not_hold_the_loop() -> None:
    app = RateLimit(Inner(), PAGES)
    statuses = [ask(app, f"/gradio_api/heartbeat/s{n}", client=("10.0.0.1", 1)).status for n in range(400)]
    assert statuses == [200] * 120 + [429] * 280
    assert ask(app, "/gradio_api/heartbeat/x", client=("10.0.0.2", 1)).status == 200
    assert ask(app, "/gradio_api/queue/data", client=("10.0.0.1", 1)).status == 200
