"""Many visitors of the bundled pair: a static host sends files, and the page's server computes nothing (`-m slow`)."""

from __future__ import annotations

import functools
import hashlib
import http.server
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from citer_core.tasks.datasets import bundled_rows
from citer_core.ui.build import build_site
from tests.fakes import FakeEngine
from tests.ui.serving import Files, Served, script
from tests.ui.test_browser_pair import READY, STATUS
from tests.ui.visitor import Visitor, until

pytestmark = [pytest.mark.ui, pytest.mark.slow]
N_OF_FILES, N_OF_PAGE, AT_ONCE = 200, 50, 10


class Host(http.server.ThreadingHTTPServer):
    request_queue_size = N_OF_FILES  # connections that wait to be taken; Python's own five are no host's


def test_200_visitors_cost_a_static_host_nothing_but_files(
    browser: Browser, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build_site(tmp_path, {})
    seen: Counter[tuple[str, str]] = Counter()

    class Counting(Files):
        def parse_request(self) -> bool:
            is_sound = super().parse_request()
            seen[(self.command, self.path.split("?")[0].lstrip("/"))] += 1
            return is_sound

    handler = functools.partial(Counting, directory=str(tmp_path))
    with Host(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/"
        # One in a browser, who generates: what does a visit ask for?
        visitor = Visitor(browser, url)
        expect(visitor.tokens.first).to_be_visible(timeout=60_000)
        until(visitor.page, READY, 60)
        asked = {path for _, path in seen}
        visitor.ask(bundled_rows("math")[2].problem.question)
        until(visitor.page, "window.citer.viewer.view.origin === null && !window.citer.isLive")
        visitor.leave()
        assert {method for method, _ in seen} == {"GET"}
        assert [path for _, path in seen if not (tmp_path / (path or "index.html")).is_file()] == []

        # The same files for all others at once, whole.
        wanted = {path: _digest((tmp_path / (path or "index.html")).read_bytes()) for path in sorted(asked)}

        def visit(_: int) -> int:
            n_bytes = 0
            for path, digest in wanted.items():
                with urllib.request.urlopen(url + path, timeout=300) as answer:
                    body = answer.read()
                assert _digest(body) == digest
                n_bytes += len(body)
            return n_bytes

        start, cpu = time.monotonic(), time.process_time()
        with ThreadPoolExecutor(N_OF_FILES) as pool:
            n_bytes = sum(pool.map(visit, range(N_OF_FILES)))
        seconds, processor = time.monotonic() - start, time.process_time() - cpu
        server.shutdown()
    with capsys.disabled():
        print(
            f"\n  {N_OF_FILES} visitors at once: {n_bytes / 1e9:.1f} GB of files in {seconds:.0f} s, "
            f"{processor / N_OF_FILES:.2f} s of processor a visitor for sending and for reading"
        )


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content).digest()


def test_50_visitors_who_generate_compute_nothing_on_the_server(
    browser: Browser, make_server: Callable[..., Served]
) -> None:
    served = make_server(FakeEngine(script), loads_after_s=3600)
    problems = [row.problem for row in bundled_rows("math")[:N_OF_PAGE]]
    for first in range(0, N_OF_PAGE, AT_ONCE):
        visitors = [Visitor(browser, served.url, computes="browser") for _ in range(AT_ONCE)]
        for visitor in visitors:
            visitor.page.wait_for_function("() => window.citer?.browser", timeout=60_000)
            visitor.page.mouse.move(1, 1)  # the pair is loaded at a person's first sign
        for visitor in visitors:
            visitor.page.wait_for_function(f"() => {READY}", timeout=300_000)
        before = [len(visitor.requests) for visitor in visitors]
        for visitor, problem in zip(visitors, problems[first:], strict=False):
            visitor.ask(problem.question)
        for visitor, problem, n in zip(visitors, problems[first:], before, strict=False):
            expect(visitor.page.locator(".cv-mode")).to_have_text("Live", timeout=60_000)
            expect(visitor.page.locator("button#cx-generate")).to_be_enabled(timeout=60_000)
            trace = visitor.shown()
            assert trace.prompt.text == problem.prompt and "WebAssembly" in trace.record.hardware
            assert [asked for asked in visitor.requests[n:] if not STATUS.search(asked)] == []
        for visitor in visitors:
            visitor.leave()
            assert visitor.complaints == []
    served.may_load.set()
    assert not served.engine.runs
