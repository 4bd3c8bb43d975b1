"""`route` with one question, on the fake engine: what reaches stdout, stderr and the exit code."""

from __future__ import annotations

import subprocess
import sys

import pytest

from citer_core.cli.main import main
from citer_core.decode_settings import DecodeSettings
from citer_core.errors import ModelFileError
from citer_core.trace import RoutingTrace
from tests.cli.examples import ROOT, route
from tests.fakes import FakeEngine


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


def test_settings_as_one_object_are_those_of_the_flags(engine: FakeEngine) -> None:
    assert route("--question", "6*7?", "--settings", '{"threshold": 0.25, "top_p": 0.9, "temperature": 1}') == 0
    assert route("--question", "6*7?", "--threshold", "0.25", "--settings", '{"top_p": 0.9}', "--temperature", "1") == 0
    first, second = [run.trace().settings for run in engine.runs]
    assert first == second == DecodeSettings(0.25, temperature=1.0, top_p=0.9)


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
        (["--question", "2+2?", "--settings", '{"top_p": 0}'], "top_p is 0; it must be a number above 0, at most 1."),
        (["--question", "2+2?", "--settings", '{"tau": 1}'], 'no setting "tau": settings may hold threshold, max_new'),
        (["--question", "2+2?", "--settings", "0.7"], "settings is 0.7; it must be an object"),
        (["--question", "2+2?", "--settings", '{"seed": 1}', "--seed", "2"], "--seed is given, and --settings holds"),
        (["--question", "2+2?", "--settings", '{"threshold": 1}', "--budget", "0.3"], "one of the two"),
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
