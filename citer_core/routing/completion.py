"""`Step` and `Completion`: what one sequence of a batch has written, and `EventStream`: its steps as events.

Numbers first, texts when somebody wants events. Knows nothing about models or batches. Made by `batch_sequence`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from transformers import PreTrainedTokenizerBase

from citer_core.models.pair import ModelPair
from citer_core.text import TextStream
from citer_core.types import Candidate, FinishReason, Source, TokenEvent


@dataclass(slots=True)
class Step:
    """One token of one sequence; the numbers of a `TokenEvent` without its text."""

    token_id: int
    slm_token_id: int
    source: Source
    slm_confidence: float
    slm_tokens_fed: int
    llm_tokens_fed: int
    slm_s: float
    router_s: float
    llm_s: float
    slm_top: tuple[Candidate, ...] = ()
    llm_top: tuple[Candidate, ...] = ()
    forced: bool = False


@dataclass(slots=True)
class Completion:
    """What was written after one prompt.

    Attributes:
        index: of the prompt.
        n_prompt: its tokens.
        steps: one per token, end of text included. Seconds of a shared pass are divided by the sequences in it, so
            that those of all sequences add up to what was measured.
        finish_reason: None while it is being written.
        shared_ids: for a branch, the tokens between the prompt and its own.
    """

    index: int
    n_prompt: int
    threshold: float
    steps: list[Step] = field(default_factory=list)
    finish_reason: FinishReason | None = None
    shared_ids: tuple[int, ...] = ()

    @property
    def token_ids(self) -> list[int]:
        """The new tokens."""
        return [step.token_id for step in self.steps]

    @property
    def n_llm_tokens(self) -> int:
        """Tokens that the LLM wrote."""
        return sum(step.source == "llm" for step in self.steps)

    def events(self, pair: ModelPair) -> list[TokenEvent]:
        """The steps as the events that `decode` would have given."""
        stream = EventStream(pair.tokenizer, self.n_prompt, self.threshold, self.shared_ids)
        last = len(self.steps) - 1
        return [stream.event(step, is_last=index == last) for index, step in enumerate(self.steps)]


class EventStream:
    """Turns the steps of one sequence into events, each with the text that it adds.

    Args:
        tokenizer: of the pair.
        n_prompt: tokens of the prompt.
        threshold: tau.
        shared_ids: tokens of a branch before its own.

    Attributes:
        n_told: steps that were turned into events.
    """

    def __init__(
        self, tokenizer: PreTrainedTokenizerBase, n_prompt: int, threshold: float, shared_ids: Sequence[int] = ()
    ) -> None:
        self._text = TextStream(tokenizer)
        for token_id in shared_ids:
            self._text.push(token_id)
        self._n_prompt, self._threshold, self._n_shared = n_prompt, threshold, len(shared_ids)
        self.n_told = 0

    def event(self, step: Step, *, is_last: bool) -> TokenEvent:
        """The next step's event; the last one brings what text is still held back."""
        index = self._n_shared + self.n_told
        self.n_told += 1
        return TokenEvent(
            index=index,
            token_id=step.token_id,
            text=self._text.push(step.token_id) + (self._text.flush() if is_last else ""),
            source=step.source,
            slm_token_id=step.slm_token_id,
            slm_confidence=step.slm_confidence,
            threshold=self._threshold,
            slm_tokens_fed=step.slm_tokens_fed,
            llm_tokens_fed=step.llm_tokens_fed,
            context_len=self._n_prompt + index,
            slm_s=step.slm_s,
            router_s=step.router_s,
            llm_s=step.llm_s,
            slm_top=step.slm_top,
            llm_top=step.llm_top,
            forced=step.forced,
        )
