"""A line for each reader at the end of a long run."""

from __future__ import annotations

import os

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if "FUZZ_EXAMPLES" not in os.environ:
        return
    terminalreporter.section("fuzz")
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            for name, said in getattr(report, "user_properties", []):
                if name == "fuzz":
                    terminalreporter.line(f"{report.nodeid.partition('[')[2].rstrip(']'):28} {said}")
