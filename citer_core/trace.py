"""`RoutingTrace`: one routed run as data, with a versioned JSON form.

A trace stores what happened (events, settings, who ran) and derives the rest: counts, shares, seconds, cost. Standard
library only; the browser reads the same JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from itertools import pairwise
from typing import Any, Self, get_args

from citer_core.cost import CostModel, CostSummary, DeviceSpec, ModelSpec
from citer_core.errors import CiterError, TraceError
from citer_core.types import EVENT_FIELDS, Candidate, DecodeSettings, FinishReason, TokenEvent

SCHEMA = "citer-trace"
SCHEMA_VERSION = 2  # 2: `forced` in events and `parent`; both may be missing, so version 1 is read as it is
READ_VERSIONS = (1, 2)
READS_LLM, DEPENDS_ON_WRITERS = "disagreement", "bidirectional-entropy"
_EVENT_COUNTS = ("index", "token_id", "slm_token_id", "slm_tokens_fed", "llm_tokens_fed", "context_len")
_EVENT_NUMBERS = ("slm_confidence", "threshold", "slm_s", "router_s", "llm_s")
_SPEC_COUNTS = (
    "n_params", "n_layers", "n_heads", "n_kv_heads", "head_dim", "vocab_size", "hidden_size", "bytes_per_element",
)  # fmt: skip


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

    name: str
    revision: str
    slm: ModelSpec
    llm: ModelSpec
    dtype: str
    device: str
    prompt_form: str = "plain"  # traces from before there were chat templates do not say


@dataclass(frozen=True, slots=True)
class RouterInfo:
    """Which router decided.

    Attributes:
        name: in the registry.
        revision: hash of its weights; "" where it has none.
        n_params: its parameters.
        reads_llm: it has the LLM called at every token, whoever writes.
        depends_on_writers: its confidence depends on who wrote the tokens before, so it is known for these writers
            only.
    """

    name: str
    revision: str
    n_params: int
    reads_llm: bool = False
    depends_on_writers: bool = False


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

    data_type: str
    question: str
    text: str
    n_tokens: int
    version: int


@dataclass(frozen=True, slots=True)
class AnswerInfo:
    """How the completion's final answer compares with the known one; `is_correct` is None where none is known."""

    true_answer: str | None
    predicted_answer: str | None
    is_correct: bool | None


@dataclass(frozen=True, slots=True)
class RecordInfo:
    """When and on what a run was made: ISO date, hardware in words, version of this project."""

    date: str
    hardware: str
    version: str


@dataclass(frozen=True, slots=True)
class ParentInfo:
    """The run that this one is a branch of: its `RoutingTrace.key`, and how many first tokens both share."""

    key: str
    fork: int


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
    settings: DecodeSettings
    prompt: PromptInfo
    events: tuple[TokenEvent, ...]
    finish_reason: FinishReason | None
    record: RecordInfo
    answer: AnswerInfo | None = None
    title: str = ""
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
        body["events"] = [event_to_dict(event) for event in self.events]
        return {"schema": SCHEMA, "schema_version": SCHEMA_VERSION, **body}

    def to_json(self) -> str:
        """One JSON document on one line; NaN cannot occur."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False, separators=(",", ":"))

    @classmethod
    def from_dict(cls, document: Any) -> Self:
        """Reads the JSON form back.

        Raises:
            TraceError: it is not a trace, is of another version, or a field is missing or of a wrong kind.
        """
        if not isinstance(document, Mapping) or document.get("schema") != SCHEMA:
            raise TraceError(
                f'This is not a CITER trace: its "schema" is not "{SCHEMA}". Export one from the page or the CLI.'
            )
        if document.get("schema_version") not in READ_VERSIONS:
            raise TraceError(
                f"This trace has schema version {document.get('schema_version')!r}; this version of the project reads "
                f"{' and '.join(map(str, READ_VERSIONS))}. Record the run again, or use the version that wrote it."
            )
        try:
            pair = dict(document["pair"])
            finish_reason = document["finish_reason"]
            if finish_reason not in (None, *get_args(FinishReason)):
                raise ValueError(f"finish_reason {finish_reason!r}")
            _check_numbers(document["prompt"], ("n_tokens",), whole=True)
            trace = cls(
                pair=PairInfo(**{**pair, "slm": _spec_from_dict(pair["slm"]), "llm": _spec_from_dict(pair["llm"])}),
                router=_router_from_dict(document["router"]),
                settings=DecodeSettings(**document["settings"]),
                prompt=PromptInfo(**document["prompt"]),
                events=tuple(_event_from_dict(entry) for entry in document["events"]),
                finish_reason=finish_reason,
                record=RecordInfo(**document["record"]),
                answer=AnswerInfo(**document["answer"]) if document.get("answer") else None,
                title=str(document.get("title", "")),
                parent=ParentInfo(**document["parent"]) if document.get("parent") else None,
            )
        except (KeyError, TypeError, ValueError, CiterError) as error:
            raise TraceError(f"This trace is damaged ({error}). Export it again from the run it came from.") from error
        if [event.index for event in trace.events] != list(range(trace.n_tokens)):
            raise TraceError("This trace is damaged (its events are not numbered 0, 1, 2, ...). Export it again.")
        return trace

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Reads `to_json` back; raises `TraceError` like `from_dict`."""
        try:
            document = json.loads(text)
        except json.JSONDecodeError as error:
            raise TraceError(f"This is not JSON ({error}). Give a trace exported by this project.") from error
        return cls.from_dict(document)

    def with_answer(self, answer: AnswerInfo) -> Self:
        """The same run with the verdict on its answer."""
        return replace(self, answer=answer)

    def with_title(self, title: str) -> Self:
        """The same run under a name."""
        return replace(self, title=title)


def event_to_dict(event: TokenEvent) -> dict[str, Any]:
    """One event in the trace's JSON form, for streaming."""
    entry = {name: getattr(event, name) for name in EVENT_FIELDS}
    for top in ("slm_top", "llm_top"):
        entry[top] = [[c.token_id, c.text, c.probability] for c in entry[top]]
    return entry


def _event_from_dict(entry: Mapping[str, Any]) -> TokenEvent:
    values = dict(entry)
    if values["source"] not in ("slm", "llm"):
        raise ValueError(f"source {values['source']!r}")
    if not isinstance(values["text"], str):
        raise TypeError(f"text {values['text']!r}")
    _check_numbers(values, _EVENT_COUNTS, whole=True)
    _check_numbers(values, _EVENT_NUMBERS)
    for top in ("slm_top", "llm_top"):
        values[top] = tuple(Candidate(int(i), str(text), float(p)) for i, text, p in values.get(top, ()))
    return TokenEvent(**values)


def _spec_from_dict(entry: Mapping[str, Any]) -> ModelSpec:
    _check_numbers(entry, _SPEC_COUNTS, whole=True)
    return ModelSpec(**entry)


def _router_from_dict(entry: Mapping[str, Any]) -> RouterInfo:
    _check_numbers(entry, ("n_params",), whole=True)
    # Traces from before routers said so themselves.
    said = {"reads_llm": entry["name"] == READS_LLM, "depends_on_writers": entry["name"] == DEPENDS_ON_WRITERS}
    return RouterInfo(**{**said, **entry})


def _check_numbers(entry: Mapping[str, Any], names: tuple[str, ...], *, whole: bool = False) -> None:
    """Raises `TypeError` unless each is a number from 0 on; JSON has no other way to say what a field may hold."""
    for name in names:
        value = entry[name]
        kind = int if whole else (int, float)
        if isinstance(value, bool) or not isinstance(value, kind) or not 0 <= value < float("inf"):
            raise TypeError(f"{name} {value!r}")
