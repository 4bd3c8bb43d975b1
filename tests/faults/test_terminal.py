"""Signals, pipes and encodings of a command: its exit code, its words, and never a traceback."""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from citer_core.cli.command import real_number, whole_number
from citer_core.cli.main import build_parser, main
from citer_core.engine import Engine
from citer_core.errors import PairError
from citer_core.evidence.regimes import regimes
from tests.cli.examples import dataset, lines
from tests.faults.conftest import child, fake_command
from tests.sampling import few_or_all, sampled

N_ROWS = 400


def started(tmp_path, **options) -> subprocess.Popen[str]:
    """A batch run of a scripted engine, some rows after its beginning."""
    out = tmp_path / "out.jsonl"
    arguments = ["route", "--dataset-path", str(dataset(tmp_path, N_ROWS)), "--output-file", str(out)]
    process = child(*arguments, code=fake_command(delay_s=0.01), **options)
    deadline = time.monotonic() + 60
    while not (out.exists() and out.read_bytes().count(b"\n") >= 2):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return process


def finished(tmp_path, kept) -> None:
    out = tmp_path / "out.jsonl"
    again = child(
        *("route", "--dataset-path", str(tmp_path / "rows.jsonl"), "--output-file", str(out)), code=fake_command()
    )
    assert again.communicate(timeout=120)[1] and again.returncode == 0
    assert lines(out)[: len(kept)] == kept and len(lines(out)) == N_ROWS


def test_ctrl_c(row, tmp_path):
    process = started(tmp_path, start_new_session=True)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does it: to everybody in the foreground
    time.sleep(0.05)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGINT)  # the second is no traceback either
    _, err = process.communicate(timeout=20)
    assert process.returncode in (130, -signal.SIGINT)
    row.said(err)
    finished(tmp_path, lines(tmp_path / "out.jsonl"))


def test_ctrl_c_before_anything_is_there(row, tmp_path):
    """At every moment of the start, the reading of the program itself included.

    On a busy machine Python itself may take longer than both of the first; then later moments are tried.
    """
    said: list[str] = []
    for delay_s in (0.1, 0.5, 1.2, 2.4, 4.8):
        if delay_s > 0.5 and any(said):
            break
        process = child("route", "--question", "1+1?", starts=True, start_new_session=True)
        time.sleep(delay_s)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        if ("Traceback" in err or "Fatal Python error" in err) and "citer_core" not in err:
            continue  # Python itself was still starting: before the first line of ours is read, nothing can be said
        said.append(err)
        assert process.returncode in (130, -signal.SIGINT), err
    row.said(*said)


@pytest.mark.parametrize(("name", "code"), few_or_all(("SIGTERM", 143), ("SIGINT", 130)))
def test_told_to_end_where_no_exception_gets_out(row, name, code):
    """Python ignores what is raised in a weak reference's callback; the import system has one for each lock."""
    work = (
        "class Lock: pass\ndef work():\n    lock = Lock()\n"
        f"    held = weakref.ref(lock, lambda _: signal.raise_signal(signal.{name}))\n"
        "    del lock\n    print('on it goes', flush=True)\n    while True: time.sleep(0.1)\n"
    )
    process = child(
        code=f"import signal, sys, time, weakref\n{work}"
        "from citer_core.cli.ending import exit_code_of\nsys.exit(exit_code_of(work))",
        starts=True,
    )
    out, err = process.communicate(timeout=30)
    assert process.returncode == code and out == "on it goes\n", err
    assert "ignored" not in err
    row.said(err)


@pytest.mark.parametrize(("name", "code"), few_or_all(("SIGINT", 130), ("SIGTERM", 143)))
def test_told_to_end_while_torch_is_read(row, tmp_path, name, code):
    """Torch's C++ calls Python while it is imported; an exception there would abort the process (seen: SIGABRT)."""
    (tmp_path / "torch.py").write_text(f"import signal; signal.raise_signal(signal.{name}); print('read to its end')")
    work = "def work():\n    import torch\n    while True: time.sleep(0.1)\n"
    process = child(
        code=f"import sys, time\nsys.path.insert(0, {str(tmp_path)!r})\n{work}"
        "from citer_core.cli.ending import exit_code_of\nsys.exit(exit_code_of(work))",
        starts=True,
    )
    out, err = process.communicate(timeout=30)
    assert process.returncode == code and out == "read to its end\n", err
    row.said(err)


@pytest.mark.parametrize("name", few_or_all("SIGTERM", "SIGHUP"))
def test_told_to_end(row, tmp_path, name):
    number = getattr(signal, name)
    process = started(tmp_path)
    process.send_signal(number)
    err = process.communicate(timeout=20)[1]
    assert process.returncode == 128 + number
    row.said(err)
    finished(tmp_path, lines(tmp_path / "out.jsonl"))


def test_told_to_end_while_measuring(row, tmp_path):
    """What was reserved for the result does not stay behind, and what was there does."""
    out = tmp_path / "bench.json"
    out.write_text("{}", encoding="utf-8")
    process = child("bench", "--rounds", "100000", "--max-new-tokens", "4", "--output-file", str(out))
    deadline = time.monotonic() + 60
    while len(list(tmp_path.iterdir())) < 2:
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    time.sleep(0.3)
    assert process.stderr is not None
    while "round 2 of" not in (line := process.stderr.readline()):
        assert line, "it ended"
    process.send_signal(signal.SIGTERM)
    so_far, err = process.communicate(timeout=60)
    assert process.returncode == 143, err
    assert json.loads(so_far)["n_rounds"] >= 2, "what was measured until then is told"
    row.said(err)
    assert [path.name for path in tmp_path.iterdir()] == ["bench.json"] and out.read_text() == "{}"


@pytest.mark.parametrize("is_long", few_or_all(False, True))
def test_a_reader_that_goes_away(row, is_long):
    """Words that are told at the end, or thousands of tokens in a stream."""
    if is_long:
        asked = ("route", "--question", "2+2?", "--max-new-tokens", "4096", "--json")
        process = child(*asked, code=fake_command(script="word " * 20_000), starts=True)
    else:
        process = child("capacity", "--users", "3", starts=True)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    process.wait(timeout=60)
    err = process.stderr.read()
    process.stderr.close()
    assert process.returncode == 141 and err == ""
    row.said(err)


@pytest.mark.parametrize("closed", sampled(["0<&- 1>&- 2>&-", "0<&-", "1>&-", "2>&-"], every=4))
def test_streams_that_are_closed(row, tmp_path, closed):
    """The next file that is opened would get the number of standard output, and the words would go into it."""
    out = tmp_path / "out.jsonl"
    code = fake_command()
    arguments = ["route", "--dataset-path", str(dataset(tmp_path)), "--output-file", str(out)]
    shell = ["sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-c", code, *arguments]
    ended = subprocess.run(shell, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
    row.said(ended.stderr)
    assert len(lines(out)) == 4, "rows only"


@pytest.mark.parametrize("encoding", few_or_all("ascii", "cp1252:strict"))
def test_a_terminal_that_is_not_utf_8(row, encoding):
    question = "Überall 東京 🙂?"
    code = fake_command(script="東京 \\boxed{1} \x1b[31m")
    environment = {"PYTHONIOENCODING": encoding, "LC_ALL": "C", "LANG": "C"}
    start = functools.partial(child, "route", "--question", question, code=code, starts=True, env=environment)
    process = start()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "\\u6771\\u4eac" in out and "\x1b" not in out
    row.said(out + err)
    process = start("--json", encoding="utf-8", text=None)
    out = process.communicate(timeout=60)[0]
    assert json.loads(out)["events"][0]["text"] == "東京", "a trace is UTF-8 everywhere"


VALUES = (
    "-1", "0", "1" + "0" * 400, "-1" + "0" * 400, "5" * 5000, "9999999999999999999", "999999999999999", "nan", "inf",
    "-inf", "1e308", "1e-308", "", " ", "1_0", "٣", "0x10", "\ud800", "--", "1,5",
)  # fmt: skip
BASES = {
    "route": ["--dataset-path", "ROWS", "--output-file", "OUT"],
    "make-cot": ["--dataset-path", "ROWS", "--output-file", "OUT"],
    "finetune": ["--model", "MISSING", "--dataset-path", "ROWS", "--output", "OUT"],
    "label": ["--dataset-path", "ROWS", "--output-dir", "OUT"],
    "train-router": ["--labels", "MISSING", "--output-dir", "OUT"],
    "iterate": ["--dataset-path", "ROWS", "--output-dir", "OUT"],
    "evaluate": ["--dataset-path", "ROWS", "--output-file", "OUT"],
    "arena": ["--routers", "entropy", "--work-dir", "OUT"],
    "evidence": ["--work-dir", "OUT", "--output-dir", "OUT"],
    "setup-cost": ["--dataset-path", "ROWS", "--tuning-path", "ROWS", "--labels", "citer=MISSING", "--problems", "sums",
                   "--work-dir", "OUT", "--output-dir", "OUT"],
    "compare": ["MISSING", "--output-dir", "OUT"],
    "bench": [],
    "profile": [],
    "record-labels": ["math", "--output-dir", "OUT"],
    "device-report": ["--output-dir", "OUT"],
    "capacity": ["--users", "3"],
    "load": ["--llm-url", "http://127.0.0.1:9/v1"],
}  # fmt: skip


@pytest.mark.parametrize("every", few_or_all(5, 1))
def test_numbers_that_are_none(row, tmp_path, monkeypatch, capsys, every):
    """Every number of every command, with twenty things that are no such number: no traceback, no page of digits."""

    def load(*_, **__):
        raise PairError("the pair would be loaded now")

    monkeypatch.setattr(Engine, "load", load)
    monkeypatch.setattr("citer_core.models.pair.load_pair", load)
    monkeypatch.setattr("citer_core.measuring.report.steps.run_steps", load)
    dataset(tmp_path, 3)
    parser = build_parser()
    # Each once, or they take most of the time.
    monkeypatch.setattr("citer_core.cli.main.build_parser", lambda: parser)
    monkeypatch.setattr("citer_core.evidence.regimes.regimes", functools.partial(iter, list(regimes())))
    commands = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction)).choices
    numeric = {
        name: [a.option_strings[-1] for a in found._actions if a.type in (whole_number, real_number)]
        for name, found in commands.items()
    }
    assert {name for name, options in numeric.items() if options} - {"record"} == set(BASES)
    places = {"ROWS": tmp_path / "rows.jsonl", "MISSING": tmp_path / "missing"}
    n_tried, said = 0, ""
    for name, base in BASES.items():
        for option in numeric[name]:
            for value in VALUES[::every]:
                n_tried += 1
                places["OUT"] = tmp_path / f"out-{n_tried}"
                try:
                    code = main([name, *(str(places.get(given, given)) for given in base), f"{option}={value}"])
                except SystemExit as usage:
                    code = usage.code
                err = capsys.readouterr().err
                assert code in (0, 2), (name, option, value[:20], err)
                assert code == 0 or "error: " in err, (name, option, value[:20])
                message = err[err.rindex("error: ") :] if code else ""
                assert len(message) < 500, (name, option, message[:100])
                said += message
    assert n_tried > 1000 // every
    row.said(said)


@pytest.mark.parametrize(
    "content",
    [b"", b"\n\n", b"\xff\xfe\x00", b"{", b"[]", b"[" * 200_000, b"7" * 10_000, b"\x00"],
    ids=["empty", "blank", "no text", "cut", "list", "brackets", "digits", "zero"],
)
def test_empty_and_foreign_files(row, tmp_path, capsys, content, monkeypatch):
    """Each command that reads a file, with files that hold nothing, or something else."""
    monkeypatch.setattr(Engine, "load", lambda *_, **__: pytest.fail("a model was loaded"))
    path = tmp_path / "given"
    path.write_bytes(content)
    out = str(tmp_path / "out")
    for arguments in (
        ["route", "--dataset-path", str(path), "--output-file", out],
        ["evaluate", "--dataset-path", str(path), "--output-file", out],
        ["make-cot", "--dataset-path", str(path), "--output-file", out],
        ["label", "--dataset-path", str(path), "--output-dir", out],
        ["finetune", "--model", "embedded", "--dataset-path", str(path), "--output", out],
        ["gallery", "--only-given", out, str(path)],
        ["capacity", "--users", "3", "--profile", str(path)],
        ["train-router", "--labels", str(tmp_path), "--output-dir", out],
    ):
        assert main(arguments) == 2, arguments
        err = capsys.readouterr().err
        assert err.startswith("error: ") and len(err) < 1500, arguments
        row.said(err)
    assert not (tmp_path / "out").exists()
