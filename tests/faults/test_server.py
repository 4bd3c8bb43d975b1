"""The LLM on a server that is gone, slow, or answers nonsense: the run ends in words and keeps what it has."""

from __future__ import annotations

import json
import socket
import threading
import time

import pytest

from citer_core.cli.main import main
from citer_core.config import LlmServer
from citer_core.engine import Run
from citer_core.errors import ServerError, SettingError
from citer_core.models import server_client
from citer_core.routing.routers.training_free import MaxProbabilityRouter
from citer_core.tasks.problems import problem_from_text
from citer_core.types import DecodeSettings
from tests.core.examples import remote

GOOD = {"index": 0, "token_ids": [5], "logprobs": {"tokens": ["token_id:5"], "top_logprobs": [{"token_id:5": -0.1}]}}


def completion(**changes) -> bytes:
    return json.dumps({"choices": [GOOD | changes]}).encode()


def tops(**values) -> bytes:
    named = {f"token_id:{name.removeprefix('t')}": value for name, value in values.items()}
    return completion(logprobs={"top_logprobs": [named]})


def run_that_fails(tiny_pair, server, *lies: bytes, n_good: int = 2, **options) -> tuple[Run, str]:
    """A run whose LLM answers well `n_good` times and then lies; what the error says."""
    pair = remote(tiny_pair, server, **options)
    settings = DecodeSettings(threshold=1.0, max_new_tokens=8)
    run = Run(pair, MaxProbabilityRouter(), problem_from_text("Tom", "open"), pair.encode("Tom"), settings)
    events = iter(run)
    for _ in range(n_good):
        next(events)
    for lie in lies:
        server.lie(lie)
    with pytest.raises(ServerError) as caught:
        next(events)
    assert run.finish_reason == "error" and run.error == str(caught.value)
    trace = run.trace()
    assert trace.n_tokens == n_good, "what was written is kept"
    assert json.loads(trace.to_json())["finish_reason"] == "error"
    assert len(str(caught.value)) < 600
    return run, str(caught.value)


def test_gone_in_a_batch_run(row, folders, server, tiny_pair, tmp_path, capsys):
    from tests.completions_server import CompletionsServer

    out = tmp_path / "out.jsonl"
    common = ["route", "--pair", folders, "--router", "max-probability", "--threshold", "1", "--max-new-tokens", "4"]
    common += ["--dataset-path", "assets/datasets/math.jsonl", "--limit", "6", "--batch-size", "1"]
    server.die_after = 14
    assert main([*common, "--llm-url", server.url, "--output-file", str(out)]) == 3
    row.said(capsys.readouterr().err)
    kept = out.read_text(encoding="utf-8").splitlines()
    assert 0 < len(kept) < 6
    with CompletionsServer(tiny_pair.llm.model, tiny_pair.tokenizer) as back:
        assert main([*common, "--llm-url", back.url, "--output-file", str(out)]) == 0
    found = out.read_text(encoding="utf-8").splitlines()
    assert found[: len(kept)] == kept and len({json.loads(line)["id"] for line in found}) == 6


def test_slow(row, tiny_pair, server):
    pair = remote(tiny_pair, server, timeout_s=0.3)
    server.delay_s = 2.0
    start = time.monotonic()
    with pytest.raises(ServerError) as caught:
        pair.llm.next_tokens([[1]])
    assert time.monotonic() - start < 1.5
    row.said(str(caught.value))


@pytest.mark.parametrize(
    "page",
    [b"<html><body><h1>502 Bad Gateway</h1></body></html>", b"", b"\xff\xfe\x00", b"[" * 100_000, b"7" * 10_000],
    ids=["a page", "nothing", "no text", "brackets", "digits"],
)
def test_html(row, tiny_pair, server, page):
    _, said = run_that_fails(tiny_pair, server, page)
    row.said(said)


@pytest.mark.parametrize("token_id", [1536, -1, 10**30])
@pytest.mark.parametrize("where", ["the token", "a candidate"])
def test_wrong_ids(row, tiny_pair, server, token_id, where):
    lie = completion(token_ids=[token_id]) if where == "the token" else tops(**{f"t{token_id}": -1.0})
    _, said = run_that_fails(tiny_pair, server, lie)
    row.said(said)


@pytest.mark.parametrize("value", [7.5, "much", None, [1], 10**30, {}], ids=str)
def test_no_log_probabilities(row, tiny_pair, server, value):
    _, said = run_that_fails(tiny_pair, server, tops(t5=value))
    row.said(said)


@pytest.mark.parametrize("name", ["NaN", "Infinity", "-Infinity"])
def test_nan(row, tiny_pair, server, name):
    """Python's reader takes these for numbers, and a probability made of NaN was 1."""
    _, said = run_that_fails(tiny_pair, server, tops(t5=-1.0).replace(b"-1.0", name.encode()))
    row.said(said)


class Raw:
    """Answers each request with given bytes, for as long as it is open."""

    def __init__(self, head: bytes, block: bytes, pause_s: float = 0.0) -> None:
        self.head, self.block, self.pause_s, self.n_sent, self.is_over = head, block, pause_s, 0, False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/v1"
        self.thread = threading.Thread(target=self.serve)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over = True
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()

    def serve(self):
        while not self.is_over:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                try:
                    connection.recv(65536)
                    connection.sendall(self.head)
                    while not self.is_over:
                        connection.sendall(self.block)
                        self.n_sent += len(self.block)
                        time.sleep(self.pause_s)
                except OSError:
                    continue


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize("framing", ["chunks", "until it closes"])
def test_an_answer_without_an_end(row, tiny_pair, monkeypatch, framing):
    monkeypatch.setattr(server_client, "MAX_ANSWER_BYTES", 4 * 2**20)
    block = b" " * 65536
    if framing == "chunks":
        raw = Raw(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + block + b"\r\n")
    else:
        raw = Raw(HEAD + b"Connection: close\r\n\r\n", block)
    with raw:
        with pytest.raises(ServerError) as caught:
            remote(tiny_pair, raw, timeout_s=20.0).llm.next_tokens([[1]])
        assert raw.n_sent < 32 * 2**20, "it is not read on"
    row.said(str(caught.value))


def test_an_answer_that_trickles(row, tiny_pair):
    """Every byte restarts the socket's own limit; the token's limit goes on."""
    start = time.monotonic()
    with Raw(HEAD + b"Content-Length: 100000\r\n\r\n", b" ", pause_s=0.02) as raw, pytest.raises(ServerError) as caught:
        remote(tiny_pair, raw, timeout_s=0.5).llm.next_tokens([[1]])
    assert time.monotonic() - start < 3.0
    row.said(str(caught.value))


@pytest.mark.parametrize("key", ["secret\nX-Other: 1", "secret\r\n\r\nGET /", "se\x00cret", "secrét", "secret\x7f"])
def test_a_key_that_is_none(row, monkeypatch, key, capsys):
    with pytest.raises(SettingError) as caught:
        LlmServer("http://127.0.0.1:9/v1", api_key=key)
    row.said(str(caught.value))
    if "\x00" not in key:
        monkeypatch.setenv("CITER_LLM_API_KEY", key)
        assert main(["route", "--question", "1+1?", "--llm-url", "http://127.0.0.1:9/v1"]) == 2
        said = "".join(capsys.readouterr())
        row.said(said)
        assert "secr" not in said and "X-Other" not in said
    assert LlmServer("http://127.0.0.1:9/v1", api_key="secret\n").api_key == "secret", "as a file ends"
