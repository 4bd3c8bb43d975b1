"""A page with accounts: closed to everybody else, and guessing is soon over."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest
from playwright.sync_api import Browser, expect

from citer_core.web.settings import WebSettings
from tests.fakes import FakeEngine
from tests.ui.endpoints import post
from tests.ui.serving import Served, script
from tests.ui.visitor import Visitor

pytestmark = pytest.mark.ui
Make = Callable[..., Served]


@pytest.fixture(scope="module")
def locked(make_server: Make) -> Served:
    server = make_server(FakeEngine(script), web=WebSettings(accounts=(("ann", "correct-horse"),)))
    server.may_load.set()
    return server


def test_a_password_closes_everything_but_health(locked: Served) -> None:
    assert httpx.get(f"{locked.url}healthz").json()["state"] in ("ready", "loading")
    assert httpx.get(f"{locked.url}config").status_code == 401
    assert post(locked, "call/replay", {"data": [None, 0.5, "bakery"]}).status_code == 401
    assert "What is" not in httpx.get(locked.url).text
    closed = httpx.get(locked.url).text
    assert "correct-horse" not in closed and "cx-early" not in closed and "citer/" not in closed


def test_who_knows_it_generates(locked: Served, browser: Browser) -> None:
    from gradio_client import Client

    visitor = Visitor(browser, locked.url)
    page = visitor.page
    page.get_by_label("username").fill("ann")
    page.get_by_label("password").fill("correct-horse")
    page.get_by_role("button", name="Log in").click()
    expect(visitor.tokens.first).to_be_visible(timeout=20_000)
    visitor.ask("A short one.")
    visitor.wait_live()
    visitor.wait_idle()
    assert "42" in visitor.text()
    visitor.leave()
    client = Client(locked.url, auth=("ann", "correct-horse"), verbose=False)
    assert client.predict(api_name="/list_routers")
    client.close()


def test_guessing_is_slow_and_soon_over(locked: Served) -> None:
    def guess(word: str) -> int:
        return httpx.post(f"{locked.url}login", data={"username": "ann", "password": word}).status_code

    statuses = [guess(f"wrong-{n}") for n in range(11)]
    assert statuses[0] == 400 and statuses[-1] == 429
    assert guess("correct-horse") == 429
