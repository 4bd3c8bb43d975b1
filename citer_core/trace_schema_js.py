"""`trace_schema` and `decode_settings` as a module for the browser: the same kinds, ranges and defaults, so that
neither language has its own. What a kind is there, and what is said of it, is in `assets/run/kinds.js`.

python -m citer_core.trace_schema_js      # writes assets/run/trace_schema.js and what only the Compare tab needs,
                                          # assets/run/comparison_schema.js; a test says when that is to be done

Standard library only; knows nothing of a trace or a setting but its fields.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from citer_core import trace_schema
from citer_core.assets import ASSETS
from citer_core.cost import ModelSpec
from citer_core.decode_settings import SETTINGS, Setting
from citer_core.gate import json_text
from citer_core.gate.dataclass_kind import Made, kind_of
from citer_core.gate.fields import Choice, Flag, Kind, ListOf, Maybe, Real, Record, Row, Text, Whole
from citer_core.speculation import SPECULATIVE
from citer_core.trace import TRACE, AnswerInfo, PairInfo, PromptInfo, RecordInfo
from citer_core.types import FinishReason

MODULE = ASSETS / "run" / "trace_schema.js"
COMPARISON_MODULE = ASSETS / "run" / "comparison_schema.js"
WIDTH = 120
# Written once and named wherever they stand, also in the other module; inner ones first.
SHARED: dict[str, Kind[Any]] = {
    "MODEL_TABLE": kind_of(ModelSpec),
    "PAIR_TABLE": kind_of(PairInfo),
    "PROMPT_TABLE": kind_of(PromptInfo),
    "ANSWER_TABLE": Maybe(kind_of(AnswerInfo)),
    "FINISH_REASON_TABLE": Maybe(kind_of(FinishReason)),
    "RECORD_TABLE": kind_of(RecordInfo),
}
_HEADER = """/**
 * What each field of a trace may hold, and what is known of each setting of decoding. Data only, made by
 * `python -m citer_core.trace_schema_js` from the tables that the server checks with: change
 * `citer_core/trace_schema.py` or `citer_core/decode_settings.py`, not this file.
 */
"""


_COMPARISON_HEADER = """/**
 * What a recorded comparison may hold beside traces. Data only, made by `python -m citer_core.trace_schema_js`: change
 * `citer_core/trace_schema.py`, not this file.
 */
"""


@dataclass(frozen=True, slots=True)
class _Named:
    """A constant where its value would stand."""

    name: str


@dataclass(frozen=True, slots=True)
class _Made:
    """What a function of `kinds.js` gives."""

    function: str
    arguments: tuple[Any, ...]


def comparison_module_text() -> str:
    """The whole module of what is compared."""
    constants = {
        "COMPARISON_SCHEMA": trace_schema.COMPARISON_SCHEMA,
        "COMPARISON_VERSION": trace_schema.COMPARISON_VERSION,
        "MOST_COMPARED": trace_schema.MOST_COMPARED,
        "SPECULATIVE_TABLE": table_of(SPECULATIVE),
    }
    return tables_text(_COMPARISON_HEADER, constants, ".")


def module_text() -> str:
    """The whole module of traces and settings."""
    constants = {
        "TRACE_SCHEMA": trace_schema.SCHEMA,
        "TRACE_VERSIONS": list(trace_schema.READ_VERSIONS),
        "MAX_TRACE_CHARS": trace_schema.MAX_TRACE_CHARS,
        "MAX_COMPLETION_CHARS": trace_schema.MAX_COMPLETION_CHARS,
        "JSON_LIMITS": {
            "depth": json_text.MAX_DEPTH,
            "values": json_text.MAX_VALUES,
            "digits": json_text.MAX_DIGITS,
        },
        "SETTINGS_TABLE": {name: _row_of(name, setting) for name, setting in SETTINGS.items()},
        **{name: _table_inside(kind) for name, kind in SHARED.items()},
        "TRACE_TABLE": table_of(TRACE),
    }
    return tables_text(_HEADER, constants, ".")


def tables_text(header: str, constants: dict[str, Any], run: str) -> str:
    """A module that exports constants, with what it imports for them; `run` is how it leads to `assets/run`."""
    tables = "\n".join(f"export const {name} = {_written(value, 30)};\n" for name, value in constants.items())
    made = sorted({*re.findall(r"(\w+)\(", tables), *re.findall(r"\bFLAG\b", tables)})
    shared = [name for name in SHARED if name in tables and name not in constants]
    imports = [(made, f"{run}/kinds.js"), (shared, f"{run}/trace_schema.js")]
    lines = (f'import {{\n  {", ".join(names)},\n}} from "{path}";\n' for names, path in imports if names)
    return f"{header}\n{''.join(lines)}\n{tables}"


def _row_of(name: str, setting: Setting) -> _Made:
    """What the browser needs of a setting: the rest is only for making its control, on the server."""
    more: dict[str, Any] = {"forSampling": True} if setting.for_sampling else {}
    if setting.looking_back is not None:
        more["lookingBack"] = setting.looking_back
    about = (table_of(setting.kind), setting.default, setting.label, setting.link or name)
    return _Made("settingOf", (*about, more) if more else about)


def table_of(kind: Kind[Any]) -> _Made | _Named:
    """How the browser makes a kind; one of `SHARED` is its name."""
    name = next((name for name, shared in SHARED.items() if shared == kind), None)
    return _table_inside(kind) if name is None else _Named(name)


def _table_inside(kind: Kind[Any]) -> _Made | _Named:
    match kind:
        case Made():
            return _table_inside(kind.of)
        case Text():
            more = (kind.min_chars, kind.alphabet) if kind.alphabet else (kind.min_chars,) if kind.min_chars else ()
            return _Made("textUpTo", (kind.max_chars, *more))
        case Whole():
            return _Made("wholeFrom", (kind.low, kind.high))
        case Real():
            return _Made("realAbove" if kind.open_low else "realFrom", (kind.low, kind.high))
        case Flag():
            return _Named("FLAG")
        case Choice():
            return _Made("oneNamed", kind.names)
        case Maybe():
            return _Made("orNone", (table_of(kind.kind),))
        case ListOf():
            return _Made("listOf", (table_of(kind.kind), kind.most, *([kind.least] if kind.least else [])))
        case Row():
            return _Made("rowOf", tuple(table_of(entry) for entry in kind.kinds))
        case Record():
            fields = (kind.required, kind.optional) if kind.optional else (kind.required,)
            return _Made("recordOf", tuple({key: table_of(value) for key, value in some.items()} for some in fields))
        case _:
            raise AssertionError(f"{type(kind).__name__} has no form for the browser")


def _written(value: Any, column: int, indent: int = 0) -> str:
    """A literal, on one line where it fits behind `column`, else an entry a line. All names are identifiers."""
    if isinstance(value, list):
        opened, closed, entries = "[", "]", [("", entry) for entry in value]
    elif isinstance(value, dict):
        opened, closed, entries = (
            ("{ ", " }", [(f"{name}: ", entry) for name, entry in value.items()]) if value else ("{", "}", [])
        )
    elif isinstance(value, _Made):
        opened, closed, entries = f"{value.function}(", ")", [("", entry) for entry in value.arguments]
    elif isinstance(value, _Named):
        return value.name
    elif isinstance(value, float) and value.is_integer():
        return str(int(value))
    else:
        return json.dumps(value, ensure_ascii=False)
    line = opened + ", ".join(name + _written(entry, -(10**6)) for name, entry in entries) + closed
    if column + len(line) < WIDTH:
        return line
    if isinstance(value, _Made) and len(entries) == 1:
        return opened + _written(entries[0][1], column + len(opened), indent) + closed
    inner = " " * (indent + 2)
    lines = (f"{inner}{name}{_written(entry, len(inner + name), indent + 2)},\n" for name, entry in entries)
    return f"{opened.strip()}\n{''.join(lines)}{' ' * indent}{closed.strip()}"


if __name__ == "__main__":
    MODULE.write_text(module_text(), encoding="utf-8")
    COMPARISON_MODULE.write_text(comparison_module_text(), encoding="utf-8")
