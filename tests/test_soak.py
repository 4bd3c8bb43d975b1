"""A server that is used for long holds no more than one that was used for short: a real process, over HTTP.

    SOAK_RUNS=1000 SOAK_VISITS=100 python -m pytest -m slow -s tests/test_soak.py    # prints JSON

Each visit opens the page, reads a whole set in the Labels tab and closes it; every fourth brings rows of its own.
"""

from __future__ import annotations

import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.http_visitor import HttpVisitor, ServerProcess

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts what Linux says of a process"),
]
N_RUNS = int(os.environ.get("SOAK_RUNS", "1000"))
N_VISITS = int(os.environ.get("SOAK_VISITS", "100"))
# Every session that a server remembers is one of these: gradio's, runs and jobs that are kept.
N_RUNS_FIRST, N_VISITS_FIRST = 260, 12
N_AT_ONCE = 4
REST_S = 8.0
QUESTION = "Tom buys {} books at 12 dollars each and {} pens at 5 dollars each. How many dollars does Tom spend?"


def one_run(url: str, number: int) -> int:
    """A run over the API; its number of tokens."""
    with HttpVisitor(url) as visitor:
        question = QUESTION.format(number % 90 + 2, number % 7 + 2)
        (trace,) = visitor.call("route_trace", question, "math", '{"threshold": 0.93}', "")
    document = json.loads(trace) if isinstance(trace, str) else trace
    assert document["finish_reason"] in ("eos", "length")
    return len(document["events"])


def one_visit(url: str, number: int) -> int:
    """A page that is opened, reads a set, and is closed; the number of problems that it was sent."""
    with HttpVisitor(url) as visitor:
        assert visitor.get("").status_code == 200
        if number % 4 == 3:
            row = {"problem": f"What is {number} + 3?", "solution": f"It is $\\boxed{{{number + 3}}}$, as we add."}
            answers = visitor.ask("labels", {"text": "\n".join([json.dumps(row)] * 40)})
        else:
            answers = visitor.ask("labels", {"set": "mc" if number % 2 else "math"})
    return len(answers[-1]["problems"])


def use(url: str, n_runs: int, n_visits: int, first: int) -> None:
    """Runs and visits, several at once."""
    with ThreadPoolExecutor(N_AT_ONCE) as people:
        assert all(n > 5 for n in people.map(lambda n: one_run(url, n), range(first, first + n_runs)))
    with ThreadPoolExecutor(2) as people:
        for number, n in enumerate(people.map(lambda n: one_visit(url, n), range(n_visits))):
            assert n == (40 if number % 4 == 3 else 200)


def at_rest(server: ServerProcess, folder: Path) -> dict[str, int]:
    """What the process holds once there are no requests."""
    time.sleep(REST_S)
    return {**server.counts(), "temporary_files": sum(path.is_file() for path in folder.rglob("*"))}


def test_a_thousand_runs_and_a_hundred_whole_sets_leave_the_process_as_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    with ServerProcess(tmp_path / "log", TMPDIR=str(temporary), CITER_CACHE=str(tmp_path / "cache")) as server:
        server.wait()
        began = time.monotonic()
        report: dict[str, Any] = {"runs": N_RUNS, "visits": N_VISITS, "loaded": at_rest(server, temporary)}
        use(server.url, N_RUNS_FIRST, N_VISITS_FIRST, 0)
        report["warm"] = warm = at_rest(server, temporary)
        use(server.url, N_RUNS, N_VISITS, N_RUNS_FIRST)
        report["after"] = after = at_rest(server, temporary)
        report["seconds"] = round(time.monotonic() - began)
    report["growth"] = round(after["rss_bytes"] / warm["rss_bytes"] - 1, 4)
    with capsys.disabled():
        print("\n" + json.dumps(report))
    assert report["growth"] <= 0.05
    for name in ("threads", "open_files", "temporary_files"):
        assert after[name] <= warm[name], name
