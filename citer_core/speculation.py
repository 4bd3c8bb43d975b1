"""`SpeculativeTrace`: one answer by speculative decoding as data: what the SLM drafted, what the LLM kept of it.

The same pair used in the other way: the SLM drafts some tokens, the LLM reads them all in one pass, keeps those that it
would have written itself, and writes one more. The text is the LLM's own; routing's is not. Costs follow from the same
`CostModel` as a routed run's. Standard library only; decoded by `routing/speculative.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Annotated, Any, NamedTuple, Self

from citer_core.cost import Cost, CostModel, DeviceSpec
from citer_core.errors import GateError, SettingError, TraceError
from citer_core.gate.dataclass_kind import Entries, kind_of
from citer_core.gate.fields import Whole
from citer_core.trace import AnswerInfo, PairInfo, PromptInfo, RecordInfo
from citer_core.trace_schema import (
    MAX_COMPLETION_CHARS,
    MAX_DRAFT_TOKENS,
    Drafted,
    NTokens,
    PerToken,
    Seconds,
    TokenId,
    TokenText,
    Unit,
)
from citer_core.types import MAX_NEW_TOKENS, FinishReason


@dataclass(frozen=True, slots=True)
class Drafting:
    """How much the SLM drafts before the LLM reads; the defaults are those of transformers' assisted generation.

    Attributes:
        n_tokens: at most so many at a time, 1 to `MAX_DRAFT_TOKENS`.
        confidence: it stops behind a token to which it gave less than this probability, 0 to 1. transformers moves this
            number during a run where scikit-learn is installed; here it stays.

    Raises:
        SettingError: a number is out of its range.
    """

    n_tokens: Annotated[int, Whole(1, MAX_DRAFT_TOKENS)] = 20
    confidence: Unit = 0.4

    def __post_init__(self) -> None:
        if not 1 <= self.n_tokens <= MAX_DRAFT_TOKENS:
            raise SettingError(f"The SLM drafts {self.n_tokens} tokens: give a number from 1 to {MAX_DRAFT_TOKENS}.")
        if not 0 <= self.confidence <= 1:
            raise SettingError(f"The confidence of a draft is {self.confidence:g}: give a number from 0 to 1.")


class DraftedToken(NamedTuple):
    """A token that the SLM drafted: id, its text alone, the probability in [0, 1] that the SLM gave it."""

    token_id: TokenId
    text: TokenText
    probability: Unit


@dataclass(frozen=True, slots=True)
class SpeculativePass:
    """One draft and the LLM's pass over it.

    Attributes:
        drafted: by the SLM, in order; none where only one token was left to write.
        n_accepted: how many of them the LLM would have written too, from the first on.
        own_id: what the LLM wrote behind them; None where the text ended with an accepted token.
        texts: what each written token adds to the text: the accepted ones, then the LLM's own.
        slm_tokens_fed: new tokens in each of the SLM's passes, one pass for each drafted token.
        llm_tokens_fed: new tokens in the LLM's pass: what it had not read of the text, and the draft.
        context_len: tokens of prompt and completion before this pass.
        slm_s, llm_s: measured seconds in either model.
    """

    drafted: Annotated[tuple[DraftedToken, ...], Drafted]
    n_accepted: Annotated[int, Whole(0, MAX_DRAFT_TOKENS)]
    own_id: TokenId | None
    texts: Annotated[tuple[TokenText, ...], Entries(MAX_DRAFT_TOKENS + 1)]
    slm_tokens_fed: Annotated[tuple[NTokens, ...], Drafted]
    llm_tokens_fed: NTokens
    context_len: NTokens
    slm_s: Seconds
    llm_s: Seconds

    @property
    def token_ids(self) -> tuple[int, ...]:
        """What the pass added to the text."""
        accepted = tuple(token.token_id for token in self.drafted[: self.n_accepted])
        return accepted if self.own_id is None else (*accepted, self.own_id)

    def cost(self, model: CostModel) -> Cost:
        """Estimated: each of the SLM's passes, and the LLM's over the whole draft, rejected tokens included."""
        total = Cost()
        for n_before, n_fed in enumerate(self.slm_tokens_fed):
            total += model.model_forward(model.slm, n_fed, self.context_len + n_before - n_fed)
        n_read = self.context_len + len(self.drafted)
        return total + model.model_forward(model.llm, self.llm_tokens_fed, n_read - self.llm_tokens_fed)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; drafted tokens as `[token_id, text, probability]`."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


@dataclass(frozen=True, slots=True)
class SpeculativeTrace:
    """One answer by speculative decoding.

    Attributes:
        max_new_tokens: the most that were to be written.
        passes: in order; each wrote at least one token.
        finish_reason: as of a routed run.
    """

    pair: PairInfo
    drafting: Drafting
    max_new_tokens: Annotated[int, Whole(1, MAX_NEW_TOKENS)]
    prompt: PromptInfo
    passes: Annotated[tuple[SpeculativePass, ...], PerToken]
    finish_reason: FinishReason | None
    record: RecordInfo
    answer: AnswerInfo | None = None

    @property
    def token_ids(self) -> tuple[int, ...]:
        """The whole completion, end of text included."""
        return tuple(token_id for one in self.passes for token_id in one.token_ids)

    @property
    def completion(self) -> str:
        """The text that was written, special tokens left out."""
        return "".join(text for one in self.passes for text in one.texts)

    @property
    def n_drafted(self) -> int:
        """Tokens that the SLM drafted."""
        return sum(len(one.drafted) for one in self.passes)

    @property
    def n_accepted(self) -> int:
        """Drafted tokens that the LLM kept."""
        return sum(one.n_accepted for one in self.passes)

    def cost(self, device: DeviceSpec) -> Cost:
        """Estimated cost on `device`; there is no router."""
        model = CostModel(self.pair.slm, self.pair.llm, device)
        return sum((one.cost(model) for one in self.passes), Cost())

    def with_answer(self, answer: AnswerInfo) -> Self:
        """The same with the verdict on its answer."""
        return replace(self, answer=answer)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form: plain dicts and lists."""
        body = {f.name: asdict(v) if hasattr(v := getattr(self, f.name), "__slots__") else v for f in fields(self)}
        return {**body, "passes": [one.to_dict() for one in self.passes]}

    @classmethod
    def from_dict(cls, document: Any) -> Self:
        """Reads the JSON form back.

        Raises:
            TraceError: it is not what the types of its fields say, or its passes do not fit together.
        """
        try:
            trace: Self = SPECULATIVE.read(document, "")
        except GateError as error:
            raise TraceError(f"This run by speculative decoding is damaged: {error} Record it again.") from None
        _check_passes(trace.passes, trace.prompt.n_tokens)
        return trace


SPECULATIVE = kind_of(SpeculativeTrace)


def _check_passes(passes: Sequence[SpeculativePass], n_prompt: int) -> None:
    """Refuses what could not have happened, which a page would draw as nonsense; raises `TraceError`."""
    context = n_prompt
    for number, one in enumerate(passes, 1):
        n_written = one.n_accepted + (one.own_id is not None)
        fits = (
            one.n_accepted <= len(one.drafted) == len(one.slm_tokens_fed)
            and n_written == len(one.texts) > 0
            and one.context_len == context
            and one.llm_tokens_fed > 0
        )
        if not fits:
            raise TraceError(
                f"This run by speculative decoding is damaged: pass {number} does not fit. Record it again."
            )
        context += n_written
    if sum(len(text) for one in passes for text in one.texts) > MAX_COMPLETION_CHARS:
        raise TraceError("This run by speculative decoding is damaged: its text is too long. Record it again.")
