"""Who may ask: the names that a server has, and the pages that are its own."""

from __future__ import annotations

import pytest

from citer_core.web.settings import SPACE_FRAMES, WebSettings
from citer_core.web.visitors import OwnHosts, Visitors
from tests.web.asgi import Inner, ask

HERE = "127.0.0.1:7860"
SPACE = WebSettings(is_proxied=True, frame_ancestors=SPACE_FRAMES)


def door(host: str = "127.0.0.1", settings: WebSettings | None = None) -> tuple[Visitors, Inner]:
    settings = settings or WebSettings()
    inner = Inner()
    hosts = OwnHosts(host, 7860, settings)
    return Visitors(inner, hosts, is_proxied=settings.is_proxied, open_paths=frozenset({"/healthz"})), inner


def status(headers: dict[str, str], method: str = "POST", path: str = "/gradio_api/queue/join", **how: object) -> int:
    app, inner = door(**how)  # type: ignore[arg-type]
    answer = ask(app, path, method, headers)
    assert bool(inner.scopes) == (answer.status == 200)
    return answer.status


def test_on_loopback_this_machines_names_are_right() -> None:
    for name in (HERE, "localhost:7860", "[::1]:7860", "LOCALHOST:7860"):
        assert status({"Host": name, "Origin": f"http://{name}", "Sec-Fetch-Site": "same-origin"}) == 200


@pytest.mark.parametrize(
    "name", ["evil.example:7860", "evil.example", "127.0.0.1:8000", "127.0.0.1", "127.0.0.1.evil.example:7860", ""]
)
def test_on_loopback_any_other_name_is_a_rebound_one(name: str) -> None:
    assert status({"Host": name}) == 421
    # What a page of that name sends is same-origin for the browser.
    assert status({"Host": name, "Origin": f"http://{name}", "Sec-Fetch-Site": "same-origin"}) == 421
    assert status({"Host": name, "X-Forwarded-Host": HERE}) == 421
    assert status({"Host": name}, "GET", "/") == 421
    assert status({"Host": name}, "GET", "/healthz") == 200


def test_without_a_host_nothing_is_answered() -> None:
    assert status({}) == 421
    app, inner = door()
    assert ask(app, headers=[("Host", HERE), ("Host", "evil.example")]).status == 400 and not inner.scopes


def test_more_names_can_be_allowed_with_a_port_or_with_any() -> None:
    settings = WebSettings(allowed_hosts=("citer.example.org", "10.0.0.5:7860"))
    for host in ("127.0.0.1", "0.0.0.0"):
        for name in ("citer.example.org", "citer.example.org:8443", "10.0.0.5:7860", HERE):
            assert status({"Host": name}, host=host, settings=settings) == 200
        for name in ("10.0.0.5:80", "evil.example", "x.citer.example.org"):
            assert status({"Host": name}, host=host, settings=settings) == 421


def test_a_server_for_others_takes_any_name_until_it_is_told_its_own() -> None:
    assert status({"Host": "whatever.example"}, host="0.0.0.0") == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:8000"},
        {"Origin": "http://localhost:7860"},  # another name is another site, even of this machine
        {"Origin": "https://127.0.0.1"},
        {"Origin": "http://127.0.0.1:7860.evil.example"},
        {"Origin": "http://127.0.0.1:7860@evil.example"},
        {"Origin": "file://"},
        {"Origin": "http://127.0.0.1:x"},
        {"Origin": ""},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Origin": f"http://{HERE}"},
        {"Sec-Fetch-Site": "same-origin", "Origin": "http://evil.example"},
    ],
)
def test_pages_of_other_sites_are_refused(headers: dict[str, str]) -> None:
    for method in ("POST", "GET", "OPTIONS"):
        assert status({"Host": HERE, **headers}, method) == 403


def test_programs_say_nothing_of_a_page_and_may_ask() -> None:
    assert status({"Host": HERE}) == 200
    assert status({"Host": HERE, "Sec-Fetch-Site": "none"}) == 200


def test_links_and_frames_lead_to_the_page_and_nowhere_else() -> None:
    link = {"Host": HERE, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    frame = {**link, "Sec-Fetch-Dest": "iframe"}
    for headers in (link, frame):
        assert status(headers, "GET", "/") == 200
        assert status(headers, "POST", "/") == 403  # a form
        assert status(headers, "GET", "/logout") == 403
    assert status({**link, "Sec-Fetch-Dest": "object"}, "GET", "/") == 403
    app, _ = door()
    assert ask(app, "/citer/", headers=frame, root_path="/citer").status == 200


def test_a_space_is_asked_from_inside_its_frame() -> None:
    name = "team-citer.hf.space"
    inside = {"Host": name, "Origin": f"https://{name}", "Sec-Fetch-Site": "same-origin"}
    assert status(inside, host="0.0.0.0", settings=SPACE) == 200
    assert status({**inside, "Host": "10.1.2.3:7860", "X-Forwarded-Host": name}, host="0.0.0.0", settings=SPACE) == 200
    outside = {"Host": name, "Origin": "https://huggingface.co", "Sec-Fetch-Site": "cross-site"}
    assert status(outside, host="0.0.0.0", settings=SPACE) == 403


def test_what_a_proxy_says_is_believed_only_where_there_is_one() -> None:
    headers = {"Host": HERE, "X-Forwarded-Host": "citer.example.org", "X-Forwarded-Proto": "https"}
    app, inner = door()
    assert ask(app, headers=headers).status == 200
    assert not [name for name, _ in inner.scopes[0]["headers"] if name.startswith(b"x-forwarded")]
    app, inner = door(settings=WebSettings(is_proxied=True, allowed_hosts=("citer.example.org",)))
    assert ask(app, headers=headers).status == 200
    assert (b"x-forwarded-host", b"citer.example.org") in inner.scopes[0]["headers"]
    assert ask(app, headers={**headers, "X-Forwarded-Host": "evil.example"}).status == 421
