"""A visitor without a browser: what a page asks over HTTP, and what a program calls; and the server's process."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).parents[1]
TIMEOUT_S = 300.0


def free_port() -> int:
    """A port without a listener."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class ServerProcess:
    """`python app.py` in a process of its own; a context manager, at whose end it is stopped."""

    def __init__(self, log: Path, *flags: str, **environment: str) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._log, self._flags, self._environment = log, flags, environment
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> ServerProcess:
        drop = ("PORT", "GRADIO_SERVER_PORT", "GRADIO_SERVER_NAME", "SPACE_ID")
        kept = {name: value for name, value in os.environ.items() if name not in drop}
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, str(ROOT / "app.py"), "--port", str(self.port), *self._flags],
                cwd=ROOT,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**kept, "OMP_NUM_THREADS": "1", **self._environment},
            )
        return self

    def __exit__(self, *_: object) -> None:
        process = self.process
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(15)
        if process.poll() is None:
            process.kill()
        process.wait(15)

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The running process."""
        assert self._process is not None, "only inside `with`"
        return self._process

    def wait(self, words: str = "ready to generate", timeout_s: float = 120.0) -> None:
        """Until the log has these words."""
        deadline = time.monotonic() + timeout_s
        while words not in self._log.read_text(encoding="utf-8", errors="replace"):
            assert self.process.poll() is None and time.monotonic() < deadline, self._log.read_text(errors="replace")
            time.sleep(0.1)

    def counts(self) -> dict[str, int]:
        """Bytes in memory, threads and open files of the process (Linux)."""
        folder = Path("/proc") / str(self.process.pid)
        status = (folder / "status").read_text(encoding="utf-8")
        kib = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:"))
        n_threads, n_files = (len(list((folder / name).iterdir())) for name in ("task", "fd"))
        return {"rss_bytes": kib * 1024, "threads": n_threads, "open_files": n_files}


class HttpVisitor:
    """One session: an open page, or a program that uses the API; from an address of this machine."""

    def __init__(self, url: str, *, address: str = "127.0.0.1") -> None:
        self.session = uuid.uuid4().hex[:12]
        transport = httpx.HTTPTransport(verify=False, local_address=address)  # certificates take long to read
        self._client = httpx.Client(base_url=url, timeout=TIMEOUT_S, follow_redirects=True, transport=transport)
        self._config: dict[str, Any] = {}

    def __enter__(self) -> HttpVisitor:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def get(self, path: str) -> httpx.Response:
        """A file or page of the server."""
        return self._client.get(path)

    def ask(self, what: str, asked: Any = None) -> list[dict[str, Any]]:
        """All messages of an answer to the page."""
        body, tab = json.dumps(asked), {"X-Citer-Tab": self.session, "Content-Type": "application/json"}
        with self._client.stream("POST", f"citer/ask/{what}", content=body, headers=tab) as answer:
            answer.raise_for_status()
            return [json.loads(line) for line in answer.iter_lines()]

    def call(self, api_name: str, *data: Any) -> list[Any]:
        """The last answer of a documented endpoint."""
        return self._join(self._number(lambda dep: dep["api_name"] == api_name), data)

    def config(self) -> dict[str, Any]:
        """The page's description of itself."""
        if not self._config:
            self._config = self.get("config").json()
        return self._config

    def _number(self, is_meant: Any) -> int:
        return next(dep["id"] for dep in self.config()["dependencies"] if is_meant(dep) and dep["backend_fn"])

    def _join(self, fn_index: int, data: Sequence[Any]) -> list[Any]:
        asked = {"data": list(data), "fn_index": fn_index, "session_hash": self.session, "event_data": None}
        self._client.post("gradio_api/queue/join", json=asked).raise_for_status()
        done: dict[str, Any] = {}
        with self._client.stream("GET", "gradio_api/queue/data", params={"session_hash": self.session}) as stream:
            for line in stream.iter_lines():
                message = json.loads(line.removeprefix("data:")) if line.startswith("data:") else {}
                if message.get("msg") == "process_completed":
                    done = message
                if message.get("msg") == "close_stream":
                    break
        assert done.get("success"), done
        answer: list[Any] = done["output"]["data"]
        return answer
