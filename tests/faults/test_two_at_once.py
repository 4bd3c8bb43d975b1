"""Two processes on one output: the second is refused in words, and what the first writes is its own."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from citer_core import file_lock
from citer_core.cli.main import main
from citer_core.errors import SettingError
from citer_core.file_lock import forget_killed_writer, only_writer
from tests.cli.examples import LABEL_LITTLE, QUICK, dataset, lines
from tests.faults.conftest import child, fake_command


def holding(*paths: Path) -> subprocess.Popen[str]:
    """Another process that writes these, for as long as it lives."""
    code = (
        "import contextlib, sys, time; from pathlib import Path; from citer_core.file_lock import only_writer\n"
        "with contextlib.ExitStack() as held:\n"
        "    [held.enter_context(only_writer(Path(path))) for path in sys.argv[1:]]\n"
        "    print('held', flush=True); time.sleep(60)"
    )
    process = child(*map(str, paths), code=code)
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def test_a_batch_run(row, tmp_path, capsys):
    out = tmp_path / "out.jsonl"
    arguments = ["route", "--dataset-path", str(dataset(tmp_path, 30)), "--output-file", str(out)]
    first = child(*arguments, code=fake_command(delay_s=0.05))
    try:
        while not (out.exists() and out.read_bytes()):
            assert first.poll() is None
            time.sleep(0.01)
        first.send_signal(signal.SIGSTOP)  # or it ends before the second has begun
        before = out.read_bytes()
        assert main(arguments) == 2
        row.said(capsys.readouterr().err)
        assert out.read_bytes() == before
    finally:
        end(first)
    second = child(*arguments, code=fake_command())
    second.communicate(timeout=60)
    assert second.returncode == 0 and len(lines(out)) == 30, "a process that was killed holds nothing"


def test_everything_else_that_is_written(row, labels, tmp_path, capsys):
    """Labels by their part, so that shards of one folder go on; all others by their place."""
    label, out = [*LABEL_LITTLE, "--output-dir"], tmp_path / "out"
    plans = tmp_path / "plans.jsonl"
    plan = {"file": "a.json", "title": "A", "subtitle": "s", "data_type": "open", "question": "1+1?"}
    plans.write_text(json.dumps(plan | {"max_new_tokens": 2}) + "\n", encoding="utf-8")
    out.mkdir()
    commands = {
        out / "index.html": ["gallery", str(out)],
        out / "index.json": ["record", str(plans), "--output-dir", str(out)],
        out / "part-000000.jsonl": [*label, str(out)],
        out / "profile.json": ["profile", "--output-file", str(out / "profile.json")],
        out / "citer": ["train-router", "--labels", str(labels), "--output-dir", str(out), *QUICK],
        out / "rounds": ["iterate", "--generated", "2", "--test-limit", "1", "--output-dir", str(out)],
    }
    read = out / "read"
    commands[read / "index.json"] = ["record-labels", "math", "--output-dir", str(read)]
    read.mkdir()
    other = holding(*commands)
    try:
        for arguments in commands.values():
            capsys.readouterr()
            assert main(arguments) == 2, arguments
            row.said(capsys.readouterr().err)
    finally:
        end(other)
    assert main(["record", str(plans), "--output-dir", str(out)]) == 0
    assert main([*label, str(out)]) == 0
    assert not list(out.glob("*.partial"))


def test_fine_tuning(row, tmp_path, capsys):
    rows = [{"id": f"n{n}", "problem": f"{n}+{n}?", "solution": rf"\boxed{{{2 * n}}}"} for n in range(4)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(found) + "\n" for found in rows), encoding="utf-8")
    tune = ["finetune", "--model", "embedded", "--dataset-path", str(tmp_path / "rows.jsonl"), "--data-type", "math"]
    tune += ["--max-steps", "1", "--batch-size", "2", "--output", str(tmp_path / "tuned")]
    (tmp_path / "tuned.training").mkdir()
    other = holding(tmp_path / "tuned.training" / "run")
    try:
        assert main(tune) == 2
        row.said(capsys.readouterr().err)
    finally:
        end(other)
    assert main(tune) == 0


def test_a_lock_is_only_as_old_as_its_process(row, tmp_path):
    """A killed process's lock blocks no other, many processes at once enter one by one, and no lock file is left."""
    out = tmp_path / "out"
    end(holding(out))
    assert (tmp_path / ".out.lock").exists()
    forget_killed_writer(out)
    assert not (tmp_path / ".out.lock").exists()
    with only_writer(out):
        with pytest.raises(SettingError) as caught, only_writer(out):
            pass
        row.said(str(caught.value))
        forget_killed_writer(out)
        assert (tmp_path / ".out.lock").exists(), "that of a living one stays"
    assert not (tmp_path / ".out.lock").exists()
    code = (
        "import sys, time; from pathlib import Path; from citer_core.errors import SettingError\n"
        "from citer_core.file_lock import only_writer; n = 0\n"
        "while n < 40:\n"
        "    try:\n"
        "        with only_writer(Path(sys.argv[1])):\n"
        "            count = Path(sys.argv[1]); now = int(count.read_text()); count.write_text(str(now + 1)); n += 1\n"
        "    except SettingError: time.sleep(0.0005)"
    )
    out.write_text("0", encoding="utf-8")
    crowd = [child(str(out), code=code) for _ in range(3)]
    assert [(process.communicate(timeout=60)[1], process.returncode) for process in crowd] == [("", 0)] * 3
    assert out.read_text(encoding="utf-8") == "120", "no process wrote between another's reading and writing"


def test_without_locks(row, tmp_path, monkeypatch):
    """Windows has another call, and some network file systems know none: there one goes on without."""
    calls = []

    class Msvcrt:
        LK_NBLCK = 2

        @staticmethod
        def locking(handle, mode, n_bytes):
            calls.append((mode, n_bytes))
            if len(calls) > 1:
                raise OSError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(file_lock, "_fcntl", None)
    monkeypatch.setattr(file_lock, "_msvcrt", Msvcrt)
    with only_writer(tmp_path / "out"), pytest.raises(SettingError) as caught, only_writer(tmp_path / "out"):
        pass
    row.said(str(caught.value))
    assert calls == [(2, 1), (2, 1)]
    monkeypatch.setattr(file_lock, "_msvcrt", None)
    with only_writer(tmp_path / "out"), only_writer(tmp_path / "out"):
        pass

    class NoLocks:
        LOCK_EX, LOCK_NB = 2, 4

        @staticmethod
        def flock(*_):
            raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(file_lock, "_fcntl", NoLocks)
    with only_writer(tmp_path / "out"), only_writer(tmp_path / "out"):
        pass
