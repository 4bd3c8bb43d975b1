"""What Lighthouse says of the page and of the static site, on its phone profile: `make lighthouse`, on an idle machine.

Prints scores, times and what is below the limits, and ends with 1 where anything is. Times on a busy machine say
nothing: Lighthouse slows the processor by a factor from what it finds, and a shared one is slowed already. npm fetches
Lighthouse when it is first asked for; no other test needs it.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from citer_core.ui.build import build_site
from tests.browser import LAUNCH_ARGS, provide_browser
from tests.http_visitor import free_port

LIGHTHOUSE = "lighthouse@13.5.0"
ROOT = Path(__file__).resolve().parents[1]
ALL = {"accessibility": 1.0, "best-practices": 1.0, "seo": 1.0}
LEAST = {**ALL, "performance": 0.95}
MOST_SHIFT = 0.02
TIMES = ("first-contentful-paint", "largest-contentful-paint", "total-blocking-time", "cumulative-layout-shift")
PATIENCE_S = 120
N_RUNS = 3  # the one in the middle counts, as Lighthouse itself advises: blocking times of one page differ by half


class CompressingFiles(SimpleHTTPRequestHandler):
    """Files as static hosts send them: text compressed."""

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        path = path / "index.html" if path.is_dir() else path
        if not path.is_file() or path.suffix == ".safetensors":
            super().do_GET()
            return
        body = gzip.compress(path.read_bytes(), 6)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(path.name))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def static_site() -> Iterator[str]:
    """The site on a host of its own."""
    with tempfile.TemporaryDirectory() as folder:
        build_site(Path(folder), {})
        with ThreadingHTTPServer(("127.0.0.1", 0), partial(CompressingFiles, directory=folder)) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            yield f"http://127.0.0.1:{server.server_address[1]}/"
            server.shutdown()


@contextmanager
def page() -> Iterator[str]:
    """The page with the bundled pair, ready."""
    url = f"http://127.0.0.1:{(port := free_port())}/"
    process = subprocess.Popen([sys.executable, "app.py"], cwd=ROOT, env={**os.environ, "PORT": str(port)})
    try:
        end = time.monotonic() + PATIENCE_S
        while not _is_ready(url):
            if process.poll() is not None or time.monotonic() > end:
                raise SystemExit("error: the page did not become ready; `python app.py` says why")
            time.sleep(0.5)
        yield url
    finally:
        process.terminate()
        process.wait(30)


def _is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}healthz", timeout=5) as answer:
            return bool(json.loads(answer.read()).get("state") == "ready")
    except OSError:
        return False


def report_of(url: str) -> dict[str, Any]:
    """Lighthouse's own report."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "report.json"
        chrome = " ".join(["--headless=new", *LAUNCH_ARGS])
        asks = ["npx", "--yes", LIGHTHOUSE, url, "--quiet", "--output=json", f"--output-path={out}"]
        environment = {**os.environ, "CHROME_PATH": str(provide_browser(is_whole=True))}
        subprocess.run([*asks, f"--chrome-flags={chrome}"], env=environment, check=True, timeout=600)
        report: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
        return report


def _performance(report: dict[str, Any]) -> float:
    return float(report["categories"]["performance"]["score"] or 0)


def findings(name: str, report: dict[str, Any]) -> list[str]:
    """What is below the limits, in words."""
    scores = {category: entry["score"] or 0.0 for category, entry in report["categories"].items()}
    found = [
        f"{name}: {category} {100 * scores[category]:.0f}, at least {100 * least:.0f} is wanted"
        for category, least in LEAST.items()
        if scores[category] < least
    ]
    shift = report["audits"]["cumulative-layout-shift"]["numericValue"]
    return [*found, f"{name}: layout shift {shift:.3f}"] if shift >= MOST_SHIFT else found


def main() -> int:
    """Both, one after the other."""
    below: list[str] = []
    for name, serving in (("page", page), ("static site", static_site)):
        with serving() as url:
            reports = sorted((report_of(url) for _ in range(N_RUNS)), key=_performance)
        report = reports[N_RUNS // 2]
        scores = ", ".join(f"{key} {100 * (entry['score'] or 0):.0f}" for key, entry in report["categories"].items())
        times = ", ".join(f"{key} {report['audits'][key]['displayValue']}" for key in TIMES)
        every = ", ".join(f"{100 * _performance(one):.0f}" for one in reports)
        print(f"{name}: {scores}\n  {times}\n  performance of all runs: {every}")
        below += findings(name, report)
    print(*below, sep="\n")
    return bool(below)


if __name__ == "__main__":
    raise SystemExit(main())
