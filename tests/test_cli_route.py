"""`python -m citer_core route`, on the fake engine: what reaches stdout, stderr, the output file and the exit code."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from citer_core.cli import terminal
from citer_core.cli.main import main
from citer_core.cli.summary import format_bytes
from citer_core.errors import ModelFileError, PromptError
from citer_core.trace import RoutingTrace
from tests.fakes import FakeEngine, fake_module

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    return use(monkeypatch, FakeEngine())


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")


def use(monkeypatch: pytest.MonkeyPatch, engine: FakeEngine) -> FakeEngine:
    monkeypatch.setitem(sys.modules, "citer_core.engine", fake_module(engine))
    return engine


def route(*arguments: str) -> int:
    return main(["route", *arguments])


def dataset(tmp_path: Path, n_rows: int = 4, **extra: str) -> Path:
    path = tmp_path / "rows.jsonl"
    rows = [{"id": f"q{n}", "problem": f"{n}+1?", "solution": rf"\boxed{{{n + 1}}}"} for n in range(n_rows)]
    path.write_text("".join(json.dumps(row | extra) + "\n" for row in rows), encoding="utf-8")
    return path


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


# --- one question


def test_text_on_stdout_summary_on_stderr(engine: FakeEngine, capsys: pytest.CaptureFixture[str]) -> None:
    assert route("--question", "6*7?", "--answer", "42") == 0
    out, err = capsys.readouterr()
    assert out == " Adding it all up gives $\\boxed{42}$.\n"
    assert "7 tokens, 28.6% by the LLM (4 hand-offs)" in err
    assert "moved (estimated)" in err
    assert "of LLM-only" in err
    assert "(measured)" in err
    assert "answer 42: right" in err


def test_settings_reach_the_engine(engine: FakeEngine) -> None:
    arguments = "--threshold 0.25 --max-new-tokens 3 --temperature 0.5 --top-p 0.9 --seed 7 --router max-probability"
    assert route("--question", "6*7?", *arguments.split(), "--dtype", "bfloat16") == 0
    trace = engine.runs[0].trace()
    settings = trace.settings
    assert (settings.threshold, settings.max_new_tokens, settings.temperature) == (0.25, 3, 0.5)
    assert (settings.top_p, settings.seed, trace.router.name, trace.pair.dtype) == (
        0.9,
        7,
        "max-probability",
        "bfloat16",
    )
    assert trace.finish_reason == "length"


def test_json_is_the_only_thing_on_stdout(engine: FakeEngine, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    engine.script = " \u05e9\u05dc\u05d5\u05dd \U0001f389 <script> ${x} \x1b[31m"
    assert route("--question", "6*7?", "--json") == 0
    out, _ = capfdbinary.readouterr()
    trace = RoutingTrace.from_json(out.decode("utf-8"))
    assert out.count(b"\n") == 1
    assert trace.completion == engine.script
    assert {event.source for event in trace.events} == {"slm", "llm"}


def test_a_question_from_standard_input(engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    monkeypatch.setattr(sys, "stdin", io.StringIO("Capital?\nA. Paris\nB. Lyon\n"))
    assert route("--question", "-", "--data-type", "mc") == 0
    assert engine.runs[0].problem.choices == (("A", "Paris"), ("B", "Lyon"))


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--question", ""], "empty"),
        (["--question", "x" * 100_000], "100,000 characters"),
        (["--question", "2+2?", "--threshold", "1.5"], "threshold (tau)"),
        (["--question", "2+2?", "--threshold", "nan"], "threshold (tau)"),
        (["--question", "2+2?", "--data-type", "mc"], "A. Paris"),
        (["--question", "2+2?", "--output-file", "x"], "--dataset-path"),
        (["--dataset-path", "x", "--json", "--output-file", "y"], "--with-trace"),
        (["--dataset-path", "x"], "--output-file"),
        (["--dataset-path", "no-such-file", "--output-file", "y"], "cannot be read"),
        (["--dataset-path", "x", "--data-type", "open", "--output-file", "y"], "math or mc"),
        (["--dataset-path", "x", "--limit", "0", "--output-file", "y"], "--limit"),
    ],
)
def test_bad_input_is_one_message_before_anything_is_loaded(
    arguments: list[str], part: str, engine: FakeEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert route(*arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert part in err
    assert "Traceback" not in err
    assert engine.n_loads == 0


def test_an_unknown_router_is_refused_with_the_names_that_exist(
    engine: FakeEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert route("--question", "2+2?", "--router", "nope") == 2
    assert "citer, max-probability" in capsys.readouterr().err


def test_a_damaged_model_file_is_a_message(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def load(*args, **options):
        raise ModelFileError("model.safetensors is truncated: restore it.")

    monkeypatch.setattr(sys.modules["citer_core.engine"].Engine, "load", load)
    assert route("--question", "2+2?") == 2
    assert capsys.readouterr().err == "error: model.safetensors is truncated: restore it.\n"


def test_usage_errors_exit_with_2() -> None:
    for arguments in (["route"], [], ["nope"], ["route", "--question", "x", "--threshold", "high"]):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 2


def test_help_and_bad_input_import_no_torch() -> None:
    code = (
        "import sys; from citer_core.cli.main import main\n"
        "assert main(['route', '--question', '']) == 2\n"
        "assert not {'torch', 'transformers', 'gradio', 'sympy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, timeout=60)


# --- the terminal


class Terminal:
    """A stream that says that it is a terminal."""

    def __init__(self) -> None:
        self.text = ""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None:
        pass


def show(engine: FakeEngine, color: terminal.ColorChoice = "auto") -> str:
    from citer_core.tasks.problems import problem_from_text
    from citer_core.types import DecodeSettings

    stream = Terminal()
    printer = terminal.TokenPrinter(stream, color)
    for event in engine.start(problem_from_text("2+2?", "math"), settings=DecodeSettings(threshold=0.5)):
        printer.write(event)
    return stream.text


def test_writers_differ_by_colour_and_underline(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = FakeEngine("Yes no", confidences=[0.9, 0.1])
    assert show(engine) == "\x1b[34mYes\x1b[0m\x1b[4;33m no\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert show(engine) == "Yes\x1b[4m no\x1b[0m"
    assert show(engine, "always") == "\x1b[34mYes\x1b[0m\x1b[4;33m no\x1b[0m"
    assert show(engine, "never") == "Yes no"
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert show(engine) == "Yes no"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;owned\x07", "\\x1b]0;owned\\x07"),
        ("a\rb\x00\x7f\x9b31m", "a\\rb\\x00\\x7f\\x9b31m"),
        ("\u202eabc\u2066", "\\u202eabc\\u2066"),
        ("\u2028", "\\u2028"),
        ("\ud800", "\\ud800"),
        ("line\n\ttab", "line\n\ttab"),
        ("\u05e9\u05dc\u05d5\u05dd", "\u05e9\u05dc\u05d5\u05dd"),
        ("\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f468\u200d\U0001f469\u200d\U0001f467"),
        ("<script>${x}`{{y}}", "<script>${x}`{{y}}"),
    ],
)
def test_model_text_cannot_control_the_terminal(text: str, shown: str) -> None:
    assert terminal.escape_controls(text) == shown


@pytest.mark.parametrize(
    ("n_bytes", "shown"),
    [(0, "0.00 MB"), (1.234e6, "1.23 MB"), (999.9e6, "1.00 GB"), (17.6e9, "17.6 GB"), (145.4e9, "145 GB")],
)
def test_bytes_are_shown_in_decimal_units(n_bytes: float, shown: str) -> None:
    assert format_bytes(n_bytes) == shown


# --- a data set


def test_one_row_is_written_as_each_finishes(engine: FakeEngine, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    out = tmp_path / "new" / "folder" / "out.jsonl"
    code = route("--dataset-path", str(dataset(tmp_path)), "--output-file", str(out), "--limit", "3", "--with-trace")
    assert code == 0
    rows = lines(out)
    assert [row["id"] for row in rows] == ["q0", "q1", "q2"]
    assert [row["is_correct"] for row in rows] == [True, True, True]
    first = rows[0]
    trace = RoutingTrace.from_dict(first["trace"])
    assert first["prompt"] == trace.prompt.text
    assert first["response"] == trace.completion
    assert (first["true_answer"], first["predicted_answer"], first["finish_reason"]) == ("1", "1", "eos")
    assert (first["n_tokens"], first["threshold"], first["router"]) == (trace.n_tokens, 0.7, "citer")
    assert first["llm_token_share"] == trace.llm_token_share
    assert first["measured_s"] == trace.measured_s
    assert first["estimated_bytes"] > 0
    assert first["estimated_flops"] > 0
    stdout, stderr = capsys.readouterr()
    assert stdout == ""
    assert "[3/3] q2: right" in stderr
    assert "3 of 3 right (100.0%)" in stderr


def test_a_second_start_runs_only_what_is_missing(
    engine: FakeEngine, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    out = tmp_path / "out.jsonl"
    arguments = ["--dataset-path", str(dataset(tmp_path)), "--output-file", str(out)]
    assert route(*arguments, "--limit", "2") == 0
    whole = out.read_bytes()
    out.write_bytes(whole + whole[: len(whole) // 3])  # the kill came in the middle of row 3
    assert route(*arguments) == 0
    assert [row["id"] for row in lines(out)] == ["q0", "q1", "q2", "q3"]
    assert out.read_bytes().startswith(whole)
    assert len(engine.runs) == 4
    assert "2 of 4 rows are done" in capsys.readouterr().err
    n_loads = engine.n_loads
    assert route(*arguments) == 0
    assert engine.n_loads == n_loads, "nothing was left to run, so nothing had to be loaded"


def test_rows_of_another_run_are_not_mixed(engine: FakeEngine, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    out = tmp_path / "out.jsonl"
    path = dataset(tmp_path)
    arguments = ["--dataset-path", str(path), "--output-file", str(out)]
    assert route(*arguments, "--limit", "2") == 0
    before = out.read_bytes()
    assert route(*arguments, "--threshold", "0.9") == 2
    assert "threshold was 0.7 and is 0.9" in capsys.readouterr().err
    path.write_text(path.read_text().replace("1+1?", "1+1 is?"), encoding="utf-8")
    assert route(*arguments) == 2
    assert "answers another prompt" in capsys.readouterr().err
    assert out.read_bytes() == before


def test_rows_of_other_weights_are_not_mixed(
    engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    from citer_core.trace import RouterInfo

    out = tmp_path / "out.jsonl"
    arguments = ["--dataset-path", str(dataset(tmp_path)), "--output-file", str(out)]
    assert route(*arguments, "--limit", "2") == 0
    monkeypatch.setattr(FakeEngine, "router", lambda self, name=None: RouterInfo("citer", "retrained", 1000))
    assert route(*arguments) == 2
    assert "router_revision" in capsys.readouterr().err


def test_a_file_that_is_not_ours_is_left_alone(engine: FakeEngine, tmp_path: Path, capsys) -> None:
    path = dataset(tmp_path)
    before = path.read_bytes() + b"no line feed"
    path.write_bytes(before[: -len(b"no line feed")])
    mine = tmp_path / "precious.txt"
    mine.write_bytes(before)
    assert route("--dataset-path", str(path), "--output-file", str(mine)) == 2
    assert mine.read_bytes() == before
    assert route("--dataset-path", str(path), "--output-file", str(path)) == 2
    assert route("--dataset-path", str(path), "--output-file", str(tmp_path)) == 2
    assert "cannot be written" in capsys.readouterr().err
    assert engine.n_loads == 0


def test_bad_rows_are_refused_or_skipped(engine: FakeEngine, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    path = dataset(tmp_path, n_rows=2)
    path.write_text("{\n" * 6 + path.read_text(), encoding="utf-8")
    out = tmp_path / "out.jsonl"
    assert route("--dataset-path", str(path), "--output-file", str(out)) == 2
    err = capsys.readouterr().err
    assert "6 bad row(s), nothing was run" in err
    assert "row 1: " in err
    assert "... and 1 more" in err
    assert engine.n_loads == 0
    assert route("--dataset-path", str(path), "--output-file", str(out), "--skip-bad-rows") == 0
    assert capsys.readouterr().err.count("skipped: ") == 6
    assert [row["id"] for row in lines(out)] == ["q0", "q1"]


def test_a_prompt_that_only_the_tokenizer_finds_too_long_is_named_before_anything_runs(
    engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    out = tmp_path / "out.jsonl"

    def refuse_third(problem):
        if problem.id == "q2":
            raise PromptError("The prompt has 2000 tokens: shorten it to 1024.")

    monkeypatch.setattr(engine, "check", refuse_third)
    arguments = ["--dataset-path", str(dataset(tmp_path)), "--output-file", str(out)]
    assert route(*arguments) == 2
    assert "row 3: The prompt has 2000 tokens" in capsys.readouterr().err
    assert lines(out) == []
    assert route(*arguments, "--skip-bad-rows") == 0
    assert [row["id"] for row in lines(out)] == ["q0", "q1", "q3"]


def test_ctrl_c_ends_with_130_and_keeps_finished_rows(
    engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    out = tmp_path / "out.jsonl"
    start = engine.start

    def interrupt_third(problem, **options):
        if problem.id == "q2":
            raise KeyboardInterrupt
        return start(problem, **options)

    monkeypatch.setattr(engine, "start", interrupt_third)
    assert route("--dataset-path", str(dataset(tmp_path)), "--output-file", str(out)) == 130
    assert "interrupted" in capsys.readouterr().err
    assert [row["id"] for row in lines(out)] == ["q0", "q1"]


def command(tmp_path: Path, out: Path, delay_s: float) -> list[str]:
    code = (
        "import sys; from tests import fakes; from citer_core.cli.main import main\n"
        f"fakes.install(fakes.FakeEngine(delay_s={delay_s}))\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    arguments = ["route", "--dataset-path", str(tmp_path / "rows.jsonl"), "--output-file", str(out)]
    return [sys.executable, "-c", code, *arguments]


def test_a_killed_run_resumes(tmp_path: Path) -> None:
    """kill -9 leaves finished rows on disk; two runs never write one file; the same command finishes the rest."""
    dataset(tmp_path, n_rows=8)
    out = tmp_path / "out.jsonl"
    process = subprocess.Popen(command(tmp_path, out, 0.05), cwd=ROOT, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while not (out.exists() and out.read_bytes().count(b"\n") >= 2):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(signal.SIGSTOP)  # or it has finished before the second one has started
        second = subprocess.run(
            command(tmp_path, out, 0), cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
        )
        assert second.returncode == 2
        assert "being written by another run" in second.stderr
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    kept = lines(out)
    assert 2 <= len(kept) < 8
    subprocess.run(command(tmp_path, out, 0), cwd=ROOT, check=True, capture_output=True, timeout=60)
    assert lines(out)[: len(kept)] == kept
    assert [row["id"] for row in lines(out)] == [f"q{n}" for n in range(8)]


def test_a_reader_that_goes_away_is_no_traceback(tmp_path: Path) -> None:
    code = (
        "import sys; from tests import fakes; from citer_core.cli.main import main\n"
        "fakes.install(fakes.FakeEngine('word ' * 20000))\n"
        "sys.exit(main(['route', '--question', '2+2?', '--max-new-tokens', '4096', '--json']))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 141
    assert err == ""
