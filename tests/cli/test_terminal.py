"""What a terminal shows: who wrote a token without colour alone, and no model text that steers it."""

from __future__ import annotations

import pytest

from citer_core.cli import terminal
from citer_core.cli.terminal import format_bytes
from tests.fakes import FakeEngine


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
