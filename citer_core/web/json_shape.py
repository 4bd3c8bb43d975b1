"""What a JSON body may look like, for every later reader: how deep, which session, no files, and how long each field.

Knows gradio's forms of a request by the names of their fields. Called by `bodies`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from itertools import zip_longest
from typing import Any

from citer_core.errors import GateError
from citer_core.gate.json_text import MAX_DEPTH, MAX_VALUES, parse_json

FILE_MARK = "gradio.FileData"
_SESSION = re.compile(r"[\w-]{0,64}")
NO_JSON = f"The body cannot be read as JSON: send UTF-8, at most {MAX_DEPTH} levels deep and of a sane size."
NO_FILES = "This server takes no files: send a trace as it is, and rows as text."
NO_SESSION = "session_hash is a text of up to 64 letters, digits, - and _."
NO_FUNCTION = "There is no such function: the API tab of the page lists those that there are."
TOO_LONG = "A field is longer than it may be, or of another kind."
SHORT_CHARS = 1_000
# Of a function's number or name: how many characters each of its fields may have, in their order; None where it is
# unknown.
FieldLimits = Callable[[object], Mapping[object, int] | None]


class ShapeError(ValueError):
    """A body that is refused; the message is for the visitor and repeats nothing of it."""


def read_json(body: bytes) -> Any:
    """The document.

    Raises:
        ShapeError: it is none, is too deep, has a number that is too long, or more than a million values.
    """
    # Millions of small values take far more memory than their text. Marks inside of texts are counted too, so that only
    # the exact and slower look says no.
    is_suspicious = sum(map(body.count, (b",", b"[", b"{"))) > MAX_VALUES
    try:
        document = parse_json(body, max_chars=len(body)) if is_suspicious else json.loads(body)
    except (ValueError, RecursionError, GateError) as error:
        raise ShapeError(NO_JSON) from error
    _look_through(document)
    return document


def check_request(document: object, limits: FieldLimits, name: str | None = None) -> None:
    """What every request to a function of the page must keep to.

    Args:
        document: the body of `queue/join` or `call/NAME`.
        limits: of the page's functions.
        name: the function's, where the path has it.

    Raises:
        ShapeError: the session is no session, there is no such function, a value is missing, or a field is longer than
            it may be.
    """
    if not isinstance(document, dict):
        raise ShapeError("The body must be a JSON object.")
    session = document.get("session_hash")
    if session is not None and not (isinstance(session, str) and _SESSION.fullmatch(session)):
        raise ShapeError(NO_SESSION)
    number = document.get("fn_index")
    found = limits(name) if name is not None else limits(number) if type(number) is int else None
    if found is None:
        raise ShapeError(NO_FUNCTION)
    data = document.get("data")
    if not isinstance(data, list):  # fields by name
        fields = {field: value for field, value in document.items() if field != "session_hash"}
        if any(_length(value) > found.get(field, SHORT_CHARS) for field, value in fields.items()):
            raise ShapeError(TOO_LONG)
        return
    if name is not None and len(data) < len(found):  # which gradio answers with an error without words
        raise ShapeError(
            f"`data` has {len(data)} of {len(found)} values. Give one for each of: {', '.join(map(str, found))}."
        )
    # More values than there are fields are gradio's to refuse; they are short ones.
    for value, most in zip_longest(data, [*found.values()][: len(data)], fillvalue=0):
        if _length(value) > most:
            raise ShapeError(TOO_LONG)


def check_tool_call(document: object, limits: FieldLimits) -> None:
    """What every message to MCP must keep to. Its errors repeat what they refuse, so only texts may be long, and those
    only in fields that take texts.

    Raises:
        ShapeError: something is longer than it may be.
    """
    rest = document
    if isinstance(document, dict) and isinstance(params := document.get("params"), dict):
        arguments = params.get("arguments")
        if isinstance(arguments, dict):
            rest = {**document, "params": {**params, "arguments": [*arguments]}}
            known = limits(params.get("name")) or {}
            for name, value in arguments.items():
                if _length(value) > (known.get(name, SHORT_CHARS) if isinstance(value, str) else SHORT_CHARS):
                    raise ShapeError(TOO_LONG)
    if _length(rest) > SHORT_CHARS:
        raise ShapeError(TOO_LONG)


def _look_through(document: object) -> None:
    """Without recursion, so that no depth can end it."""
    level = [document]
    for _ in range(MAX_DEPTH + 1):
        if not level:
            return
        below: list[object] = []
        for value in level:
            if isinstance(value, dict):
                if _is_file(value):
                    raise ShapeError(NO_FILES)
                below.extend(value.values())
            elif isinstance(value, list):
                below.extend(value)
        level = [value for value in below if isinstance(value, dict | list)]
    raise ShapeError(NO_JSON)


def _is_file(value: dict[str, Any]) -> bool:
    """What gradio takes for a file of its own, wherever in a request it stands, and then looks for on its disk."""
    meta = value.get("meta")
    return isinstance(meta, dict) and meta.get("_type") == FILE_MARK


def _length(value: object) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict | list):
        return len(json.dumps(value))
    return 0
