"""JSON text to plain values, bounded before anything is built. Called by every reader of documents and requests.

Length, depth, number of values and length of numbers are found by regular expressions that look at each character
once (possessive, so they never go back); only then does the standard library's parser run. Knows no document.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NoReturn

from citer_core.errors import GateError
from citer_core.gate.excerpt import excerpt

MAX_DEPTH = 64
MAX_VALUES = 1_000_000  # 4,096 events with 20 candidates of both models are about 700,000
MAX_DIGITS = 40  # Python and JavaScript write a double in at most 25 characters

_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?+', re.DOTALL)
_NO_STRUCTURE = re.compile(r"[^\[\]{},]++")
_SHORT_NUMBERS = re.compile(rf"(?:[^0-9]++|[0-9]{{1,{MAX_DIGITS}}}+(?![0-9]))*+")
_HUGE_EXPONENT = re.compile(r"[eE]\+?[0-9]{3}")  # 1e100 and more, which ends at infinity; 1e-300 is a probability


def parse_json(
    text: object,
    *,
    max_chars: int,
    max_depth: int = MAX_DEPTH,
    max_values: int = MAX_VALUES,
    look: Callable[[dict[str, Any]], Any] | None = None,
) -> Any:
    """Parses one JSON document.

    Args:
        text: the document, a text or its bytes in UTF-8 (a byte order mark is passed over); anything else is refused.
        max_chars: longest text.
        max_depth: most lists and objects inside each other.
        max_values: most values in lists and objects altogether.
        look: makes of each object what stands there instead; it may raise `GateError`.

    Returns:
        dict, list, str, int, float, bool or None. Numbers are finite. Texts may hold lone surrogates (JSON can say
        them); `fields.Text` refuses those.

    Raises:
        GateError: it is no text, too long, too deep or no JSON; or it holds NaN, Infinity or an endless number.
    """
    document = _as_text(text, max_chars)
    _check_structure(document, max_depth, max_values)
    try:
        return json.loads(document, parse_constant=_no_constant, object_hook=look)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise GateError(f"This is not JSON ({error.msg}, {where}). Give one whole JSON document.") from None
    except (RecursionError, ValueError) as error:  # cannot be, after the checks; and if it can, it is no crash
        raise GateError("This JSON cannot be read. Give one whole JSON document.") from error


def _as_text(text: object, max_chars: int) -> str:
    if isinstance(text, bytes):
        _check_length(len(text), 4 * max_chars, "bytes")
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            raise GateError(f"This is not UTF-8 text (byte {error.start:,}). Save it as UTF-8.") from None
    if not isinstance(text, str):
        raise GateError(f"This is {excerpt(text)}, not text. Give JSON as text.")
    _check_length(len(text), max_chars, "characters")
    return text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}")


def _check_length(length: int, most: int, unit: str) -> None:
    if length > most:
        raise GateError(f"This document has {length:,} {unit}; at most {most:,} are read. Give a shorter one.")


def _check_structure(text: str, max_depth: int, max_values: int) -> None:
    too_many = f"This document holds more than {max_values:,} values. Give a shorter one."
    if text.count('"') - text.count('\\"') > 4 * max_values:  # a key and a text for each value, at most
        raise GateError(too_many)
    outside = _STRING.sub('""', text)
    if not _SHORT_NUMBERS.fullmatch(outside) or _HUGE_EXPONENT.search(outside):
        raise GateError(f"A number in this document is too long (more than {MAX_DIGITS} digits) or too large.")
    structure = _NO_STRUCTURE.sub("", outside)
    # Each comma ends one value and each opening bracket is one.
    n_values = structure.count(",") + structure.count("[") + structure.count("{")
    if n_values > max_values:
        raise GateError(too_many)
    depth = 0
    for char in structure.replace(",", ""):
        depth += 1 if char in "[{" else -1
        if depth > max_depth:
            raise GateError(f"This document has more than {max_depth} lists and objects inside each other.")
        if depth < 0:
            return  # the parser says it better


def _no_constant(name: str) -> NoReturn:
    raise GateError(f"This document holds {name}, which is not JSON. Give finite numbers.")
