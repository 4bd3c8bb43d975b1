"""The page behind a real nginx, under a path of its own, with the configuration of the chapter "Publish it"."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from tests.fakes import FakeEngine
from tests.http_visitor import HttpVisitor, free_port
from tests.reverse_proxy import Nginx, find_nginx
from tests.ui.serving import SLOW_TOKEN_S, Served, script
from tests.ui.visitor import Visitor

pytestmark = pytest.mark.ui
PREFIX = "/demo"


@pytest.fixture(scope="session")
def nginx() -> str:
    """Its executable."""
    found = find_nginx()
    if found is None:
        pytest.skip("there is no nginx here, and no apt-get as root to install Debian's nginx-light")
    return found


@pytest.fixture(scope="module")
def server(make_server: Callable[..., Served]) -> Served:
    """A page that is served under a path."""
    server = make_server(FakeEngine(script), root_path=PREFIX, **behind_a_proxy())
    server.may_load.set()
    return server


@pytest.fixture(scope="module")
def proxied(nginx: str, server: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Its address."""
    with Nginx(nginx, tmp_path_factory.mktemp("nginx"), free_port(), [port_of(server)], sticky=False) as proxy:
        yield f"{proxy.url}{PREFIX}/"


def port_of(server: Served) -> int:
    """Where it listens."""
    return int(server.url.rstrip("/").rpartition(":")[2])


def behind_a_proxy() -> dict[str, object]:
    """The settings that say so."""
    settings = pytest.importorskip("citer_core.web.settings")
    return {"web": settings.WebSettings(allowed_hosts=("127.0.0.1",), is_proxied=True)}


def test_the_page_works_under_its_path(proxied: str, visit: Callable[..., Visitor]) -> None:
    """Whatever was asked for elsewhere would have failed the visit: nginx shows nothing but the path."""
    visitor = visit(url=proxied)
    page = visitor.page
    expect(page.locator("#cx-device")).to_have_attribute("data-state", "ready", timeout=20_000)
    visitor.ask("How many letters has a proxy?")
    visitor.wait_live()
    visitor.wait_idle()
    assert "We read" in visitor.text()
    page.locator(".cx-preset").nth(1).click()
    expect(page.locator(".cv-mode")).to_have_text("Recorded")
    assert page.evaluate("window.citer.link.address()").startswith(proxied)
    with page.expect_response(re.compile(r"plotly[^/]*\.min\.js"), timeout=30_000) as charts:
        visitor.open_view("Worth it here?")
    assert charts.value.ok
    expect(page.locator(".citer-profile .cp-number").first).to_be_visible(timeout=30_000)
    assert all(url.startswith((proxied, "blob:", "data:")) for url in visitor.requests)
    assert httpx.get(f"{proxied}config").json()["root"] == proxied.rstrip("/"), "for programs"
    moved = httpx.get(proxied.rstrip("/"))
    assert moved.status_code == 301 and moved.headers["location"].endswith(f"{PREFIX}/")


def test_tokens_come_through_as_they_are_written(proxied: str, server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy that collects them would show the first with the last; both to the page and to programs."""
    monkeypatch.setattr(server.engine, "delay_s", SLOW_TOKEN_S)
    with httpx.Client(base_url=proxied, timeout=60) as client:
        question = "What is a long question?"
        settings = {"max_new_tokens": 64}
        asked = {"question": question, "data_type": "open", "router": None, "settings": settings}
        with client.stream("POST", "citer/ask/run", json=asked) as stream:
            page = [time.monotonic() for line in stream.iter_lines() if '"tokens"' in line]
        data = [question, "open", json.dumps(settings), ""]
        event = client.post("gradio_api/call/route_trace", json={"data": data}).json()["event_id"]
        with client.stream("GET", f"gradio_api/call/route_trace/{event}") as stream:
            program = [time.monotonic() for line in stream.iter_lines() if line.startswith("data:")]
        for came in (page, program):
            assert len(came) > 4 and came[-1] - came[0] > 0.5


def test_what_the_visitor_says_of_forwarding_is_not_passed_on(proxied: str) -> None:
    forged = {"X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https", "X-Forwarded-Prefix": "/evil"}
    text = httpx.get(f"{proxied}config", headers=forged).text + httpx.get(proxied, headers=forged).text
    assert "evil" not in text and f'"root":"{proxied.rstrip("/")}"' in text.replace(" ", "")


def test_a_session_stays_with_its_replica(
    nginx: str, server: Served, make_server: Callable[..., Served], tmp_path: Path
) -> None:
    """Two servers behind the chapter's balancer, and visitors of several networks."""
    other = make_server(FakeEngine(script), root_path=PREFIX, **behind_a_proxy())
    other.may_load.set()
    ports = [port_of(one) for one in (server, other)]
    with Nginx(nginx, tmp_path, free_port(), ports, sticky=True) as proxy:
        for network in range(8):
            with HttpVisitor(f"{proxy.url}{PREFIX}/", address=f"127.0.{network}.1") as visitor:
                assert visitor.ask("engine_status")
                (trace,) = visitor.call("route_trace", "What is 2 + 3?", "math", '{"max_new_tokens": 64}', "")
                assert json.loads(trace)["finish_reason"] == "eos"
    asked = [(network, backend) for network, backend in proxy.asked() if backend != "-"]
    by_network = {network: {backend for other, backend in asked if other == network} for network, _ in asked}
    assert len(by_network) == 8 and all(len(backends) == 1 for backends in by_network.values())
    assert set.union(*by_network.values()) == {f"127.0.0.1:{port}" for port in ports}
    assert len(asked) >= 8 * 3
