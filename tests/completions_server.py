"""A small OpenAI-compatible completions server over a tiny transformers model, in a thread of the test.

    with CompletionsServer(model, tokenizer) as server:
        server.fail(500, times=2)               # the next two answers
        lm = RemoteLM.connect(LlmServer(server.url), tokenizer)

It answers as vLLM does where we look: token ids, `token_id:N` names, `prompt_token_ids`, `prompt_logprobs`, choices
with an index, the token that a text stops at. Every text is fed to the model as a whole for every token, so that it
shares no code and no cache with what it is compared with.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections import deque
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import torch


class CompletionsServer:
    """See above.

    Attributes:
        bodies: every completion request so far, as JSON.
        n_connections: that were ever opened.
        delay_s: before each answer.
        key: a bearer token that is asked for, where not "".
    """

    def __init__(self, model, tokenizer, *, name: str = "tiny-llm", max_model_len: int | None = 512, port: int = 0):
        self.model, self.tokenizer = model, tokenizer
        self.names = [name]
        self.max_model_len = max_model_len
        self.bodies: list[dict[str, Any]] = []
        self.n_connections = 0
        self.delay_s = 0.0
        self.key = ""
        self.lies: deque[bytes | tuple[int, bytes]] = deque()
        self.close_after_answers = False
        self.die_after: int | None = None
        self._open: set[socket.socket] = set()
        self._model_lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", port), _handler_of(self))
        self._http.daemon_threads = True
        self.port = self._http.server_port
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.kill()

    def fail(self, status: int, times: int = 1, message: str = "scripted failure") -> None:
        """Answers the next completions with an error."""
        body = json.dumps({"error": {"message": message, "type": "InternalServerError"}}).encode()
        self.lies.extend([(status, body)] * times)

    def lie(self, answer: bytes, times: int = 1) -> None:
        """Answers the next completions with these bytes and status 200."""
        self.lies.extend([answer] * times)

    def kill(self) -> None:
        """Dies as a killed process does: nothing listens any more, open connections are reset."""
        self._http.shutdown()
        self._http.server_close()
        self.drop_connections()

    def drop_connections(self) -> None:
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        prompts = body["prompt"]
        if isinstance(prompts, str) or isinstance(prompts[0], int):
            prompts = [prompts]
        with self._model_lock:
            choices = [self._choice(i, prompt, body) for i, prompt in enumerate(prompts)]
        return {"object": "text_completion", "choices": choices[::-1], "usage": {}}  # in any order

    def _choice(self, index: int, prompt: str | Sequence[int], body: dict[str, Any]) -> dict[str, Any]:
        ids = list(self.tokenizer(prompt)["input_ids"] if isinstance(prompt, str) else prompt)
        n_prompt, ends, finish_reason = len(ids), set(body.get("stop_token_ids", ())), "length"
        choice: dict[str, Any] = {"index": index}
        logits = self._logits(ids)
        if body.get("prompt_logprobs") is not None:
            choice["prompt_logprobs"] = [None, *self._of_prompt(ids, logits, body["prompt_logprobs"])]
        for _ in range(body["max_tokens"]):
            last = logits[-1]
            if body["temperature"] == 0:
                token = int(last.argmax())
            else:
                assert body["max_tokens"] == 1
                draws = torch.Generator().manual_seed(body["seed"])
                token = int(torch.multinomial((last / body["temperature"]).softmax(-1), 1, generator=draws))
            ids.append(token)
            if token in ends:
                finish_reason = "stop"
                break
            if len(ids) - n_prompt < body["max_tokens"]:
                logits = self._logits(ids)
        new_ids = ids[n_prompt:]
        choice |= {"text": self.tokenizer.decode(new_ids), "finish_reason": finish_reason}
        if body.get("return_token_ids"):
            choice |= {"token_ids": new_ids, "prompt_token_ids": ids[:n_prompt]}
        if body.get("logprobs"):
            assert len(new_ids) == 1
            values, top = last.log_softmax(-1).topk(body["logprobs"])
            named = {f"token_id:{i}": v for i, v in zip(top.tolist(), values.tolist(), strict=True)}
            named.setdefault(f"token_id:{token}", float(last.log_softmax(-1)[token]))
            choice["logprobs"] = {"tokens": [f"token_id:{token}"], "top_logprobs": [named]}
        return choice

    def _logits(self, ids: Sequence[int]) -> torch.Tensor:
        with torch.inference_mode():
            return self.model(torch.tensor([list(ids)])).logits[0, :, : len(self.tokenizer)].float()

    def _of_prompt(self, ids: Sequence[int], logits: torch.Tensor, n_top: int) -> list[dict[str, Any]]:
        """For every token but the first: the most probable ones in its place, and itself where it is not among them."""
        places = []
        for token, values in zip(ids[1:], logits.log_softmax(-1), strict=False):
            named = dict.fromkeys([token, *values.topk(n_top).indices.tolist()])
            places.append(
                {
                    str(i): {
                        "logprob": float(values[i]),
                        "rank": int((values > values[i]).sum()) + 1,
                        "decoded_token": self.tokenizer.decode([i]),
                    }
                    for i in named
                }
            )
        return places


def _handler_of(server: CompletionsServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def setup(self):
            super().setup()
            server.n_connections += 1
            server._open.add(self.connection)

        def finish(self):
            server._open.discard(self.connection)
            with contextlib.suppress(OSError):
                super().finish()

        def handle(self):
            with contextlib.suppress(OSError):  # the client gave up, or `kill`
                super().handle()

        def do_GET(self):
            if self._refused():
                return
            if self.path != "/v1/models":
                self._send(404, b'{"detail": "Not Found"}')
                return
            models = [{"id": n, "object": "model", "max_model_len": server.max_model_len} for n in server.names]
            self._send(200, json.dumps({"object": "list", "data": models}).encode())

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self._refused():
                return
            server.bodies.append(body)
            if server.die_after is not None and len(server.bodies) > server.die_after:
                threading.Thread(target=server.kill).start()
                time.sleep(0.3)
                return
            time.sleep(server.delay_s)
            if server.lies:
                lie = server.lies.popleft()
                self._send(*(lie if isinstance(lie, tuple) else (200, lie)))
                return
            self._send(200, json.dumps(server.answer(body)).encode())

        def _refused(self) -> bool:
            if server.key and self.headers["Authorization"] != f"Bearer {server.key}":
                self._send(401, b'{"error": "Unauthorized"}')
                return True
            return False

        def _send(self, status: int, body: bytes):
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            self.close_connection = server.close_after_answers

        def log_message(self, *_):
            pass

    return Handler
