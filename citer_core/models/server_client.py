"""`ServerClient`: JSON requests to one server over kept connections, with a time limit, retries and cancellation.

Standard library only, because one token is one request: a call adds about a fifth of a millisecond to what the server
takes; httpx with an event loop took five times the processor's time. Knows nothing about what is asked. Called by
`remote_lm`.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import logging
import socket
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

from citer_core.config import LlmServer
from citer_core.errors import GateError, ServerError
from citer_core.gate.json_text import parse_json

log = logging.getLogger(__name__)
T = TypeVar("T")
Answer = tuple[Any, float]  # a JSON document, and the seconds that it took

N_ATTEMPTS = 5
# Seconds before the second attempt, then doubled: 3.75 s in all, which a proxy's reload or a lost packet takes.
BACKOFF_S = 0.25
CONNECT_S = 5.0
# One answer carries a few hundred bytes for each text, and at the start the ids of texts; this is far above all that.
MAX_ANSWER_BYTES = 32 * 2**20
BLOCK_BYTES = 256 * 1024
POLL_S = 0.1  # between two looks at the clock
N_THREADS = 64
# What another moment or another replica may do better; 500 too, because a server that failed at one request lives on.
RETRIED_STATUS = frozenset({408, 429, 500, 502, 503, 504})
AGAIN = "Look at the server's log, start it again if it has ended, and run again."


class CallCancelledError(Exception):
    """The caller gave it up: not an error to show."""


class _BadStatusError(Exception):
    """An answer that is no 200."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"it answered with HTTP status {status}" + (f": {message}" if message else ""))
        self.status = status


class ServerClient:
    """One server; safe to share among threads.

    Args:
        server: where it is and how long to wait for it.
    """

    def __init__(self, server: LlmServer) -> None:
        parts = urlsplit(server.url)
        self._timeout_s = server.timeout_s
        self._path = parts.path
        self._host, self._port = parts.hostname or "", parts.port
        self._kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if server.api_key:
            self._headers["Authorization"] = f"Bearer {server.api_key}"
        self._idle: list[http.client.HTTPConnection] = []
        # Waiting happens in a thread of its own, so that the caller can stop waiting at any time, whatever the
        # network does. Threads are started as they are needed and kept.
        self._threads = ThreadPoolExecutor(N_THREADS, thread_name_prefix="llm-server")
        self.close = weakref.finalize(self, _close, self._idle, self._threads)

    def get(self, path: str) -> Any:
        """The JSON at `path`, below the server's root, with its slash; errors as in `ask_all`."""
        return Pending([_Call(self, "GET", path, None)], lambda answers: answers[0][0]).wait()

    def ask_all(self, path: str, bodies: Sequence[Any], read: Callable[[list[Answer]], T]) -> Pending[T]:
        """Sends requests, all at the same time. Each is asked again, later each time, where that may help.

        Args:
            path: below the server's root, with its slash.
            bodies: JSON values, one at least. Asking twice must do no harm.
            read: what is asked for, from the answers in the order of the requests.
        """
        return Pending([_Call(self, "POST", path, body) for body in bodies], read)

    def take(self) -> tuple[http.client.HTTPConnection, bool]:
        """A connection, and whether it has been used before."""
        try:
            return self._idle.pop(), True
        except IndexError:
            return self._kind(self._host, self._port, timeout=CONNECT_S), False

    def give_back(self, connection: http.client.HTTPConnection) -> None:
        """Keeps a connection whose answer was read to its end."""
        self._idle.append(connection)


class Pending(Generic[T]):
    """Requests that are on their way, at least one, and what is read of their answers."""

    def __init__(self, calls: list[_Call], read: Callable[[list[Answer]], T]) -> None:
        self._calls, self._read = calls, read

    def is_done(self) -> bool:
        """Whether `answer` gives it or raises: all have been answered, one has failed, or the time is over."""
        done = [call.future for call in self._calls if call.future.done()]
        return len(done) == len(self._calls) or self._is_late() or any(future.exception() for future in done)

    def answer(self) -> T:
        """What was asked for, when `is_done`.

        Raises:
            ServerError: the server cannot be reached, took too long, refused, or did not answer in JSON or in a form
                that we can read; the other requests are then given up too.
        """
        try:
            for call in self._calls:
                if call.future.done():
                    call.future.result()  # raises what is wrong
            if not all(call.future.done() for call in self._calls):
                raise ServerError(f"The LLM's server gave no whole answer in {self._calls[0].timeout_s:g} s. {AGAIN}")
            return self._read([call.future.result() for call in self._calls])
        except BaseException:
            self.abort()
            raise

    def wait(self) -> T:
        """`answer`, waited for.

        Raises:
            ServerError: see `answer`.
            CallCancelledError: it was given up meanwhile.
        """
        try:
            while not self.is_done():
                self.wait_for_any([self], POLL_S)
        except BaseException:
            self.abort()
            raise
        return self.answer()

    def abort(self) -> None:
        """Gives them up and closes their connections, which tells the server to stop."""
        for call in self._calls:
            call.abort()

    @staticmethod
    def wait_for_any(several: Sequence[Pending[Any]], timeout_s: float) -> None:
        """Returns when one request more has been answered, or after `timeout_s`."""
        open_ones = [call.future for one in several for call in one._calls if not call.future.done()]
        if open_ones:
            wait(open_ones, timeout_s, return_when=FIRST_COMPLETED)

    def _is_late(self) -> bool:
        """An answer that trickles in resets the socket's own limit."""
        return time.monotonic() > max(call.deadline for call in self._calls) + 1.0


class _Call:
    """One request with all its attempts, in a thread of its own."""

    def __init__(self, client: ServerClient, method: str, path: str, body: Any) -> None:
        self._client, self._method, self._path = client, method, client._path + path
        self._body = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        self._aborted = threading.Event()
        self._connection: http.client.HTTPConnection | None = None
        self.timeout_s = client._timeout_s
        self.deadline = time.monotonic() + self.timeout_s
        self.future: Future[Answer] = client._threads.submit(self._run)

    def abort(self) -> None:
        """Wakes the thread up and lets it end; does nothing to a call that is over."""
        self._aborted.set()
        connection = self._connection
        if connection is not None and not self.future.done() and connection.sock is not None:
            with contextlib.suppress(OSError):
                connection.sock.shutdown(socket.SHUT_RDWR)  # unlike close, this ends a read that is going on

    def _run(self) -> Answer:
        start, attempt = time.monotonic(), 0
        while True:
            attempt += 1
            try:
                return _document(*self._exchange()), time.monotonic() - start
            except _BadStatusError as error:
                if error.status not in RETRIED_STATUS:
                    raise ServerError(_refusal(error)) from error
                problem: Exception = error
            except (OSError, http.client.HTTPException) as error:
                problem = error
            pause = BACKOFF_S * 2 ** (attempt - 1)
            if self._aborted.is_set():
                raise CallCancelledError
            log.warning("attempt %d at the LLM's server failed: %s", attempt, _in_words(problem))
            if attempt >= N_ATTEMPTS or time.monotonic() + pause >= self.deadline:
                raise ServerError(
                    f"The LLM's server gave no answer in {attempt} attempt{'s' if attempt > 1 else ''} and "
                    f"{time.monotonic() - start:.1f} s: {_in_words(problem)}. {AGAIN}"
                ) from problem
            if self._aborted.wait(pause):
                raise CallCancelledError

    def _exchange(self) -> tuple[int, bytes]:
        """One request and its answer; over a new connection where a kept one turns out to have been closed."""
        connection, is_used = self._client.take()
        try:
            return self._send(connection)
        except (ConnectionError, http.client.BadStatusLine):
            # Servers close connections that are idle for some seconds. That is no failure and costs no pause.
            if not is_used or self._aborted.is_set():
                raise
        return self._send(self._client._kind(self._client._host, self._client._port, timeout=CONNECT_S))

    def _send(self, connection: http.client.HTTPConnection) -> tuple[int, bytes]:
        self._connection = connection
        response: http.client.HTTPResponse | None = None
        try:
            if connection.sock is None:
                connection.timeout = max(0.001, min(CONNECT_S, self.deadline - time.monotonic()))
                connection.connect()
            connection.sock.settimeout(max(0.001, self.deadline - time.monotonic()))
            if self._aborted.is_set():
                raise ConnectionAbortedError
            connection.request(self._method, self._path, self._body, self._client._headers)
            response = connection.getresponse()
            reply = self._read(response, connection)
        except BaseException:
            if response is not None:
                response.close()  # which has the socket alone where the server does not keep connections
            connection.close()
            raise
        if response.will_close:
            connection.close()
        else:
            self._client.give_back(connection)
        return response.status, reply

    def _read(self, response: http.client.HTTPResponse, connection: http.client.HTTPConnection) -> bytes:
        """The whole answer, as long as it has an end in size and time."""
        reply = bytearray()
        while block := response.read1(BLOCK_BYTES):
            reply += block
            if len(reply) > MAX_ANSWER_BYTES:
                raise ServerError(
                    f"The LLM's server sent more than {MAX_ANSWER_BYTES // 2**20} MiB in one answer, which no "
                    f"completion has. {AGAIN}"
                )
            left = self.deadline - time.monotonic()
            if left <= 0 or self._aborted.is_set():  # each block restarts the socket's own limit
                raise TimeoutError
            if connection.sock is not None:
                connection.sock.settimeout(left)
        if response.length:  # `read1` does not say that the connection ended before the answer did
            raise http.client.IncompleteRead(bytes(reply), response.length)
        response.read()  # of nothing, after which the connection takes another request
        return bytes(reply)


def _close(idle: list[http.client.HTTPConnection], threads: ThreadPoolExecutor) -> None:
    threads.shutdown(wait=False, cancel_futures=True)
    for connection in idle:
        connection.close()


def _document(status: int, reply: bytes) -> Any:
    """The JSON of an answer."""
    try:
        document = parse_json(reply, max_chars=MAX_ANSWER_BYTES)
    except GateError as error:
        said = _one_line(reply.decode("utf-8", "replace"))
        if status != http.client.OK:
            raise _BadStatusError(status, said) from error
        raise ServerError(
            f"The LLM's server did not answer in JSON ({said!r}): the URL must be the root of an OpenAI-compatible "
            "API, e.g. http://host:8000/v1."
        ) from error
    if status != http.client.OK:
        raise _BadStatusError(status, _message_of(document))
    return document


def _refusal(error: _BadStatusError) -> str:
    if error.status in (401, 403):
        return f"The LLM's server expects another key ({error}): set CITER_LLM_API_KEY to the server's --api-key."
    if error.status == 404:
        return (
            f"The LLM's server does not know what it was asked for ({error}). The URL ends in /v1 on most servers; "
            "--llm-model must be a name that it serves."
        )
    return f"The LLM's server refused a request: {error}. {AGAIN}"


def _message_of(document: Any) -> str:
    """What an error document says: OpenAI's form, FastAPI's, or nothing."""
    if not isinstance(document, dict):
        return ""
    inner = document.get("error", document.get("detail", document.get("message", "")))
    return _one_line(str(inner.get("message", "")) if isinstance(inner, dict) else str(inner))


def _one_line(text: str) -> str:
    return " ".join(text.split())[:200]


def _in_words(error: Exception) -> str:
    """A failure without addresses, because a page shows it to everybody."""
    if isinstance(error, TimeoutError):
        return "it took too long"
    if isinstance(error, ConnectionRefusedError):
        return "nothing listens there"
    if isinstance(error, socket.gaierror):
        return "its host name is not known"
    if isinstance(error, ConnectionError | http.client.RemoteDisconnected | http.client.IncompleteRead):
        return "it closed the connection"
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return str(error) or type(error).__name__
