"""Requests about a finished run that the browser holds: a branch of it, or a probe. JSON text in, checked values out.

The browser may send anything, so every field is read by the gate, with the kinds of the trace's own table; what can be
derived (texts, cache lengths, verdicts) is derived again by the engine. Knows the trace's form, no engine.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from citer_core.decode_settings import MAX_NEW_TOKENS
from citer_core.errors import GateError, TraceError
from citer_core.fork import Fork
from citer_core.gate.fields import Flag, Kind, ListOf, Maybe, Record, Text
from citer_core.gate.json_text import parse_json
from citer_core.tasks.problems import Problem, problem_from_text
from citer_core.trace import ParentInfo
from citer_core.trace_schema import EVENT, MAX_TOKEN_CHARS, MAX_TRACE_CHARS, PARENT, PROMPT, SETTINGS
from citer_core.types import Candidate, DecodeSettings, TokenEvent
from citer_core.ui.problem_book import ProblemBook

_NAME = Text(200)
_KEY = PARENT.required["key"]
_TOKEN_ID = EVENT.required["token_id"]
_ABOUT: dict[str, Kind[Any]] = {
    "prompt": Record({name: PROMPT.required[name] for name in ("data_type", "question", "text")}),
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
    {"forced": EVENT.optional["forced"]},
)
BRANCH = Record(
    {
        **_ABOUT,
        "router": _NAME,
        "settings": SETTINGS,
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
    {**_ABOUT, "token_ids": _TOKENS, "settings": SETTINGS}, {"pair_name": _NAME, "text": Text(MAX_TOKEN_CHARS)}
)


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
        settings=DecodeSettings(**asked["settings"]),
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
    if "settings" in asked:
        asked["settings"] = DecodeSettings(**asked["settings"])
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
    for top in ("slm_top", "llm_top"):
        entry[top] = tuple(Candidate(*candidate) for candidate in entry[top])
    # Only whether the LLM was called matters: the engine counts again how much it read. It decodes the text, too.
    entry["llm_tokens_fed"] = int(entry["llm_tokens_fed"] > 0)
    return TokenEvent(index=index, text="", slm_tokens_fed=0, context_len=0, **entry)
