"""Guesses of a password are few."""

from __future__ import annotations

import pytest

from citer_core.web import login_limit
from citer_core.web.login_limit import LoginLimit
from tests.web.asgi import Inner, ask


def test_ten_in_a_minute_from_one_address(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(login_limit.time, "monotonic", lambda: now[0])
    app = LoginLimit(Inner(), pause_s=0)

    def guess(address: str = "10.0.0.1", path: str = "/login") -> int:
        return ask(app, path, "POST", client=(address, 1)).status

    assert [guess() for _ in range(12)] == [200] * 10 + [429] * 2
    assert guess(path="/login/") == 429 and guess("10.0.0.2") == 200
    assert ask(app, "/config", client=("10.0.0.1", 1)).status == 200
    now[0] += 61
    assert guess() == 200


def test_a_hundred_from_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login_limit, "MAX_ADDRESSES", 20)
    app = LoginLimit(Inner(), pause_s=0)
    statuses = [ask(app, "/login", "POST", client=(f"10.0.{n}.1", 1)).status for n in range(110)]
    assert statuses == [200] * 100 + [429] * 10
    assert len(app._by_address) <= 20
