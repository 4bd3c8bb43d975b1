"""The page's process: its port, and its end during a run."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time
import urllib.request

import pytest
from playwright.sync_api import expect, sync_playwright

from citer_core.errors import SettingError
from citer_core.web.before_gradio import check_address
from tests.browser import LAUNCH_ARGS, provide_browser
from tests.faults.conftest import child
from tests.http_visitor import free_port
from tests.loops import in_a_thread

APP = (
    "import runpy, sys; from tests import fakes\n"
    "fakes.install(fakes.FakeEngine(' one more word' * 200, delay_s=0.05))\n"
    "runpy.run_path('app.py', run_name='__main__')"
)


@contextlib.contextmanager
def served(*flags: str, home):
    """The page over a scripted engine, in a process of its own: (process, its address)."""
    port = free_port()
    log = (home / "log.txt").open("w+", encoding="utf-8")
    process = child(
        "--port", str(port), *flags, code=APP, stdout=log, stderr=log, start_new_session=True,
        env={"GRADIO_TEMP_DIR": str(home / "gradio"), "GRADIO_ANALYTICS_ENABLED": "False"},
    )  # fmt: skip
    process.log = home / "log.txt"
    url = f"http://127.0.0.1:{port}/"
    try:
        deadline = time.monotonic() + 90
        while "ready to generate" not in process.log.read_text(encoding="utf-8"):
            assert process.poll() is None and time.monotonic() < deadline, process.log.read_text(encoding="utf-8")
            time.sleep(0.05)
        yield process, url
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        log.close()


def test_a_port_that_is_used(row):
    with socket.create_server(("127.0.0.1", 0)) as other:
        process = child("--port", str(other.getsockname()[1]), code=APP)
        out, err = process.communicate()
    assert process.returncode == 2
    row.said(err)
    assert out == ""


TAKEN = """
import runpy, socket
from tests import fakes
from citer_core.ui import server

fakes.install(fakes.FakeEngine("a word"))
real, taken = server.check_address, []

def look(host, port):
    real(host, port)
    taken.append(socket.create_server(("127.0.0.1", port)))

server.check_address = look
runpy.run_path("app.py", run_name="__main__")
"""


def test_a_port_that_is_taken_between(row):
    """It is taken after our check and before the server's."""
    process = child("--port", str(free_port()), code=TAKEN)
    said = process.communicate(timeout=120)[1]
    assert process.returncode == 2
    row.said(said)


@pytest.mark.parametrize("host", ["nobody.invalid", "203.0.113.7", "a" * 300, "ü" * 80])
def test_a_host_that_is_none_of_ours(row, host):
    with pytest.raises(SettingError) as caught:
        check_address(host, free_port())
    row.said(str(caught.value))
    assert host not in str(caught.value)


def test_told_to_end_in_mid_stream(row, tmp_path):
    """The words reach the open page; the process, its children and its port are gone within seconds."""
    in_a_thread(lambda: told_to_end(row.words, tmp_path))


def told_to_end(words_of_the_row, tmp_path):
    with served(home=tmp_path) as (process, url), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(provide_browser()), args=list(LAUNCH_ARGS))
        window = browser.new_page()
        window.goto(url, wait_until="load")
        expect(window.locator(".cv-mode")).to_be_visible(timeout=30_000)
        window.locator("#cx-prompt textarea").fill("A long story?")
        window.locator("button#cx-generate").click()
        expect(window.locator(".cv-mode")).to_have_text("Live", timeout=20_000)
        window.wait_for_function("() => window.citer.viewer.events.length > 3", timeout=20_000)
        n_before = window.evaluate("window.citer.viewer.events.length")
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        for words in words_of_the_row:
            expect(window.locator("body")).to_contain_text(words, timeout=10_000)
        assert window.evaluate("window.citer.viewer.events.length") >= n_before, "what was written stays on the page"
        assert process.wait(timeout=10) == 0
        assert time.monotonic() - began < 8
        with pytest.raises(OSError, match=r"refused|reset|closed"):
            urllib.request.urlopen(url, timeout=5)
        with pytest.raises(ProcessLookupError):
            os.killpg(process.pid, 0)  # no child of it lives on
        assert "Traceback" not in process.log.read_text(encoding="utf-8")
        browser.close()


def test_a_second_ctrl_c(row, tmp_path):
    with served(home=tmp_path) as (process, url):
        with socket.create_connection(("127.0.0.1", int(url.rsplit(":", 1)[1].strip("/")))) as slow:
            slow.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n")  # a request that never ends
            began = time.monotonic()
            process.send_signal(signal.SIGINT)
            while "told to end" not in process.log.read_text(encoding="utf-8"):  # a busy machine takes its time
                assert time.monotonic() - began < 3
                time.sleep(0.02)
            assert process.poll() is None, "it waits for the request"
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=10) == 130
            assert time.monotonic() - began < 3
        row.said(process.log.read_text(encoding="utf-8"))


COMPUTES = """
import threading, types, torch
from citer_core.ui.stopping import Stopping

def compute():
    matrix = torch.randn(1000, 1000)
    while True:
        matrix @ matrix

stopping = Stopping(types.SimpleNamespace(end_all=lambda said: 0, n_live=0))
stopping.install()
for _ in range(3):
    threading.Thread(target=compute, daemon=True).start()
print("computes", flush=True)
stopping.wait()
print("closed")
stopping.end(lambda: None)
"""


def test_told_to_end_while_models_compute(row):
    """C++ ends the process with SIGABRT where Python is taken down under a thread that is in it."""
    process = child(code=COMPUTES, starts=True)
    assert process.stdout.readline() == "computes\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    said, errors = process.communicate(timeout=30)
    row.said(errors)
    assert (process.returncode, said, errors) == (130, "closed\n", "")
