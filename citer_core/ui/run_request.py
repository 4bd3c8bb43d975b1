"""Requests about a finished run that the browser holds: a branch of it, or a probe. JSON text in, checked values out.

The browser may send anything, so every field is looked at; what can be derived (texts, cache lengths, verdicts) is
derived again by the engine. Knows the trace's form, no components and no engine.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, get_args

from citer_core.errors import CiterError, TraceError
from citer_core.fork import Fork
from citer_core.tasks.problems import Problem, problem_from_text
from citer_core.tasks.prompts import DATA_TYPES
from citer_core.trace import ParentInfo
from citer_core.types import MAX_NEW_TOKENS, Candidate, DecodeSettings, Source, TokenEvent
from citer_core.ui.problem_book import ProblemBook

MAX_REQUEST_CHARS = 12_000_000  # 4,096 events with both models' candidates are about 3 million
MAX_TEXT = 100_000
MAX_CANDIDATES = 20
MAX_SECONDS = 1e6
T = TypeVar("T")
_KEY_CHARS = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True)
class BranchRequest:
    """A branch to be run: what was asked, who decides, and from where it goes on.

    Attributes:
        prompt_text: what the models read then, as the browser says; whoever has the pair compares it with its own.
    """

    problem: Problem
    prompt_text: str
    pair_name: str
    pair_revision: str
    router: str
    settings: DecodeSettings
    fork: Fork
    parent: ParentInfo


@dataclass(frozen=True, slots=True)
class ProbeRequest:
    """A finished run to be read once by both models; `key` is the browser's own and comes back with the result."""

    problem: Problem
    prompt_text: str
    pair_name: str
    pair_revision: str
    token_ids: list[int]
    key: str


def branch_request(text: object, book: ProblemBook) -> BranchRequest:
    """Reads the request for a branch.

    Args:
        text: JSON with `prompt`, `true_answer`, `pair_name`, `pair_revision`, `router`, `settings`, `events` (the
            shared ones, as in a trace), `source`, `token_id` and `parent` (the parent's key).
        book: the bundled problems, whose answers are known here.

    Raises:
        CiterError: something is missing, of a wrong kind or out of its range.
    """

    def read(document: Mapping[str, Any]) -> BranchRequest:
        events = _list(document["events"], MAX_NEW_TOKENS)
        fork = Fork(
            events=tuple(_event(entry, index) for index, entry in enumerate(events)),
            source=None if document["source"] is None else _source(document["source"]),
            token_id=None if document["token_id"] is None else _token_id(document["token_id"]),
        )
        settings = document["settings"]
        return BranchRequest(
            problem=_problem(document, book),
            prompt_text=_text(document["prompt"]["text"], MAX_TEXT),
            pair_name=_text(document.get("pair_name", ""), 200),
            pair_revision=_text(document["pair_revision"], 200),
            router=_text(document["router"], 200),
            settings=DecodeSettings(
                **{name: settings[name] for name in ("threshold", "max_new_tokens", "temperature", "top_p", "seed")}
            ),
            fork=fork,
            parent=ParentInfo(_key(document["parent"]), fork.n_shared),
        )

    return _read(text, read)


def probe_request(text: object, book: ProblemBook) -> ProbeRequest:
    """Reads the request for a probe: `prompt`, `true_answer`, `pair_name`, `pair_revision`, `token_ids` and `key`.

    Raises:
        CiterError: something is missing, of a wrong kind or out of its range.
    """

    def read(document: Mapping[str, Any]) -> ProbeRequest:
        return ProbeRequest(
            problem=_problem(document, book),
            prompt_text=_text(document["prompt"]["text"], MAX_TEXT),
            pair_name=_text(document.get("pair_name", ""), 200),
            pair_revision=_text(document["pair_revision"], 200),
            token_ids=[_token_id(value) for value in _list(document["token_ids"], MAX_NEW_TOKENS)],
            key=_key(document["key"]),
        )

    return _read(text, read)


def _read(text: object, read: Callable[[Mapping[str, Any]], T]) -> T:
    try:
        if not isinstance(text, str) or len(text) > MAX_REQUEST_CHARS:
            raise ValueError("no text, or too long a one")
        document = json.loads(text)
        if not isinstance(document, dict):
            raise TypeError("no JSON object")
        return read(document)
    except CiterError:
        raise
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise TraceError(f"The run on the page cannot be used ({error}). Reload the page and run it again.") from error


def _problem(document: Mapping[str, Any], book: ProblemBook) -> Problem:
    prompt = document["prompt"]
    question, kind = _text(prompt["question"], MAX_TEXT), prompt["data_type"]
    if kind not in DATA_TYPES:
        raise ValueError(f"data_type {kind!r:.40}")
    problem = book.problem(question, kind)
    answer = document["true_answer"]
    if problem.true_answer is None and answer is not None and kind != "open":
        problem = problem_from_text(question, kind, _text(answer, 1000))
    return problem


def _event(entry: Any, index: int) -> TokenEvent:
    return TokenEvent(
        index=index,
        token_id=_token_id(entry["token_id"]),
        text="",  # the engine decodes it
        source=_source(entry["source"]),
        slm_token_id=_token_id(entry["slm_token_id"]),
        slm_confidence=_number(entry["slm_confidence"], 1.0),
        threshold=_number(entry["threshold"], 1.0),
        slm_tokens_fed=0,
        # Only whether the LLM was called matters: the engine counts again how much it read.
        llm_tokens_fed=int(_number(entry["llm_tokens_fed"], 1e9) > 0),
        context_len=0,
        slm_s=_number(entry["slm_s"], MAX_SECONDS),
        router_s=_number(entry["router_s"], MAX_SECONDS),
        llm_s=_number(entry["llm_s"], MAX_SECONDS),
        slm_top=_top(entry["slm_top"]),
        llm_top=_top(entry["llm_top"]),
        forced=entry.get("forced", False) is True,
    )


def _top(entries: Any) -> tuple[Candidate, ...]:
    return tuple(
        Candidate(_token_id(token_id), _text(text, 1000), _number(probability, 1.0))
        for token_id, text, probability in _list(entries, MAX_CANDIDATES)
    )


def _list(value: Any, most: int) -> list[Any]:
    if not isinstance(value, list) or len(value) > most:
        raise ValueError(f"a list of at most {most:,} entries is needed")
    return value


def _text(value: Any, most: int) -> str:
    if not isinstance(value, str) or len(value) > most:
        raise ValueError(f"a text of at most {most:,} characters is needed")
    return value


def _key(value: Any) -> str:
    if not isinstance(value, str) or len(value) != 16 or not _KEY_CHARS.issuperset(value):
        raise ValueError("a key of 16 hex digits is needed")
    return value


def _token_id(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
        raise ValueError(f"token id {value!r:.40}")
    return value


def _source(value: Any) -> Source:
    if value not in get_args(Source):
        raise ValueError(f"source {value!r:.40}")
    source: Source = value
    return source


def _number(value: Any, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"number {value!r:.40}")
    if not 0 <= value <= most:
        raise ValueError(f"number {value:g} outside 0 to {most:g}")
    return float(value)
