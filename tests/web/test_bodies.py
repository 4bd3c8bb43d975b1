"""Bodies: kind, size, time and shape are checked before they are parsed."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from citer_core.web import bodies
from citer_core.web.bodies import SHORT_CHARS, Bodies
from citer_core.web.open_routes import RUN_BYTES, SMALL_BYTES, OpenRoutes
from tests.web.asgi import Answer, Inner, ask

JSON = {"Content-Type": "application/json"}
JOIN, CANCEL, PAGE = "/gradio_api/queue/join", "/gradio_api/cancel", "/citer/ask/run"
LIMITS = {
    0: {0: 10, 1: 100_000},
    "generate": {"data_type": 10, "question": 100_000},
    "replay": {"trace": RUN_BYTES, "threshold": SHORT_CHARS},
}


def door(**how: float) -> tuple[OpenRoutes, Inner]:
    inner = Inner()
    app = Bodies(inner, lambda function: LIMITS.get(function), **how)  # type: ignore[call-overload]
    return OpenRoutes(app, has_login=True, has_mcp=True), inner


def post(path: str, document: Any, headers: dict[str, str] = JSON, **how: float) -> Answer:
    app, inner = door(**how)
    body = document if isinstance(document, bytes | list) else json.dumps(document).encode()
    answer = ask(app, path, "POST", headers, body)
    assert bool(inner.bodies) == (answer.status == 200)
    if inner.bodies and isinstance(body, bytes):
        assert inner.bodies == [body]
    return answer


def test_a_body_is_handed_on_as_it_came() -> None:
    assert post(JOIN, {"data": ["a", "b" * 50_000], "fn_index": 0, "session_hash": "abc123"}).status == 200
    assert post(JOIN, [b'{"fn_index": 0, "data": ', b"[]", b"}"]).status == 200
    assert post("/login", b"username=a&password=b", {"Content-Type": "application/x-www-form-urlencoded"}).status == 200


def test_only_json_is_json() -> None:
    """The kinds that another site's page may send without asking first."""
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "text/json"):
        answer = post(CANCEL, {}, {"Content-Type": kind} if kind else {})
        assert answer.status == 415 and "application/json" in answer.detail
    assert post(CANCEL, {}, {"Content-Type": "Application/JSON; charset=utf-8"}).status == 200


def test_each_address_has_its_size() -> None:
    small = b'{"data": "' + b"x" * (SMALL_BYTES - 12) + b'"}'
    assert post(CANCEL, small).status == 200
    assert post(CANCEL, small + b" ").status == 413
    assert post(CANCEL, [small, b" "]).status == 413, "however it is sent"
    assert post(CANCEL, b"", {**JSON, "Content-Length": str(SMALL_BYTES + 1)}).status == 413, "before it is sent"
    assert post(JOIN, {"fn_index": 0, "data": ["", "x" * 99_000]}).status == 200
    assert post(JOIN, b"[" + b" " * RUN_BYTES + b"]").status == 413
    assert post(JOIN, b"{}", {**JSON, "Content-Length": "-1"}).status == 400
    app, inner = door()
    assert ask(app, "/config", "GET", {}, b"x").status == 413 and not inner.scopes


def test_a_slow_or_silent_body_is_cut() -> None:
    assert post(JOIN, [b"{", None], silence_s=0.05).status == 408
    assert post(JOIN, [b"{", b" ", b"}"], patience_s=0.0).status == 408


def test_all_bodies_together_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "SMALL_BYTES", 100)
    large = json.dumps({"fn_index": 0, "data": ["", "x" * 200]}).encode()
    for bound in ("MAX_HELD_BYTES", "MAX_HELD_OF_ONE"):
        with monkeypatch.context() as patch:
            patch.setattr(bodies, bound, 110)
            app, inner = door()
            for _ in range(3):  # what was refused is not held any more
                assert ask(app, JOIN, "POST", JSON, large).status == 503
                assert ask(app, JOIN, "POST", JSON, b'{"fn_index": 0, "data": []}').status == 200
            assert len(inner.bodies) == 3


def test_one_address_does_not_shut_out_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """28 connections with half a body each had every other post refused for as long as they cared to wait."""
    monkeypatch.setattr(bodies, "SMALL_BYTES", 100)
    monkeypatch.setattr(bodies, "MAX_HELD_OF_ONE", 500)
    inner = Inner()
    app = OpenRoutes(Bodies(inner, LIMITS.get, silence_s=0.3), has_login=False, has_mcp=False)
    half = [b'{"fn_index": 0, "data": ["", "' + b"x" * 400, None]
    whole = json.dumps({"fn_index": 0, "data": ["", "x" * 300]}).encode()
    with ThreadPoolExecutor(3) as pool:
        slow = pool.submit(ask, app, JOIN, "POST", JSON, list(half), client=("10.0.0.1", 1))
        time.sleep(0.1)
        same = pool.submit(ask, app, JOIN, "POST", JSON, whole, client=("10.0.0.1", 2))
        other = pool.submit(ask, app, JOIN, "POST", JSON, whole, client=("10.0.0.2", 1))
        assert (same.result().status, other.result().status, slow.result().status) == (503, 200, 408)


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"\xff", b"[" * 100_000, b'{"a":' * 70 + b"1" + b"}" * 70, b"[" * 65 + b"]" * 65,
        b"1" * 5_000, b"[" + b"[]," * 1_100_000 + b"[]]", b'"\xed\xa0\x80"',
    ],
)  # fmt: skip
def test_what_is_no_json_is_said_calmly(body: bytes) -> None:
    assert post(JOIN, body).status == 400


def test_a_run_inside_a_text_may_have_many_marks() -> None:
    assert post("/gradio_api/call/replay", {"data": ["[{," * 500_000, 0]}).status == 200


FILE = {"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}}


@pytest.mark.parametrize("path", [JOIN, "/gradio_api/call/replay", "/gradio_api/call/v2/replay", "/gradio_api/mcp/"])
def test_nothing_may_be_taken_for_a_file(path: str) -> None:
    for document in (FILE, {"data": [FILE]}, {"data": [{"a": [{"b": {**FILE, "url": "http://example.org/"}}]}]}):
        answer = post(path, document)
        assert answer.status == 400 and "takes no files" in answer.detail
    hidden = json.dumps({"data": [FILE]}).replace("gradio.FileData", "gradio\\u002eFile\\u0044ata").encode()
    assert post(path, hidden).status == 400
    assert post(path, {"fn_index": 0, "data": ["gradio", 0], "path": "x"}).status == 200


def test_what_is_missing_of_a_call_is_named() -> None:
    answer = post("/gradio_api/call/replay", {"data": ["gradio"]})
    assert answer.status == 400 and "1 of 2 values" in answer.detail and "trace, threshold" in answer.detail


def test_fields_keep_their_length() -> None:
    for function in ({"fn_index": 0}, {}):
        path = JOIN if function else "/gradio_api/call/generate"
        assert post(path, {**function, "data": ["x" * 10, "y" * 1000]}).status == 200
        for value in ("x" * 11, ["x"] * 4, {"a": "xxxxxxxx"}):
            answer = post(path, {**function, "data": [value, ""]})
            assert answer.status == 400 and len(answer.body) < 200
        assert post(path, {**function, "data": ["", "", "more"]}).status == 400
    assert post("/gradio_api/call/v2/generate", {"question": "y" * 1000}).status == 200
    assert post("/gradio_api/call/v2/generate", {"question": "y" * 100_001}).status == 400
    assert post("/gradio_api/call/v2/generate", {"data_type": "y" * 11}).status == 400


def test_a_message_to_mcp_is_short_but_for_its_texts() -> None:
    """Its errors repeat what they refuse: a value of the wrong kind, an unknown tool or method."""
    path = "/gradio_api/mcp/"

    def call(name: str, **arguments: object) -> dict[str, object]:
        return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}

    text = "x" * 100_000
    assert post(path, call("replay", trace=text, threshold=0.5)).status == 200
    refused = [
        call("replay", threshold=text), call("replay", trace=[text]), call("replay", trace={text: 1}), call(text),
        call("replay", **{text: 1}), call("nope", trace=text), {**call("replay", trace=text), "method": text}, [text],
        {"params": text}, {"params": {"name": "replay", "arguments": text}}, {**call("replay"), "id": text},
    ]  # fmt: skip
    for document in refused:
        answer = post(path, json.dumps(document).encode())
        assert answer.status == 400 and len(answer.body) < 200


@pytest.mark.parametrize("number", ["0", 0.5, " 0 ", "0_0", True, None, 99, "generate", [0]])
def test_what_the_door_does_not_know_is_refused(number: object) -> None:
    """Gradio takes "14" and 14.0 for 14; so did no limit hold for them."""
    answer = post(JOIN, {"fn_index": number, "data": ["x" * 2_000_000]})
    assert answer.status == 400 and len(answer.body) < 200
    assert post("/gradio_api/call/nope", {"data": []}).status == 400


@pytest.mark.parametrize("session", ["x" * 65, "../..", 7, {}, "a b"])
def test_a_session_is_a_short_name(session: object) -> None:
    assert post(JOIN, {"data": [], "session_hash": session}).status == 400
    assert post(JOIN, {"fn_index": 0, "data": [], "session_hash": "k3j9x0q2abc"}).status == 200


def test_what_a_page_asks_is_bounded_and_read_by_its_answer() -> None:
    assert post(PAGE, b"no JSON").status == 200
    assert post(PAGE, b"x" * (RUN_BYTES + 1)).status == 413
