"""What a program may send to the endpoints, over HTTP and MCP, that no page would: files, huge values, other kinds.

MCP is off unless asked for. Gradio's MCP server takes an object in the form of its own file data, anywhere in an
argument, for a file to be uploaded from the disk of the caller, which is the server itself.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from citer_core.config import AppConfig
from citer_core.decode_settings import SETTINGS, DecodeSettings, read_settings
from citer_core.errors import SettingError, TraceError
from citer_core.replay import replay
from citer_core.trace import RoutingTrace
from citer_core.ui.server import serves_mcp
from tests.damaged_traces import recorded
from tests.fakes import FakeEngine
from tests.own_time import OwnTime
from tests.sampling import few_or_all, sampled
from tests.traces import opening_run
from tests.ui.serving import Served, script

pytestmark = pytest.mark.ui
needs_mcp = pytest.mark.skipif(importlib.util.find_spec("mcp") is None, reason="gradio's extra mcp is not installed")
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
SECRET = "the contents of a file of the server"


@pytest.fixture(scope="module")
def server(make_server: Callable[..., Served]) -> Served:
    """A server that speaks MCP, which it does only when asked to."""
    server = make_server(FakeEngine(script), mcp=True)
    server.may_load.set()
    assert server.slot.wait(30) is not None
    return server


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file that was not given to the server."""
    path = tmp_path / "secret.txt"
    path.write_text(SECRET, encoding="utf-8")
    return path


@pytest.fixture
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where gradio, and its client inside the server, put files."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(folder))
    return folder


def ask_mcp(server: Served, *calls: tuple[str, dict[str, Any]]) -> tuple[list[Any], list[str]]:
    """The tools of the server, and the text of each call's answer."""
    from mcp import ClientSession
    from mcp.client.streamable_http import streamable_http_client

    async def ask() -> tuple[list[Any], list[str]]:
        async with (
            streamable_http_client(f"{server.url}gradio_api/mcp/") as (read, write, *_),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            tools = (await session.list_tools()).tools
            answers = [await session.call_tool(name, arguments) for name, arguments in calls]
            return tools, [" ".join(str(part.text) for part in answer.content) for answer in answers]

    with ThreadPoolExecutor(1) as pool:  # a browser of other tests may have a running loop in this thread
        return pool.submit(asyncio.run, ask()).result()


def post(server: Served, name: str, *data: Any) -> tuple[int, str]:
    """One call past gradio's client, which checks arguments: status and text of the answer."""
    with httpx.Client(base_url=f"{server.url}gradio_api/call/{name}", timeout=30) as client:
        try:
            asked = client.post("", json={"data": data})
            if asked.status_code != 200:
                return asked.status_code, asked.text
            answer = client.get(asked.json()["event_id"])
        except httpx.TransportError:  # the door closes it before all was sent
            return 413, ""
    return answer.status_code, answer.text


def file_of(path: object) -> dict[str, Any]:
    """What gradio takes for a file."""
    return {"path": str(path), "meta": {"_type": "gradio.FileData"}}


def call(server: Served, tool: str, arguments: dict[str, Any], **headers: str) -> httpx.Response:
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    url = f"{server.url}gradio_api/mcp/"
    return httpx.post(url, json=request, headers={**HEADERS, **headers}, timeout=30)


@needs_mcp
def test_it_is_off_unless_asked_for(served: Served) -> None:
    assert not AppConfig.read(environment={}).mcp and not AppConfig.read(environment={"CITER_MCP": "0"}).mcp
    config = AppConfig.read(environment={"CITER_MCP": "1"})
    assert config.mcp and serves_mcp(config)
    assert call(served, "list_presets", {}).status_code == 404


@needs_mcp
@pytest.mark.parametrize("tool", few_or_all("replay", "probe"))
def test_no_file_of_the_server_can_be_read_through_mcp(
    server: Served, secret: Path, cache: Path, tool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The door refuses such requests; the endpoints are safe without it."""
    answer = call(server, tool, {"trace": {"events": [file_of(secret)]}})
    assert answer.status_code == 400 and str(secret.parent) not in answer.text
    monkeypatch.setattr("citer_core.web.bodies._no_file", lambda value: value)
    monkeypatch.setattr("citer_core.web.bodies.check_tool_call", lambda *_: None)
    absent = secret.with_name("absent.txt")
    shapes: list[Callable[[Path], Any]] = [
        file_of,
        lambda path: {"schema": file_of(path)},
        lambda path: {**recorded(), "pair": file_of(path)},
        lambda path: [file_of(path)],
        lambda path: json.dumps(file_of(path)),
        lambda path: json.dumps({**recorded(), "title": file_of(path)}),
    ]
    calls = [(tool, {"trace": shape(path)}) for shape in shapes for path in (secret, absent)]
    calls += [(tool, {"preset": file_of(path)}) for path in (secret, absent)]
    calls += [(tool, {"another": file_of(path)}) for path in (secret, absent)]
    _, answers = ask_mcp(server, *calls)
    for there, gone in zip(answers[::2], answers[1::2], strict=True):
        # The validator of MCP may quote what was sent, but nothing may tell whether there is such a file.
        assert there.replace(secret.name, absent.name) == gone
        assert SECRET not in there and str(cache) not in there
        for word in there.replace("'", " ").replace('"', " ").split():
            if word.startswith("/"):
                answer = httpx.get(f"{server.url}gradio_api/file={word}")
                assert answer.status_code in (403, 404) and SECRET not in answer.text
    kept = [path for path in cache.rglob("*") if path.is_file()]
    assert not any(SECRET.encode() in path.read_bytes() for path in kept)


@needs_mcp
def test_every_argument_of_a_tool_is_plain_and_every_answer_is_json(server: Served) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("replay", {"preset": "bakery", "threshold": 0.5}),
        ("probe", {"preset": "capital"}),
        ("list_presets", {}),
        ("list_routers", {}),
        ("route_trace", {"question": "What is 6 times 7?"}),
    ]
    tools, answers = ask_mcp(server, *calls)
    assert [tool.name for tool in tools] == ["route_trace", "replay", "probe", "list_presets", "list_routers"]
    about_settings = str(tools[0].inputSchema["properties"]["settings"]["description"])
    assert all(f"{name}, {row.kind.wanted} ({row.default:g};" in about_settings for name, row in SETTINGS.items())
    for tool in tools:
        for name, schema in tool.inputSchema["properties"].items():
            # What may hold an object, gradio searches for files.
            assert schema.get("type") in ("string", "number", "integer") or "enum" in schema, (tool.name, name)
    replayed, probed, presets, routers, trace = map(json.loads, answers)
    assert replayed["first_flip"] == replay(opening_run(), 0.5).first_flip and replayed["cost"]["routed"]["bytes"] > 0
    assert len(probed) > 5 and presets[0]["preset"] == "bakery" and routers[0]["router"] == "citer"
    assert RoutingTrace.from_dict(trace).finish_reason == "eos"


@needs_mcp
def test_an_error_does_not_repeat_what_was_sent(server: Served) -> None:
    for tool, field in (("replay", "threshold"), ("x" * 9_000, "a")):
        answer = call(server, tool, {field: "y" * 900_000, "question": "Once"})
        assert answer.status_code == 400 and len(answer.content) < 300
        short = call(server, tool[:20], {field: ["y"], "question": "Once"})
        assert short.status_code == 200 and len(short.content) < 3_000


@needs_mcp
def test_it_is_not_for_other_sites(server: Served) -> None:
    assert call(server, "list_presets", {}, Origin="http://evil.example").status_code == 403
    assert call(server, "list_presets", {}, Host="evil.example").status_code == 421
    assert call(server, "list_presets", {}).status_code == 200


def too_much(kind: str) -> str:
    """A document that is too much, as text."""
    whole = recorded()
    if kind == "events":
        events = [{**whole["events"][0], "index": index} for index in range(100_000)]
        return json.dumps({**whole, "events": events})
    if kind == "prompt":
        return json.dumps({**whole, "prompt": {**whole["prompt"], "text": "word " * 2_000_000}})
    if kind == "digits":
        return json.dumps(whole).replace('"n_tokens": ', '"n_tokens": ' + "9" * 5000, 1)
    return "[" * 1_000_000


@pytest.mark.parametrize("kind", sampled(["deep", "events", "digits", "prompt"], 2))
def test_documents_that_are_too_much_are_calm_errors(server: Served, kind: str) -> None:
    document = too_much(kind)
    with OwnTime() as spent, pytest.raises(TraceError) as caught:
        RoutingTrace.from_json(document)
    assert spent.seconds < 0.2 and len(str(caught.value)) < 400
    for name, arguments in (("replay", [document, 0.5, ""]), ("probe", [document, ""])):
        status, text = post(server, name, *arguments)
        assert "event: complete" not in text and len(text) < 1000, (name, status, text[:200])


@pytest.mark.parametrize("value", sampled([10**400, True, {"a": 1}, "x" * 100_000, None, [0.5], -1], 3))
def test_any_value_for_a_number_is_a_calm_error(server: Served, value: Any) -> None:
    for setting in SETTINGS:
        bad = {setting: 2**64 if (setting, value) == ("seed", -1) else value}
        for form in (bad, json.dumps(bad)):
            with pytest.raises(SettingError):
                DecodeSettings(**read_settings(form))
    calls = [
        ("replay", ["", value, "bakery"]),
        ("route_trace", ["1 + 1?", value, "", ""]),
        ("route_trace", ["1 + 1?", "math", json.dumps({"threshold": value}), ""]),
    ]
    for name, arguments in calls:
        status, text = post(server, name, *arguments)
        assert "event: error" in text or status >= 400, (name, arguments, text[:300])
        assert "event: complete" not in text and len(text) < 2000 and "xxxxxxxxxx" * 5 not in text
