"""Traces that are not quite right, each with what both languages must say of it: one set for Python and JavaScript.

python -m tests.damaged_traces      # prints them as JSON, for the tests in node

Standard library only. `names` is the field that a refusal names, None where the trace is taken; `text` is the file.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from citer_core.assets import ASSETS

N_RANDOM = 400
JsonChange = Callable[[dict[str, Any]], Any]


@dataclass(frozen=True)
class DamagedTrace:
    """One file, and the words that a refusal of it holds; None where it is taken."""

    name: str
    text: str
    names: str | None


def recorded() -> dict[str, Any]:
    """A recorded run of version 2 with everything optional in it."""
    document = json.loads((ASSETS / "traces" / "capital.json").read_text(encoding="utf-8"))
    document |= {"schema_version": 2, "parent": {"key": "0123456789abcdef", "fork": 3}}
    document["pair"]["prompt_form"] = "plain"
    for model in ("slm", "llm"):
        document["pair"][model]["block_bits"] = None
    return dict(document)


def put(path: str, value: Any) -> JsonChange:
    """Sets a value: `events.1.source`."""

    def change(document: dict[str, Any]) -> None:
        *way, last = path.split(".")
        place: Any = document
        for step in way:
            place = place[int(step)] if isinstance(place, list) else place[step]
        place[int(last) if isinstance(place, list) else last] = value

    return change


def cut(path: str) -> JsonChange:
    """Takes a field away."""

    def change(document: dict[str, Any]) -> None:
        *way, last = path.split(".")
        place: Any = document
        for step in way:
            place = place[int(step)] if isinstance(place, list) else place[step]
        del place[last]

    return change


def _version_1(document: dict[str, Any]) -> None:
    document["schema_version"] = 1
    del document["parent"], document["pair"]["prompt_form"], document["pair"]["slm"]["block_bits"]
    for event in document["events"]:
        event.pop("forced", None)


def _events(count: int, **fields: Any) -> JsonChange:
    def change(document: dict[str, Any]) -> None:
        first = {**document["events"][0], "slm_top": [], "llm_top": [], **fields}
        document["events"] = [{**first, "index": index} for index in range(count)]

    return change


FILE = {"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}}
CHANGES: list[tuple[str, JsonChange, str | None]] = [
    ("as it was recorded", lambda document: None, None),
    ("version 1, without what version 2 added", _version_1, None),
    ("unknown fields are left out", put("events.0.note", {"deep": [1, {}]}), None),
    ("an unknown field of a file's form", put("file", FILE), None),
    ("an unknown model field", put("pair.slm.rope", 3), None),
    ("a whole number with a point", put("settings.max_new_tokens", 256.0), None),
    ("no answer", put("answer", None), None),
    ("no answer field", cut("answer"), None),
    ("no title", put("title", None), None),
    ("a tau without a point", put("settings.threshold", 1), None),
    ("a quantized model", put("pair.llm.block_bits", 4.127), None),
    ("a negative seed", put("settings.seed", -7), None),
    ("a seed of 15 digits", put("settings.seed", 10**15 - 1), None),
    ("no events", put("events", []), None),
    ("4,096 events", _events(4096), None),
    ("a character of two halves", put("title", "🎉" * 1000), None),
    ("block_bits is a text", put("pair.slm.block_bits", "x"), "pair.slm.block_bits"),
    ("block_bits is a list", put("pair.llm.block_bits", [0] * 9), "pair.llm.block_bits"),
    ("block_bits is huge", put("pair.llm.block_bits", 1e14), "pair.llm.block_bits"),
    ("n_params is 1e15", put("pair.slm.n_params", 10**15), "pair.slm.n_params"),
    ("n_params is negative", put("pair.slm.n_params", -1), "pair.slm.n_params"),
    ("n_params is half a number", put("pair.slm.n_params", 0.5), "pair.slm.n_params"),
    ("n_params is true", put("pair.slm.n_params", True), "pair.slm.n_params"),
    ("bytes_per_element is missing", cut("pair.slm.bytes_per_element"), "pair.slm.bytes_per_element"),
    ("tied_embeddings is 1", put("pair.llm.tied_embeddings", 1), "pair.llm.tied_embeddings"),
    ("a file for a model", put("pair.slm", FILE), "pair.slm.name"),
    ("pair is a number", put("pair", 3), "pair is 3"),
    ("a file for a pair's name", put("pair.name", FILE), "pair.name is an object"),
    ("the pair's device is null", put("pair.device", None), "pair.device"),
    ("router without parameters", cut("router.n_params"), "router.n_params"),
    ("tau is 2", put("settings.threshold", 2), "settings.threshold"),
    ("tau is true", put("settings.threshold", True), "settings.threshold"),
    ("tau is a text", put("settings.threshold", "0.5"), "settings.threshold"),
    ("temperature is 9", put("settings.temperature", 9), "settings.temperature"),
    ("top_p is 0", put("settings.top_p", 0), "settings.top_p"),
    ("seed of 2^64", put("settings.seed", 2**64), "settings.seed"),
    ("seed is 1.5", put("settings.seed", 1.5), "settings.seed"),
    ("5,000 new tokens", put("settings.max_new_tokens", 5000), "settings.max_new_tokens"),
    ("an unknown data type", put("prompt.data_type", "poem"), "prompt.data_type"),
    ("a question of 100,001 characters", put("prompt.question", "x" * 100_001), "prompt.question"),
    ("a prompt of a file", put("prompt.text", FILE), "prompt.text is an object"),
    ("half a character", put("prompt.question", "a\ud800"), "prompt.question"),
    ("confidence is 5", put("events.3.slm_confidence", 5), "events[3].slm_confidence"),
    ("confidence is null", put("events.3.slm_confidence", None), "events[3].slm_confidence"),
    ("confidence is negative", put("events.3.slm_confidence", -0.1), "events[3].slm_confidence"),
    ("forced is a text", put("events.0.forced", "yes"), "events[0].forced"),
    ("forced is null", put("events.0.forced", None), "events[0].forced"),
    ("an unknown writer", put("events.1.source", "both"), "events[1].source"),
    ("a writer of a list", put("events.1.source", ["slm"]), "events[1].source"),
    ("text is missing", cut("events.0.text"), "events[0].text"),
    ("a token's text of 1,001 characters", put("events.0.text", "x" * 1001), "events[0].text"),
    ("900,000 characters of tokens", _events(900, text="x" * 1000), "characters"),
    ("an index that is out of order", put("events.2.index", 7), "not numbered"),
    ("an index that is true", put("events.1.index", True), "events[1].index"),
    ("a negative token", put("events.1.token_id", -1), "events[1].token_id"),
    ("a token of 2^31", put("events.1.token_id", 2**31), "events[1].token_id"),
    ("seconds are negative", put("events.1.llm_s", -1), "events[1].llm_s"),
    ("a candidate of two", put("events.0.slm_top", [[1, "x"]]), "events[0].slm_top[0]"),
    ("a candidate with probability 2", put("events.0.slm_top", [[1, "x", 2]]), "events[0].slm_top[0][2]"),
    ("21 candidates", put("events.0.slm_top", [[1, "x", 0.1]] * 21), "events[0].slm_top"),
    ("candidates are an object", put("events.0.llm_top", {}), "events[0].llm_top"),
    ("an event is null", put("events.2", None), "events[2]"),
    ("events are an object", put("events", {}), "events is an object"),
    ("4,097 events", _events(4097), "events is a list of 4097"),
    ("100,000 events", put("events", [{}] * 100_000), "events is a list of 100000"),
    ("an unknown end", put("finish_reason", "bored"), "finish_reason"),
    ("no end", cut("finish_reason"), "finish_reason"),
    ("a date is 7", put("record.date", 7), "record.date"),
    ("no record", cut("record"), "record"),
    ("an answer of a number", put("answer.true_answer", 3), "answer.true_answer"),
    ("an answer that is empty", put("answer", {}), "answer.true_answer"),
    ("an answer that is false", put("answer", False), "answer is false"),
    ("a verdict of 1", put("answer.is_correct", 1), "answer.is_correct"),
    ("a title of a list", put("title", ["x"]), "title is a list of 1"),
    ("a parent with another key", put("parent.key", "<script>"), "parent.key"),
    ("a parent with a negative fork", put("parent.fork", -1), "parent.fork"),
    ("version 3", put("schema_version", 3), "schema version 3"),
    ("version true", put("schema_version", True), "schema version true"),
    ("version of a list", put("schema_version", [1]), "schema version a list of 1"),
    ("another schema", put("schema", "else"), "not a CITER trace"),
]  # fmt: skip

_CAPITAL = json.dumps(recorded())
TEXTS: list[tuple[str, str, str | None]] = [
    ("nothing", "", "not JSON"),
    ("half of it", _CAPITAL[:5000], "not JSON"),
    ("two of it", _CAPITAL * 2, "not JSON"),
    ("a list", "[1, 2]", "not a CITER trace"),
    ("null", "null", "not a CITER trace"),
    ("a text", '"x"', "not a CITER trace"),
    ("100,000 brackets", "[" * 100_000, "inside each other"),
    ("deep in an unknown field", _CAPITAL[:-1] + ', "x": ' + "[" * 70 + "]" * 70 + "}", "inside each other"),
    ("a number of 5,000 digits", _CAPITAL[:-1] + ', "x": ' + "9" * 5000 + "}", "digits"),
    ("a tau of 10^400", _CAPITAL.replace('"threshold": ', '"threshold": 1e400, "x": ', 1), "too large"),
    ("NaN", _CAPITAL[:-1] + ', "x": NaN}', "JSON"),
    ("Infinity", _CAPITAL[:-1] + ', "x": Infinity}', "JSON"),
    ("a million values", _CAPITAL[:-1] + ', "x": [' + "0," * 1_000_000 + "0]}", "values"),
    ("an escaped half character", _CAPITAL.replace('"title": "', '"title": "\\ud800', 1), "title"),
    ("a prototype", _CAPITAL[:-1] + ', "__proto__": {"title": 3}, "constructor": 1}', None),
    ("a name twice", _CAPITAL[:-1] + ', "title": "b"}', None),
]


def damaged_traces() -> list[DamagedTrace]:
    """All of them, and traces with one value changed at random, whose verdict the two languages only share."""
    made = [*_changed(), *(DamagedTrace(*entry) for entry in TEXTS)]
    assert len({trace.name for trace in made}) == len(made)
    return made


def random_texts(n: int = N_RANDOM, seed: int = 14) -> list[str]:
    """Traces with one or two values anywhere in them changed to something else."""
    chance = random.Random(seed)
    return [_randomly_changed(chance) for _ in range(n)]


_ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 0.5, 1.0, 2, 5, 4096, 2**31, 10**15, 2**53, 2**64, 1e99, -0.0, 1e-300, "", "x", "slm",
    "\ud800", "🎉", "x" * 1001, [], {}, [[]], [1, "a", 0.5], [[1, "a", 0.5]], {"path": "x"},
)  # fmt: skip


def _randomly_changed(chance: random.Random) -> str:
    document = recorded()
    document["events"] = document["events"][:3]
    for _ in range(chance.choice((1, 1, 1, 2))):
        place: Any = document
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            key = chance.choice(keys)
            if isinstance(place[key], dict | list) and place[key] and chance.random() < 0.8:
                place = place[key]
                continue
            if isinstance(place, dict) and chance.random() < 0.15 and len(place) > 1:
                del place[key]
            else:
                place[key] = chance.choice(_ODD)
            break
    return json.dumps(document, ensure_ascii=chance.random() < 0.5)


def _changed() -> list[DamagedTrace]:
    made = []
    for name, change, names in CHANGES:
        document = recorded()
        change(document)
        made.append(DamagedTrace(name, json.dumps(document), names))
    return made


if __name__ == "__main__":
    print(json.dumps({"damaged": [asdict(trace) for trace in damaged_traces()], "random": random_texts()}))
