"""Every reader of what comes from outside, each as one entry: what to feed it, and how to call it.

To add a reader, add a `Target` to `targets()`: `inputs` makes the odd things, `read` calls the reader (and uses what it
gave, as the program would), `calm` are the errors that it may answer with. All else is a finding.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from hypothesis import strategies as st

from citer_core.assets import ASSETS
from citer_core.config import AppConfig
from citer_core.cost import H100_SXM
from citer_core.decode_settings import DecodeSettings, read_settings
from citer_core.errors import CiterError
from citer_core.gate.excerpt import excerpt
from citer_core.gate.json_text import parse_json
from citer_core.models.presets import parse_pair
from citer_core.replay import replay
from citer_core.tasks.answers import check_answer, extract_answer
from citer_core.tasks.problems import Problem, problem_from_row, problem_from_text
from citer_core.trace import RoutingTrace
from citer_core.ui.api import Api, RecordedRuns
from citer_core.ui.class_rooms import ClassRooms
from citer_core.ui.labels.answers import _token_of
from citer_core.ui.labels.rows import bundled_row, pasted_rows, rows_of_file
from citer_core.ui.pair.offers import PairOffers
from citer_core.ui.presets import read_presets
from citer_core.ui.problems import ProblemBook
from citer_core.ui.run.asked import INSIDE, NEXT, asked_run, branch_request, probe_request, read_asked
from citer_core.ui.run.order import RunRegistry
from citer_core.ui.run.stream import missing_part
from tests.damaged_traces import recorded
from tests.mutations import ODD, any_json, changed, garbled

BOOK = ProblemBook({})
KEY = "0123456789abcdef"


@dataclass(frozen=True)
class Target:
    """A reader under fuzz."""

    name: str
    inputs: st.SearchStrategy[Any]
    read: Callable[[Any], object]
    calm: tuple[type[Exception], ...] = (CiterError,)


seeds = st.integers(0, 2**48)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30) | st.sampled_from(ODD)
# Seeds rather than `st.recursive`, which takes ten times as long: a long run is to be of many inputs.
anything = scalars | seeds.map(lambda seed: any_json(random.Random(seed)))
words = st.lists(st.sampled_from([
    "Therefore,", "the", "answer", "is", "house", "(B)", "A", "Paris", "\\boxed{", "}", "12", "**", "~", "/",
    ".gguf", ":", ",", "org/name", "\n", "-", "_", "*", "(", ")", "[", "é", "🎉", "\x00", "\ud800", "not", "or", "",
    " ", "../", "x" * 300, "\\" * 50, "*" * 500, "A. Paris\nB. Rome\n",
]), max_size=12).map(" ".join)  # fmt: skip


def documents(document: Any) -> st.SearchStrategy[str]:
    """JSON texts near a good document: with values changed, garbled, or nothing of it at all."""

    def made(seed: int) -> str:
        chance = random.Random(seed)
        value = (
            any_json(chance) if chance.random() < 0.15 else changed(document, chance, chance.choice((0, 0, 1, 1, 2)))
        )
        text = json.dumps(value, ensure_ascii=chance.random() < 0.5)
        return garbled(text, chance) if chance.random() < 0.3 else text

    return seeds.map(made)


def near(value: Any) -> st.SearchStrategy[Any]:
    """A value, or now and then anything else."""
    return st.tuples(st.integers(0, 3), anything).map(lambda drawn: drawn[1] if drawn[0] == 0 else value)


def arguments(good: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Named values, one in six of them anything else."""

    def made(seed: int) -> dict[str, Any]:
        chance = random.Random(seed)
        return {name: any_json(chance) if chance.random() < 1 / 6 else value for name, value in good.items()}

    return seeds.map(made)


def targets(folder: Path) -> list[Target]:
    """All of them; `folder` is for files."""
    return [*_documents(), *_requests(), *_words(folder)]


def _documents() -> list[Target]:
    whole = recorded()
    trace = {**whole, "events": whole["events"][:4]}
    row = {"question": "Where?", "choices": {"text": ["a", "b"], "label": ["A", "B"]}, "answerKey": "A", "cot": "b."}
    math_row = {"problem": "1 + 1?", "solution": "It is $\\boxed{2}$.", "id": 3}

    def read_trace(text: object) -> object:
        found = RoutingTrace.from_json(text)
        once = found.to_json()
        assert RoutingTrace.from_json(once).to_json() == once
        return found.key, found.cost(H100_SXM), replay(found, 0.5).to_dict()

    as_bytes = documents(trace).map(_encoded)
    rows = documents(row) | documents(math_row)
    return [
        Target("JSON text", documents(trace), lambda text: parse_json(text, max_chars=100_000)),
        Target("trace, text", documents(trace) | anything, read_trace),
        Target("trace, bytes", as_bytes | st.binary(max_size=200), read_trace),
        Target("row of a data set", rows, lambda text: problem_from_row(_row(text), "mc" if "cho" in text else "math")),
        Target("pasted rows", rows | anything, pasted_rows),
        Target("rows of a file", st.tuples(near("rows.jsonl"), rows | anything), lambda given: rows_of_file(*given)),
    ]  # fmt: skip


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _row(text: str) -> dict[str, Any]:
    found = parse_json(text, max_chars=100_000)
    return found if isinstance(found, dict) else {}


def _requests() -> list[Target]:
    whole = recorded()
    about = {"prompt": whole["prompt"], "true_answer": "B", "pair_name": "x", "pair_revision": "y"}
    branch = {**about, "router": "citer", "settings": whole["settings"], "events": whole["events"][:3], "source": "llm",
              "token_id": 7, "parent": KEY}  # fmt: skip
    probe = {**about, "token_ids": [1, 2, 3], "key": KEY}
    decision = {**about, "token_ids": [1, 2, 3], "router": "citer", "after_llm": True}
    position = {**about, "token_ids": [1, 2, 3], "settings": whole["settings"], "text": " a"}
    desk = SimpleNamespace(registry=RunRegistry())
    runs = RecordedRuns(ASSETS / "traces", read_presets(ASSETS / "traces")[:2])
    replay_again = Api(runs, *[None] * 4).replay
    trace_text = documents({**whole, "events": whole["events"][:3]})
    settings = {"threshold": 0.7, "max_new_tokens": 9, "temperature": 0, "top_p": 1, "seed": 0}
    asked = {"question": "1 + 1?", "data_type": "math", "router": "citer", "settings": settings}
    roll_out = {"of": {"problem": "math 1"}, "index": 1, "router": "c", "tau": 0.5, "pair": "x", "pair_revision": "a-b"}
    return [
        Target("branch request", documents(branch) | anything, lambda text: branch_request(text, BOOK)),
        Target("probe request", documents(probe) | anything, lambda text: probe_request(text, BOOK)),
        Target("decision request", documents(decision) | anything, lambda text: probe_request(text, BOOK, INSIDE)),
        Target("position request", documents(position) | anything, lambda text: probe_request(text, BOOK, NEXT)),
        Target(
            "replay arguments", st.tuples(trace_text | near(""), near(0.5), near("bakery")),
            lambda given: replay_again(*given), (CiterError,),
        ),
        Target(
            "values of a run", arguments(asked),
            lambda given: asked_run(BOOK, **given),
        ),
        Target("request for a run", documents(asked) | anything, lambda text: read_asked(BOOK, text)),
        Target(
            "settings, text or object", documents(settings) | anything,
            lambda given: DecodeSettings(**read_settings(given)),
        ),
        Target(
            "decoding settings", arguments(settings),
            lambda given: DecodeSettings(**given),
        ),
        Target(
            "missing part", arguments({"run": "x", "base": 1}),
            lambda given: missing_part(desk, given),
        ),
        Target(
            "roll-out request", documents(roll_out) | anything,
            lambda text: _token_of(text, {}),
        ),
        Target(
            "answer to a room", arguments({"room": "ABCDEF", "answer": "2J0B-H8DJ-RCX8-0S3X"}), ClassRooms().send,
        ),
        Target("excerpt", anything, lambda value: excerpt(value).encode()),
    ]  # fmt: skip


def _words(folder: Path) -> list[Target]:
    offers = {mode: PairOffers(AppConfig(pairs=mode)) for mode in ("fixed", "here", "presets", "any")}
    choices: list[Problem] = [
        problem_from_text("Where?\nA. house\nB. Paris\nC. B\nD. *", "mc"),
        problem_from_text("Where?\n1. 12\n2. the answer", "mc"),
        problem_from_text("1 + 1?", "math"),
    ]
    halves = st.sampled_from(
        ["embedded", "org/name", "org/name:a.gguf", str(folder), "~nosuchuser", "x" * 300, "", "\x00"]
    )
    pairs = (halves | words | st.text(max_size=40)).flatmap(
        lambda first: (halves | words).map(lambda second: f"{first},{second}")
    )

    def checked(given: tuple[str, Any, Any]) -> object:
        return offers[given[0]].check(given[1], given[2], None, "embedded")

    def answered(given: tuple[Problem, str]) -> object:
        return extract_answer(given[1], given[0]), check_answer(given[1], given[0])

    texts = words | st.text(max_size=200)
    return [
        Target("pair name", pairs | words | st.text(max_size=40), parse_pair),
        Target("pair to change to", st.tuples(st.sampled_from(list(offers)), pairs | anything, near("")), checked),
        Target(
            "problem text", st.tuples(texts, st.sampled_from(["math", "mc", "open", "poem"]), st.none() | texts),
            lambda given: problem_from_text(*given),
        ),
        Target("answer of a completion", st.tuples(st.sampled_from(choices), texts), answered, ()),
        Target("key of a bundled problem", st.integers(0, 300).map("math {}".format) | anything | words, bundled_row),
    ]  # fmt: skip
