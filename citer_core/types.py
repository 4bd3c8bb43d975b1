"""The nouns of a routed run: options and settings in, one `TokenEvent` per token out. Standard library only.

Called by everything; calls nothing of the project but `errors`, `trace_schema` and `decode_settings`, whose class it
passes on.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypeVar

from citer_core.decode_settings import MAX_NEW_TOKENS as MAX_NEW_TOKENS
from citer_core.decode_settings import DecodeSettings as DecodeSettings
from citer_core.errors import SettingError
from citer_core.gate.dataclass_kind import MAY_MISS, Entries, record_of
from citer_core.gate.fields import Whole
from citer_core.trace_schema import MAX_CANDIDATES, NTokens, Seconds, TokenId, TokenText, Unit

T = TypeVar("T")
R = TypeVar("R")
Source = Literal["slm", "llm"]
FinishReason = Literal["eos", "length", "cancelled", "error"]
MAX_THREADS = 1024  # that may be asked for: torch would try to start as many
QUANTIZATIONS = ("4bit", "8bit")
LoadStage = Literal["fetch", "convert", "load"]
# Told where the loading of a pair is: (stage, bytes that are here, bytes in all or None), the bytes for `fetch` only.
# What it raises ends the loading there: a download between two blocks, everything else between two stages.
LoadProgress = Callable[[LoadStage, int, "int | None"], None]


class Candidate(NamedTuple):
    """One of a model's most probable next tokens. A tuple, because ten are made for every token of a run.

    Attributes:
        token_id: index in the shared vocabulary.
        text: the token alone, decoded; bytes that are no character by themselves show as U+FFFD.
        probability: in [0, 1], of the model's untempered distribution.
    """

    token_id: TokenId
    text: TokenText
    probability: Unit


Candidates = Annotated[tuple[Candidate, ...], Entries(MAX_CANDIDATES), MAY_MISS]


class Discarded(NamedTuple):
    """A token that the SLM wrote and the LLM took back, or one that stood behind such a token.

    Attributes:
        token_id: index in the shared vocabulary.
        text: the token alone, decoded.
        slm_confidence: the router's, in [0, 1].
    """

    token_id: TokenId
    text: TokenText
    slm_confidence: Unit


class Judged(NamedTuple):
    """What the LLM says of a token in question when it looks back.

    Attributes:
        probability: that it gave this token, in [0, 1].
        of_choice: that it gave its own choice there.
    """

    probability: Unit
    of_choice: Unit


@dataclass(frozen=True, slots=True)
class TokenEvent:
    """One decoding step: who wrote the token, why, and what was moved for it.

    Attributes:
        index: 0 for the first token of the completion.
        token_id: the token that was appended.
        text: what it adds to the text; empty where a character is still incomplete or the token is special.
        source: the model that wrote it.
        slm_token_id: what the SLM would have written here.
        slm_confidence: the router's estimate in [0, 1] that the SLM is to be preferred.
        threshold: tau at this step.
        slm_tokens_fed: new tokens in the SLM's forward: the prompt at the first step, then 1.
        llm_tokens_fed: new tokens in the LLM's forward, catch-up included; 0 where it was not called.
        context_len: prompt and completion tokens before this one, so a model that fed k of them had cached
            `context_len - k`.
        slm_s: seconds in the SLM's forward, measured.
        router_s: seconds in the router, the reading of its verdict included, measured.
        llm_s: seconds in the LLM's forward, measured; 0 where it was not called.
        slm_top: the SLM's most probable next tokens, best first.
        llm_top: the LLM's, empty where it was not called.
        forced: a person chose the writer or the token here, not the router.
        discarded: what stood from here on until the LLM, in the pass that wrote this token, took it back: the SLM's
            token at this place first. Each further one took an SLM pass of one token, whose seconds are in `slm_s` and
            `router_s`; the LLM read all but the last.
        read: what the LLM says of each token in question in the pass here: those before this place that it let stand,
            then the discarded ones, or the SLM's token here. Empty where the run takes nothing back.
    """

    index: Annotated[int, Whole(0, MAX_NEW_TOKENS - 1)]
    token_id: TokenId
    text: TokenText
    source: Source
    slm_token_id: TokenId
    slm_confidence: Unit
    threshold: Unit
    slm_tokens_fed: NTokens
    llm_tokens_fed: NTokens
    context_len: NTokens
    slm_s: Seconds
    router_s: Seconds
    llm_s: Seconds
    slm_top: Candidates = ()
    llm_top: Candidates = ()
    forced: Annotated[bool, MAY_MISS] = False
    discarded: Annotated[tuple[Discarded, ...], Entries(MAX_NEW_TOKENS), MAY_MISS] = ()
    read: Annotated[tuple[Judged, ...], Entries(MAX_NEW_TOKENS), MAY_MISS] = ()

    @property
    def llm_context_len(self) -> int:
        """Prompt and completion tokens that the LLM had read after its forward here."""
        return self.context_len + max(0, len(self.discarded) - 1)

    @property
    def is_beyond_tau(self) -> bool:
        """Was it something else than tau that decided: a person, a doubt budget, a token that was taken back?"""
        return self.forced or (self.source == "llm") != prefers_llm(self.slm_confidence, self.threshold)


@dataclass(frozen=True, slots=True)
class PairOptions:
    """How a pair is loaded, beyond which one, where and in which precision.

    Attributes:
        llm_quantization: one of `QUANTIZATIONS`, by bitsandbytes on an NVIDIA GPU; None leaves the LLM as it is.
        device_map: how accelerate spreads the LLM over devices, e.g. `auto`; None puts it where the SLM is.
        chat: whether prompts go through the tokenizer's chat template; None does so where there is one.
        cuda_graphs: replay the passes of single runs as CUDA graphs (`models/seat.py`), on an NVIDIA GPU.
        download: fetch what is not on this machine instead of saying so.
        threads: of the processor, from 1; None finds the fastest number (`models/threads.py`).

    Raises:
        SettingError: `threads` is no number from 1 to `MAX_THREADS`.
    """

    llm_quantization: str | None = None
    device_map: str | None = None
    chat: bool | None = None
    cuda_graphs: bool = False
    download: bool = False
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.threads is not None and not 1 <= self.threads <= MAX_THREADS:
            raise SettingError(f"threads is {self.threads}: give a whole number from 1 to {MAX_THREADS:,}.")

    def identity(self) -> dict[str, Any]:
        """What changes the tokens, as far as it is not the default: two runs must agree in it to share a file.

        Defaults are left out, so that files from before these options can still be resumed.
        """
        named = {"llm_quantization": self.llm_quantization, "device_map": self.device_map, "chat": self.chat}
        return {name: value for name, value in named.items() if value is not None}


EVENT = record_of(TokenEvent)
EVENT_FIELDS = tuple(field.name for field in fields(TokenEvent))


def settled(told: Iterable[TokenEvent]) -> tuple[TokenEvent, ...]:
    """What stays of the events of a run as they were told: one takes the place of all from its index on."""
    kept: list[TokenEvent] = []
    for event in told:
        kept[event.index :] = [event]
    return tuple(kept)


def when_settled(told: Iterable[TokenEvent], settings: DecodeSettings) -> Iterator[TokenEvent]:
    """The events of a run that stay, in order, for a reader who cannot take anything back.

    Each comes as soon as it is known to stay: at once where the run takes nothing back, else when the LLM has read it.
    """
    waiting: list[TokenEvent] = []
    first = 0
    for event in told:
        waiting[max(0, event.index - first) :] = [event]
        if event.llm_tokens_fed or not settings.take_back:
            yield from waiting
            first, waiting = event.index + 1, []
    yield from waiting


def writer_alone(settings: DecodeSettings) -> Source | None:
    """The model that writes all of a run by its settings, whatever the router says; None where that may differ."""
    if settings.threshold >= 1:
        return "llm"
    looks = settings.take_back or settings.doubt_budget or settings.look_every
    return None if settings.threshold or looks else "slm"


def prefers_llm(slm_confidence: float, threshold: float) -> bool:
    """The one routing decision: does the LLM write this token?

    Strictly below the threshold, as in the authors' published code. A sigmoid reaches 1.0 in float32, so tau = 1 is
    spelled out: it must hand over every token.
    """
    return threshold >= 1.0 or slm_confidence < threshold


class WithResult(Generic[T, R]):
    """Goes through a generator once; then `result` is what it returned."""

    def __init__(self, work: Generator[T, None, R]) -> None:
        self._work = work
        self.result: R

    def __iter__(self) -> Iterator[T]:
        self.result = yield from self._work
