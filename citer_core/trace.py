"""`RoutingTrace`: one routed run as data, with a versioned JSON form.

A trace stores what happened (events, settings, who ran) and derives the rest: counts, shares, seconds, cost. What each
field may hold is said once, at its type. Standard library only; the browser reads the same JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from itertools import pairwise
from typing import Annotated, Any, Self

from citer_core.cost import CostModel, CostSummary, DeviceSpec, ModelSpec
from citer_core.errors import GateError, TraceError
from citer_core.gate.dataclass_kind import MAY_MISS, kind_of
from citer_core.gate.excerpt import excerpt
from citer_core.gate.fields import Choice, Maybe, Text, Whole
from citer_core.gate.json_text import parse_json
from citer_core.trace_schema import (
    MAX_COMPLETION_CHARS,
    MAX_TRACE_CHARS,
    READ_VERSIONS,
    SCHEMA,
    SCHEMA_VERSION,
    Name,
    NTokens,
    PerToken,
    Settings,
    Unit,
)
from citer_core.types import (
    EVENT_FIELDS,
    MAX_NEW_TOKENS,
    Candidate,
    Discarded,
    FinishReason,
    Judged,
    TokenEvent,
)

READS_LLM, DEPENDS_ON_WRITERS = "disagreement", "bidirectional-entropy"
Said = Annotated[str, Text()]


@dataclass(frozen=True, slots=True)
class PairInfo:
    """Which two models ran, and how.

    Attributes:
        name: the pair's name.
        revision: hash of both models' weights, so that a router trained on other weights is not taken for this one's.
        slm, llm: their cost numbers.
        dtype, device: of both models in this run, as torch spells them.
        prompt_form: `plain`, or `chat-` with a digest of the chat template that prompts went through.
    """

    name: Name
    revision: Name
    slm: ModelSpec
    llm: ModelSpec
    dtype: Name
    device: Name
    prompt_form: Annotated[Name, MAY_MISS] = "plain"  # traces from before there were chat templates do not say


@dataclass(frozen=True, slots=True)
class RouterInfo:
    """Which router decided.

    Attributes:
        name: in the registry.
        revision: hash of its weights; "" where it has none.
        n_params: its parameters.
        reads_llm: it has the LLM called at every token, whichever model writes.
        depends_on_writers: its confidence depends on who wrote the tokens before, so it is known for these writers
            only.
        slm_prior: how often the SLM is to be preferred, in [0, 1], which its confidence leaves out and its doubts put
            back in (`Router.doubt`); None in traces from before.
    """

    name: Name
    revision: Name
    n_params: int
    reads_llm: Annotated[bool, MAY_MISS] = False
    depends_on_writers: Annotated[bool, MAY_MISS] = False
    slm_prior: Unit | None = None


@dataclass(frozen=True, slots=True)
class PromptInfo:
    """What was asked.

    Attributes:
        data_type: `math`, `mc` or `open`.
        question: the problem as a person would read it, choices included.
        text: the exact prompt that both models read.
        n_tokens: its length.
        version: of the prompt builder; 0 for `open`, which has no template.
    """

    data_type: Annotated[str, Choice("math", "mc", "open")]
    question: Said
    text: Said
    n_tokens: NTokens
    version: Annotated[int, Whole(0, 1_000_000)]


@dataclass(frozen=True, slots=True)
class AnswerInfo:
    """How the completion's final answer compares with the known one; `is_correct` is None where none is known."""

    true_answer: Said | None
    predicted_answer: Said | None
    is_correct: bool | None


@dataclass(frozen=True, slots=True)
class RecordInfo:
    """When and on what a run was made: ISO date, hardware in words, version of this project."""

    date: Name
    hardware: Name
    version: Name


@dataclass(frozen=True, slots=True)
class ParentInfo:
    """The run that this one is a branch of: its `RoutingTrace.key`, and how many first tokens both share."""

    key: Annotated[str, Text(16, min_chars=16, alphabet="0123456789abcdef")]
    fork: Annotated[int, Whole(0, MAX_NEW_TOKENS)]


@dataclass(frozen=True, slots=True)
class RoutingTrace:
    """One routed run.

    Attributes:
        events: one per token, in order.
        finish_reason: `eos`, `length`, `cancelled` or `error`; None while it runs.
        title: a short name for galleries; may be empty.
        parent: for a branch, where it comes from.
    """

    pair: PairInfo
    router: RouterInfo
    settings: Settings
    prompt: PromptInfo
    events: Annotated[tuple[TokenEvent, ...], PerToken]
    finish_reason: FinishReason | None
    record: RecordInfo
    answer: AnswerInfo | None = None
    title: Annotated[str, Maybe(Text(1_000)), MAY_MISS] = ""
    parent: ParentInfo | None = None

    @property
    def key(self) -> str:
        """16 hex digits that name a run by its prompt, tokens and writers (FNV-1a); the browser computes the same."""
        tokens = " ".join(f"{event.source}{event.token_id}" for event in self.events)
        value = 0xCBF29CE484222325
        for byte in f"{self.prompt.text}\n{tokens}".encode():
            value = (value ^ byte) * 0x100000001B3 % 2**64
        return f"{value:016x}"

    @property
    def completion(self) -> str:
        """The text that was written, special tokens left out."""
        return "".join(event.text for event in self.events)

    @property
    def n_tokens(self) -> int:
        """Tokens written, end of text included."""
        return len(self.events)

    @property
    def n_llm_tokens(self) -> int:
        """Tokens that the LLM wrote."""
        return sum(event.source == "llm" for event in self.events)

    @property
    def llm_token_share(self) -> float:
        """Fraction of tokens that the LLM wrote; 0 for an empty run."""
        return self.n_llm_tokens / self.n_tokens if self.events else 0.0

    @property
    def n_looks(self) -> int:
        """Forwards of the LLM."""
        return sum(event.llm_tokens_fed > 0 for event in self.events)

    @property
    def n_discarded(self) -> int:
        """SLM tokens that were taken back, with what stood behind them."""
        return sum(len(event.discarded) for event in self.events)

    @property
    def n_hand_offs(self) -> int:
        """How often the writer changed from one token to the next."""
        return sum(a.source != b.source for a, b in pairwise(self.events))

    @property
    def measured_s(self) -> float:
        """Measured seconds in both models and the router."""
        return sum(event.slm_s + event.router_s + event.llm_s for event in self.events)

    def cost(self, device: DeviceSpec) -> CostSummary:
        """Estimated cost of the run on `device`, beside either model alone."""
        return CostSummary.of(CostModel(self.pair.slm, self.pair.llm, device, self.router.n_params), self.events)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form: plain dicts and lists, candidates as `[token_id, text, probability]`."""
        body = {f.name: asdict(v) if hasattr(v := getattr(self, f.name), "__slots__") else v for f in fields(self)}
        body["router"] = {name: value for name, value in body["router"].items() if value is not None}
        body["settings"] = self.settings.to_dict()
        body["events"] = [event_to_dict(event) for event in self.events]
        return {"schema": SCHEMA, "schema_version": SCHEMA_VERSION, **body}

    def to_json(self) -> str:
        """One JSON document on one line; NaN cannot occur."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False, separators=(",", ":"))

    @classmethod
    def from_dict(cls, document: Any) -> Self:
        """Reads the JSON form back, versions 1 and 2; fields that this version does not know are left out.

        Raises:
            TraceError: it is not a trace, is of another version, or a field is missing or not what its type says; the
                message names it and holds no more of its value than `excerpt` gives.
        """
        if not isinstance(document, Mapping) or document.get("schema") != SCHEMA:
            raise TraceError(
                f'This is not a CITER trace: its "schema" is not "{SCHEMA}". Export one from the page or the CLI.'
            )
        version = document.get("schema_version")
        if isinstance(version, bool) or not isinstance(version, int | float) or version not in READ_VERSIONS:
            raise TraceError(
                f"This trace has schema version {excerpt(version)}; this version of the project reads "
                f"{' and '.join(map(str, READ_VERSIONS))}. Record the run again, or use the version that wrote it."
            )
        router = document.get("router")
        if isinstance(router, Mapping):  # of traces from before routers said so themselves
            said = {"reads_llm": READS_LLM, "depends_on_writers": DEPENDS_ON_WRITERS}
            before = {field: router.get("name") == name for field, name in said.items()}
            document = {**document, "router": {**before, **router}}
        try:
            trace: Self = TRACE.read(document, "")
        except GateError as error:
            raise TraceError(f"This trace is damaged: {error} Export it again from the run it came from.") from None
        if any(event.index != index for index, event in enumerate(trace.events)):
            raise TraceError("This trace is damaged: its events are not numbered 0, 1, 2, ... Export it again.")
        if sum(len(event.text) for event in trace.events) > MAX_COMPLETION_CHARS:
            raise TraceError(f"This trace is damaged: its tokens have more than {MAX_COMPLETION_CHARS:,} characters.")
        if version == 1:  # in the oldest traces it only shows in the writer what a person chose
            trace = replace(trace, events=tuple(replace(e, forced=e.is_beyond_tau) for e in trace.events))
        return trace.with_title(trace.title or "")

    @classmethod
    def from_json(cls, text: object) -> Self:
        """Reads `to_json` back, from text or UTF-8 bytes; raises `TraceError` for anything else."""
        try:
            document = parse_json(text, max_chars=MAX_TRACE_CHARS)
        except GateError as error:
            raise TraceError(f"{error} A trace is what this project exported.") from None
        return cls.from_dict(document)

    def with_answer(self, answer: AnswerInfo) -> Self:
        """The same run with the verdict on its answer."""
        return replace(self, answer=answer)

    def with_title(self, title: str) -> Self:
        """The same run under a name."""
        return replace(self, title=title)


TRACE = kind_of(RoutingTrace)


def event_to_dict(event: TokenEvent) -> dict[str, Any]:
    """One event in the trace's JSON form, for streaming."""
    entry = {name: getattr(event, name) for name in EVENT_FIELDS}
    for top in ("slm_top", "llm_top"):
        entry[top] = [[c.token_id, c.text, c.probability] for c in entry[top]]
    for rows in ("discarded", "read"):
        if not entry[rows]:
            del entry[rows]  # where there is none, documents keep their bytes
        else:
            entry[rows] = [list(row) for row in entry[rows]]
    return entry


def event_from_dict(entry: dict[str, Any]) -> TokenEvent:
    """Reads `event_to_dict` back; for what we wrote ourselves, as nothing is checked."""
    for top in ("slm_top", "llm_top"):
        entry[top] = tuple(Candidate(*candidate) for candidate in entry.get(top, ()))
    entry["discarded"] = tuple(Discarded(*token) for token in entry.get("discarded", ()))
    entry["read"] = tuple(Judged(*token) for token in entry.get("read", ()))
    return TokenEvent(**entry)
