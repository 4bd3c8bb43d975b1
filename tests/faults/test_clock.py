"""A clock that is set back or forward while something runs: nothing waits for it and nothing is ordered by it."""

from __future__ import annotations

import ast
import time

from citer_core.cli.main import main
from tests.cli.examples import dataset, lines
from tests.core.examples import remote
from tests.fakes import FakeEngine, use
from tests.faults.table import ROOT

# The day goes into cards and traces, and the hour into the log, for people; the program does not read them back.
NAMES = {"time", "time_ns"}
CLOCKS = {f"time.{name}" for name in NAMES}
# Compares the date of a file with when this process began, both by the clock; only of files with its own number.
BY_FILE_DATES = {"leftovers.py": {"time.time"}}


def calls_of_the_clock(source: str) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(source)):
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
            found |= {f"{called.value.id}.{called.attr}"} & CLOCKS
        if isinstance(node, ast.ImportFrom) and node.module == "time":
            found |= {alias.name for alias in node.names} & NAMES
    return found


def test_a_clock_that_jumps(row, tmp_path, monkeypatch, tiny_pair, server, capsys):
    files = [*(ROOT / "citer_core").rglob("*.py"), ROOT / "app.py"]
    assert {
        file.name: calls for file in files if (calls := calls_of_the_clock(file.read_text(encoding="utf-8")))
    } == BY_FILE_DATES
    assert calls_of_the_clock("import time\nfrom time import time_ns\ntime.time()") == {"time.time", "time_ns"}
    real, offset = time.time, [0.0]

    def jumping():
        offset[0] = -3600.0 if offset[0] >= 0 else 86_400.0
        return real() + offset[0]

    monkeypatch.setattr(time, "time", jumping)
    use(monkeypatch, FakeEngine())
    out = tmp_path / "out.jsonl"
    route = ["route", "--dataset-path", str(dataset(tmp_path)), "--output-file", str(out)]
    assert main([*route, "--limit", "2"]) == 0
    assert main(route) == 0
    row.said(capsys.readouterr().err)
    assert [found["id"] for found in lines(out)] == ["q0", "q1", "q2", "q3"]
    server.delay_s = 0.2
    (token,) = remote(tiny_pair, server, timeout_s=5.0).llm.next_tokens([[1, 2]])
    assert 0.15 < token.seconds < 4.0, "neither a timeout a day early nor negative seconds"
