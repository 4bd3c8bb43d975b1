"""What a run is asked with, from the page or a program, and a branch or a probe of a finished run that the browser
holds: one object keyed by name in, checked values out.

    {"question": "1 + 1?", "data_type": "math", "router": "citer", "settings": {"threshold": 0.7}}

A program need not keep to the kinds that the form shows, so every field is read by the gate, with the kinds of the
trace's own table; what can be derived (texts, cache lengths, verdicts) is derived again by the engine. Knows the
problem book and the trace's form, no engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from citer_core.decode_settings import MAX_NEW_TOKENS, DecodeSettings, read_settings
from citer_core.errors import GateError, PromptError, SettingError, TraceError
from citer_core.fork import Fork
from citer_core.gate.dataclass_kind import Made, record_of
from citer_core.gate.excerpt import excerpt
from citer_core.gate.fields import Flag, Kind, ListOf, Maybe, Record, Text
from citer_core.gate.json_text import parse_json
from citer_core.tasks.problems import Problem, problem_from_text
from citer_core.tasks.prompts import DATA_TYPES
from citer_core.trace import ParentInfo, PromptInfo
from citer_core.trace_schema import MAX_TOKEN_CHARS, MAX_TRACE_CHARS, SETTINGS_TABLE
from citer_core.types import EVENT, TokenEvent
from citer_core.ui.problems import ProblemBook

MAX_ROUTER_CHARS = 200

MAX_REQUEST_CHARS = 1_000_000  # a question that is too long is refused where questions are read

NAMES = ("question", "data_type", "router", "settings", "true_answer")

MAX_ANSWER_CHARS = 1_000


@dataclass(frozen=True, slots=True)
class AskedRun:
    """One run to be started; `router` is None for the default."""

    problem: Problem
    router: str | None
    settings: DecodeSettings


def object_of(text: object, what: str, names: Sequence[str]) -> Mapping[str, Any]:
    """What is asked with one object, with no other names in it, as JSON.

    Raises:
        SettingError: it is something else.
    """
    try:
        given = parse_json(text, max_chars=MAX_REQUEST_CHARS)
    except GateError as error:
        raise SettingError(f"The request for {what} cannot be read: {error}") from None
    known = ", ".join(names)
    if not isinstance(given, Mapping):
        raise SettingError(f"The request for {what} is {excerpt(given)}; it must be an object that may hold {known}.")
    if unknown := [name for name in given if name not in names]:
        wrong = f"{what.capitalize()} cannot be asked with {excerpt(unknown[0])}"
        raise SettingError(f"{wrong}: the request may hold {known}.")
    return given


def read_asked(book: ProblemBook, text: object) -> AskedRun:
    """Reads the page's request, which `assets/app/form.js` puts together.

    Args:
        book: see `asked_run`.
        text: the object above as JSON.

    Raises:
        CiterError: it is none; it names something else; see `asked_run`.
    """
    given = object_of(text, "a run", NAMES)
    return asked_run(book, **{name: given.get(name) for name in NAMES})


def asked_run(
    book: ProblemBook,
    *,
    question: object,
    data_type: object,
    router: object,
    settings: object,
    true_answer: object = None,
) -> AskedRun:
    """Reads what a run is asked with.

    Args:
        book: the bundled problems, whose answers are known.
        question, data_type: see `problem_from_text`; nothing is an empty question.
        router: a name; nothing or "" for the default.
        settings: see `read_settings`.
        true_answer: to judge by, see `problem_from_text`; nothing or "" for what the book knows.

    Raises:
        CiterError: one of them is of another kind or outside its range.
    """
    checked = DecodeSettings(**read_settings(settings))
    if question is not None and not isinstance(question, str):
        raise PromptError(f"The question is {excerpt(question)}: give a text.")
    if data_type not in DATA_TYPES:
        raise SettingError(f"data_type is {excerpt(data_type)}: give one of {', '.join(DATA_TYPES)}.")
    if router is not None and (not isinstance(router, str) or len(router) > MAX_ROUTER_CHARS):
        raise SettingError(f"router is {excerpt(router)}: give the name of a router, or nothing for the default.")
    if true_answer is not None and (not isinstance(true_answer, str) or len(true_answer) > MAX_ANSWER_CHARS):
        raise SettingError(f"The expected answer is {excerpt(true_answer)}: give a short text, or nothing.")
    return AskedRun(book.problem(question or "", data_type, true_answer or ""), router or None, checked)


_NAME = Text(200)

_KEY = record_of(ParentInfo).required["key"]

_SETTINGS = Made(DecodeSettings, SETTINGS_TABLE)

_TOKEN_ID = EVENT.required["token_id"]

_ABOUT: dict[str, Kind[Any]] = {
    "prompt": Record({name: record_of(PromptInfo).required[name] for name in ("data_type", "question", "text")}),
    "true_answer": Maybe(Text(1_000)),
    "pair_revision": _NAME,
}

_SHARED_EVENT = Record(
    {
        **{
            name: EVENT.required[name] for name in ("token_id", "source", "slm_token_id", "slm_confidence", "threshold")
        },
        **{name: EVENT.required[name] for name in ("llm_tokens_fed", "slm_s", "router_s", "llm_s")},
        **{name: EVENT.optional[name] for name in ("slm_top", "llm_top")},
    },
    {name: EVENT.optional[name] for name in ("forced", "discarded", "read")},
)

BRANCH = Record(
    {
        **_ABOUT,
        "router": _NAME,
        "settings": _SETTINGS,
        "events": ListOf(_SHARED_EVENT, MAX_NEW_TOKENS),
        "source": Maybe(EVENT.required["source"]),
        "token_id": Maybe(_TOKEN_ID),
        "parent": _KEY,
    },
    {"pair_name": _NAME},
)

_TOKENS = ListOf(_TOKEN_ID, MAX_NEW_TOKENS)

PROBE = Record({**_ABOUT, "token_ids": _TOKENS, "key": _KEY}, {"pair_name": _NAME})

INSIDE = Record({**_ABOUT, "token_ids": _TOKENS, "router": _NAME, "after_llm": Flag()}, {"pair_name": _NAME})

NEXT = Record(
    {**_ABOUT, "token_ids": _TOKENS, "settings": _SETTINGS}, {"pair_name": _NAME, "text": Text(MAX_TOKEN_CHARS)}
)


@dataclass(frozen=True, slots=True)
class BranchRequest:
    """A branch to be run: what was asked, who decides, and from where it goes on.

    Attributes:
        prompt_text: what the models read then, as the browser says; an engine with the pair compares it with its own.
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
    """A finished run to be read once by both models; `key` is the browser's own and comes back with the result.

    Where one position is asked about: the tokens before it, and the router and whether the LLM wrote the last of them,
    or how the run chose and a text to be read as tokens.
    """

    problem: Problem
    prompt_text: str
    pair_name: str
    pair_revision: str
    token_ids: list[int]
    key: str = ""
    router: str = ""
    after_llm: bool = False
    settings: DecodeSettings = field(default_factory=DecodeSettings)
    text: str = ""


def branch_request(text: object, book: ProblemBook) -> BranchRequest:
    """Reads the request for a branch.

    Args:
        text: JSON as `BRANCH` has it: the trace's own fields, the shared events, and `parent`, the parent's key.
        book: the bundled problems, whose answers are known here.

    Raises:
        CiterError: something is missing, of a wrong kind or out of its range.
    """
    asked = _read(text, BRANCH)
    fork = Fork(
        events=tuple(_event(entry, index) for index, entry in enumerate(asked["events"])),
        source=asked["source"],
        token_id=asked["token_id"],
    )
    return BranchRequest(
        problem=_problem(asked, book),
        prompt_text=asked["prompt"]["text"],
        pair_name=asked.get("pair_name", ""),
        pair_revision=asked["pair_revision"],
        router=asked["router"],
        settings=asked["settings"],
        fork=fork,
        parent=ParentInfo(asked["parent"], fork.n_shared),
    )


def probe_request(text: object, book: ProblemBook, form: Record = PROBE) -> ProbeRequest:
    """Reads the request for a probe, JSON as `form` has it: `PROBE`, or `INSIDE` or `NEXT` for one position.

    Raises:
        CiterError: something is missing, of a wrong kind or out of its range.
    """
    asked = _read(text, form)
    problem, prompt = _problem(asked, book), asked.pop("prompt")
    del asked["true_answer"]
    return ProbeRequest(**{"pair_name": "", **asked}, problem=problem, prompt_text=prompt["text"])


def _read(text: object, record: Record) -> dict[str, Any]:
    try:
        return record.read(parse_json(text, max_chars=MAX_TRACE_CHARS), "")
    except GateError as error:
        raise TraceError(f"The run on the page cannot be used: {error} Reload the page and run it again.") from None


def _problem(asked: dict[str, Any], book: ProblemBook) -> Problem:
    question, kind = asked["prompt"]["question"], asked["prompt"]["data_type"]
    problem = book.problem(question, kind)
    answer = asked["true_answer"]
    if problem.true_answer is None and answer is not None and kind != "open":
        problem = problem_from_text(question, kind, answer)
    return problem


def _event(entry: dict[str, Any], index: int) -> TokenEvent:
    # Only whether the LLM was called matters: the engine counts again how much it read. It decodes the text, too.
    entry["llm_tokens_fed"] = int(entry["llm_tokens_fed"] > 0)
    return TokenEvent(index=index, text="", slm_tokens_fed=0, context_len=0, **entry)
