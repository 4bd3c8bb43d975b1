"""MCP: off unless asked for; on, it is asked by programs only, and hands out no file of the server.

Gradio's MCP server takes an object in the form of its own file data, anywhere in an argument, for a file to be uploaded
from the disk of the caller, which is the server itself.
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
from citer_core.ui.server import serves_mcp
from tests.fakes import FakeEngine
from tests.ui.serving import Served, script

pytestmark = [
    pytest.mark.ui,
    pytest.mark.skipif(importlib.util.find_spec("mcp") is None, reason="gradio's extra mcp is not installed"),
]
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def speaking(make_server: Callable[..., Served]) -> Served:
    """A server that was started with CITER_MCP=1."""
    server = make_server(FakeEngine(script), mcp=True)
    server.may_load.set()
    assert server.slot.wait(30) is not None
    return server


def call(served: Served, tool: str, arguments: dict[str, Any], **headers: str) -> httpx.Response:
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    url = f"{served.url}gradio_api/mcp/"
    return httpx.post(url, json=request, headers={**HEADERS, **headers}, timeout=30)


def test_it_is_off_unless_asked_for(served: Served) -> None:
    assert not AppConfig.read(environment={}).mcp and not AppConfig.read(environment={"CITER_MCP": "0"}).mcp
    config = AppConfig.read(environment={"CITER_MCP": "1"})
    assert config.mcp and serves_mcp(config)
    assert call(served, "list_presets", {}).status_code == 404
    for path in ("mcp", "mcp/", "mcp/sse", "mcp/messages", "mcp/schema", "mcp/http"):
        assert httpx.get(f"{served.url}gradio_api/{path}").status_code == 404


def test_the_endpoints_are_tools(speaking: Served) -> None:
    from mcp import ClientSession
    from mcp.client.streamable_http import streamable_http_client

    async def ask() -> tuple[list[str], str]:
        async with (
            streamable_http_client(f"{speaking.url}gradio_api/mcp/") as (read, write, *_),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            tools = [tool.name for tool in (await session.list_tools()).tools]
            answer = await session.call_tool("replay", {"preset": "bakery", "threshold": 0.5})
            return tools, str(answer.content[0])

    with ThreadPoolExecutor(1) as pool:  # a browser of other tests may have a running loop in this thread
        tools, answer = pool.submit(asyncio.run, ask()).result()
    assert tools == ["route_trace", "replay", "probe", "list_presets", "list_routers"]
    assert "first_flip" in answer


@pytest.mark.parametrize("tool", ["replay", "probe"])
def test_a_file_of_the_server_can_not_be_read(speaking: Served, tmp_path: Path, tool: str) -> None:
    """The two requests: a tool that is given the file, and the address under which it was kept."""
    secret = tmp_path / "secret.txt"
    secret.write_text("a very secret text")
    file = {"path": str(secret), "meta": {"_type": "gradio.FileData"}}
    for trace in (file, {"events": [file]}, {"a": {"b": [[file]]}}):
        answer = call(speaking, tool, {"trace": trace})
        assert answer.status_code == 400 and str(tmp_path) not in answer.text
    # Whether a file exists is not told either.
    missing = {**file, "path": str(tmp_path / "none.txt")}
    assert call(speaking, tool, {"trace": missing}).content == answer.content
    for path in (secret, *tmp_path.glob("**/*")):
        assert httpx.get(f"{speaking.url}gradio_api/file={path}").status_code == 404


def test_a_file_inside_a_text_is_not_read(speaking: Served, tmp_path: Path) -> None:
    """The same as JSON text, which is how a trace may be given."""
    secret = tmp_path / "secret.txt"
    secret.write_text("a very secret text")
    text = json.dumps({"path": str(secret), "meta": {"_type": "gradio.FileData"}})
    for argument in (text, json.dumps(text)):
        answer = call(speaking, "replay", {"trace": argument})
        assert "very secret" not in answer.text and "gradio_api/file" not in answer.text


@pytest.mark.parametrize(("tool", "field"), [("replay", "threshold"), ("route_trace", "data_type"), ("x" * 9_000, "a")])
def test_an_error_does_not_repeat_what_was_sent(speaking: Served, tool: str, field: str) -> None:
    for value in ("y" * 900_000, ["y" * 9_000]):
        answer = call(speaking, tool, {field: value, "question": "Once"})
        assert answer.status_code == 400 and len(answer.content) < 300
    short = call(speaking, tool[:20], {field: ["y"], "question": "Once"})
    assert short.status_code == 200 and len(short.content) < 3_000


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://evil.example"}, 403),
        ({"Host": "evil.example"}, 421),
        ({"Host": "evil.example", "Origin": "http://evil.example"}, 421),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Content-Type": "text/plain"}, 415),
    ],
)
def test_it_is_not_for_other_sites(speaking: Served, headers: dict[str, str], status: int) -> None:
    assert call(speaking, "list_presets", {}, **headers).status_code == status
    assert call(speaking, "list_presets", {}).status_code == 200
