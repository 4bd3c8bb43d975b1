"""What is left after SIGKILL: cleared by the next start, or gone by itself."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from citer_core.leftovers import clear_leftovers

ASKS = """
import subprocess, sys
from citer_core.tasks.equivalence import _WORKER, same_answer
code = "from citer_core.tasks import math_worker as w; w.SECONDS_PER_PAIR = 2.0; w.main()"
begin, subprocess.Popen = subprocess.Popen, lambda _, **how: begin([sys.executable, "-c", code], **how)
assert same_answer("2\\\\sqrt{2}", "\\\\sqrt{8}")
print(_WORKER._process.pid, flush=True)
same_answer("1", "9^{9^{9^{9}}}")  # which the child would compute for ever
"""


def gone_number() -> int:
    """The number of a process that has ended."""
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    return done.pid


def put(path: Path, *, age_s: float = 0.0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("half a file", encoding="utf-8")
    os.utime(path, (time.time() - age_s,) * 2)
    return path


def test_what_killed_processes_left_is_cleared_and_nothing_else(tmp_path):
    dead, living = gone_number(), os.getppid()
    half = tmp_path / "converted" / f"NAME-0123-bfloat16.{dead}.partial"
    half.mkdir(parents=True)
    left = [
        put(half / "model.safetensors").parent,
        put(tmp_path / "datasets" / "gsm8k" / f"test.jsonl.{dead}.partial"),
        put(tmp_path / "hashes" / f"0123.json.{dead}.partial"),
        # In a container the process before may have had our number.
        put(tmp_path / "hashes" / f"4567.json.{os.getpid()}.partial", age_s=3_600),
    ]
    kept = [
        put(tmp_path / "models" / "ORG--REPO" / "model.safetensors.0123456789abcdef.partial"),  # is resumed
        put(tmp_path / "models" / f"w.gguf.{dead}.partial"),  # an etag of digits only
        put(tmp_path / "datasets" / "gsm8k" / f"train.jsonl.{living}.partial"),
        put(tmp_path / "datasets" / "gsm8k" / f"train.jsonl.{os.getpid()}.partial"),
        put(tmp_path / "datasets" / "gsm8k" / "train.jsonl"),
        put(tmp_path / "hashes" / "0123.json"),
        put(tmp_path / "hashes" / "notes.partial"),
    ]
    elsewhere = put(tmp_path / "elsewhere" / f"notes.{dead}.partial")
    link = tmp_path / "hashes" / f"link.{dead}.partial"
    link.symlink_to(elsewhere)
    assert sorted(clear_leftovers(tmp_path)) == sorted(left)
    assert not any(path.exists() for path in left)
    assert all(path.exists() for path in [*kept, elsewhere, link])
    assert clear_leftovers(tmp_path) == [] == clear_leftovers(tmp_path / "nowhere")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks at processes as Linux shows them")
def test_the_process_that_compares_answers_ends_with_a_killed_parent_though_it_is_busy():
    """An idle one is tested with other killed processes."""
    parent = subprocess.Popen([sys.executable, "-c", ASKS], stdout=subprocess.PIPE, encoding="utf-8")
    assert parent.stdout is not None
    child = Path("/proc") / parent.stdout.readline().strip()
    assert "math_worker" in (child / "cmdline").read_text(encoding="utf-8")
    time.sleep(0.5)
    parent.send_signal(signal.SIGKILL)
    parent.communicate()
    deadline = time.monotonic() + 60
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
        while (stat := (child / "stat").read_text(encoding="utf-8").rpartition(")")[2].split())[0] != "Z":
            # Of the processor, which others use too: its start, and 2 s for one pair.
            assert sum(map(int, stat[11:13])) / os.sysconf("SC_CLK_TCK") < 10 and time.monotonic() < deadline
            time.sleep(0.05)
