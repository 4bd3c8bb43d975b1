"""The process's log: lines for people or JSON objects, bounded, one line each whatever was sent.

Nothing that is logged may be long or break out of its line: a traceback keeps its last calls and the beginning of each
line. Called by `app`; knows the standard library only.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import time
import traceback
from typing import Any, Literal

MAX_CHARS = 2_000  # of a message
MAX_LINE = 300  # of a line of a traceback
MAX_LINES = 40
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def bounded(text: str, most: int = MAX_CHARS) -> str:
    """The text on one line, without control characters, with at most that many characters."""
    cut = text if len(text) <= most else f"{text[:most]} [{len(text) - most:,} more characters]"
    return _CONTROLS.sub(lambda found: repr(found.group())[1:-1], cut)


def bounded_traceback(error: BaseException) -> list[str]:
    """The last lines of a traceback, each cut; what an exception was given may be of any length."""
    lines: list[str] = []
    for part in traceback.TracebackException.from_exception(error, limit=-15, lookup_lines=False).format():
        lines.extend(bounded(line, MAX_LINE) for line in part[: MAX_LINE * MAX_LINES].splitlines())
    return lines[-MAX_LINES:]


class TextLines(logging.Formatter):
    """Lines for people."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, and those of a traceback."""
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(record.created))
        fields = "".join(f" {name}={_word(value)}" for name, value in _fields(record).items())
        line = f"{at} {record.levelname} {record.name}: {bounded(record.getMessage())}{fields}"
        return "\n    ".join([line, *_lines(record)])


class JsonLines(logging.Formatter):
    """One JSON object a line: `time` (seconds since 1970), `level`, `logger`, `message`, and what the record adds."""

    def format(self, record: logging.LogRecord) -> str:
        """One line; a traceback is a list in it."""
        entry: dict[str, Any] = {
            "time": round(record.created, 3),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": bounded(record.getMessage()),
            **{name: bounded(value) if isinstance(value, str) else value for name, value in _fields(record).items()},
        }
        if lines := _lines(record):
            entry["traceback"] = lines
        return json.dumps(entry, default=lambda value: bounded(str(value)))


def set_up_log(form: Literal["text", "json"]) -> None:
    """Lets everything be logged to standard error in that form; called once, first."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for name in ("httpx", "mcp"):
        logging.getLogger(name).setLevel(logging.WARNING)


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    fields = getattr(record, "fields", None)
    return fields if isinstance(fields, dict) else {}


def _lines(record: logging.LogRecord) -> list[str]:
    info = record.exc_info
    return bounded_traceback(info[1]) if isinstance(info, tuple) and info[1] is not None else []


def _word(value: object) -> str:
    text = bounded(str(value), 200)
    return json.dumps(text, ensure_ascii=False) if " " in text else text
